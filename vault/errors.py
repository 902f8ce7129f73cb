"""Why the vault refuses. Codes only; what to do next is in the hint where the error is raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from skillkeep.errors import Code, Exit, SkillkeepError

__all__ = ["VaultError"]


class VaultError(SkillkeepError):
    """The vault refused, or its contents do not hold."""

    codes: ClassVar[Mapping[str, Code]] = {
        "not_vaulted": Code("No approved tool has this name or digest in the vault.", Exit.RUN_BLOCKED),
        "vault_tampered": Code("The vaulted copy differs from what was approved.", Exit.RUN_BLOCKED),
        "revoked": Code("The approval of this digest was withdrawn.", Exit.REJECTED),
        "verdict_refused": Code("The verdict is not PASS or WARN; nothing overrides it.", Exit.REJECTED),
        "tree_mismatch": Code("The files to admit are not the files that were audited.", Exit.REJECTED),
        "tree_unsafe": Code("The files to admit hold a link or a special file.", Exit.REJECTED),
        "name_taken": Code("The name belongs to another source.", Exit.REJECTED),
        "not_in_history": Code("The tool has no such earlier version in the vault.", Exit.USAGE),
        "vault_busy": Code("Another process held the vault's lock for too long."),
        "registry_broken": Code("The registry cannot be read, or was written by a newer Skillkeep."),
    }

"""The vault's value types: what goes in, what comes out. No logic, nothing heavy to import."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkeep.sealed import Sealed, sealer
from skillkeep.value import Value

if TYPE_CHECKING:
    from skillkeep.manifest import Manifest

__all__ = [
    "Admission",
    "GcResult",
    "HistoryEntry",
    "Mismatch",
    "MismatchKind",
    "Review",
    "Revocation",
    "SourcePlace",
    "Tier",
    "ToolRecord",
    "VaultedTool",
]


class Tier(IntEnum):
    """How far a source is trusted. A larger number is trusted less."""

    LOCAL = 1
    TRUSTED = 2
    UNKNOWN = 3


class SourcePlace(Value):
    """Where the bytes really came from, as fetching proved it (never as somebody claimed it).

    `kind` is ``git``, ``folder`` or ``archive``. `host` and `owner` are those of the fetched URL, without
    user name and port, or empty. `path` is the local folder or file, or None for a remote source.
    """

    kind: str
    host: str = ""
    owner: str = ""
    path: Path | None = None


class Admission(Value):
    """A decision to vault, made by the gate. `Vault.admit` trusts none of it that it can check itself.

    `digest` is ``sha256:<hex>`` of the audited manifest. `verdict` is ``PASS``, ``WARN`` or, for tier 1 alone,
    ``BYPASSED``; anything else is refused. `source` is the source as the user gave it, for display. `source_key`
    is its canonical identity, to which the name will belong. `artifact_path` is the artifact's folder inside the
    source (POSIX, ``""`` for the root). `kind` is ``skill``, ``plugin``, ``mcp`` or ``script``. `confirmed` says
    who or what confirmed (``tier 1``, ``--confirm``, ``--expect``, ``terminal``). `report` is the audit report as
    JSON data. `grants` are texts such as ``net:api.example.com:443``.
    """

    name: str
    digest: str
    tier: Tier
    verdict: str
    source: str
    source_key: str
    ref: str | None
    commit: str | None
    artifact_path: str
    kind: str
    confirmed: str
    report: Mapping[str, Any]
    grants: tuple[str, ...] = ()


class Revocation(Value):
    """An approval withdrawn. `at` is ISO 8601 UTC."""

    digest: str
    reason: str
    at: str
    by: str


class ToolRecord(Value):
    """One approval, as the registry holds it.

    `current` is False for a version that the name no longer points at (an archived one: its approval still
    stands). `grants` are the name's present grants for a current record and the recorded ones for an archived
    record. `path` is the object's read-only folder. Nothing here is verified: only `Vault.open` does that.
    """

    name: str
    digest: str
    tier: Tier
    kind: str
    verdict: str
    source: str
    source_key: str
    ref: str | None
    commit: str | None
    artifact_path: str
    confirmed: str
    grants: tuple[str, ...]
    approved_at: str
    approved_by: str
    current: bool
    path: Path
    revoked: Revocation | None = None


class VaultedTool(Sealed, Value):
    """An approved tool whose files were verified when this value was made. Only the vault makes one.

    `path` is the absolute, link-free path of the tool's folder in its object (files 0444 or 0555, folders
    0555): mount that, never the name's link. `manifest` lists every file in it.
    """

    name: str
    digest: str
    tier: Tier
    path: Path
    manifest: Manifest
    grants: tuple[str, ...]
    kind: str


seal_tool = sealer(VaultedTool)  # for vault/store.py alone


class MismatchKind(StrEnum):
    """How a vaulted copy differs from what was approved."""

    CONTENT = "content"  # same path, other bytes
    ADDED = "added"  # a file or folder that was never approved
    REMOVED = "removed"  # an approved file is gone
    MODE = "mode"  # permission bits differ
    LINK = "link"  # a symbolic link where none may be
    SPECIAL = "special"  # a device, FIFO or socket, or a folder where a file was
    UNREADABLE = "unreadable"  # cannot be read, so cannot be vouched for
    MANIFEST = "manifest"  # the object's own manifest is missing or not the one of its digest
    MISSING = "missing"  # the whole object is gone
    POINTER = "pointer"  # `vetted_vault/<name>` does not point at the current object; `recover` mends it


class Mismatch(Value):
    """One difference. `path` is inside the tool (POSIX; empty: the whole tool); escape it for display."""

    name: str
    digest: str
    kind: MismatchKind
    path: str
    detail: str


class HistoryEntry(Value):
    """One event in the life of a name, oldest first. `event` is ``admit``, ``rollback`` or ``revoke``."""

    name: str
    digest: str
    event: str
    at: str
    by: str
    tier: Tier
    verdict: str
    source: str
    ref: str | None
    commit: str | None
    detail: str
    current: bool


class GcResult(Value):
    """What a collection removed: digests of objects no name can reach any more, and bytes freed."""

    objects: tuple[str, ...]
    bytes_freed: int


class Review(Value):
    """A pending confirmation: exactly what somebody was shown and has not yet confirmed.

    `manifest` is the manifest text, so that a later difference can be named by file. `report` is JSON data.
    `command` is the command that confirms. `seen_at` is ISO 8601 UTC.
    """

    source_key: str
    artifact_path: str
    name: str
    digest: str
    tier: Tier
    verdict: str
    manifest: str
    report: Mapping[str, Any]
    seen_at: str
    command: str

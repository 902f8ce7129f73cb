"""Which tier a source has. Decided from what fetching proved, never from what somebody claims.

Tier 1 is the user's own folder and skips the audit's decision, so the question "does this path lie in it" is
answered by walking down from the folder with ``O_NOFOLLOW``: a link anywhere below it, a ``..``, or a folder that
others may write to makes the source unknown. Comparing path strings would not do (``skills-evil``, links, ``..``).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from skillkeep.home import Home
from skillkeep.vault.interface import SourcePlace, Tier

__all__ = ["SourcePlace", "Tier", "classify", "is_trusted_owner", "lowered"]

_DEFAULT_HOST = "github.com"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def classify(place: SourcePlace, trusted_owners: Sequence[str], home: Home) -> Tier:
    """The tier of a source.

    `LOCAL`: kind ``folder``, really and without links below ``<home>/skills`` or ``<home>/scripts``.
    `TRUSTED`: kind ``git``, host and owner in `trusted_owners` (``host/owner``, or ``owner`` for github.com).
    `UNKNOWN`: everything else, also when anything is in doubt. Never raises.
    """
    if place.kind == "folder" and place.path is not None:
        roots = (home.skills, home.scripts)
        return Tier.LOCAL if any(_lies_below(place.path, root) for root in roots) else Tier.UNKNOWN
    if place.kind == "git" and place.path is None and is_trusted_owner(place.host, place.owner, trusted_owners):
        return Tier.TRUSTED
    return Tier.UNKNOWN


def lowered(tier: Tier, origin: str, trusted_owners: Sequence[str]) -> Tier:
    """The tier after ``--origin``: `origin` (``owner`` or ``host/owner``) may lower trust and never raises it.

    A local source said to come from a trusted owner becomes `TRUSTED`, from anyone else `UNKNOWN`.
    """
    host, _, owner = origin.strip().rpartition("/")
    known = is_trusted_owner(host or _DEFAULT_HOST, owner, trusted_owners)
    return max(tier, Tier.TRUSTED if known else Tier.UNKNOWN)


def is_trusted_owner(host: str, owner: str, trusted_owners: Sequence[str]) -> bool:
    """True when `owner` on `host` is in the list. Forges fold ASCII case, so do we; nothing else is folded."""
    if not host or not owner or not (host + owner).isascii() or "/" in host + owner:
        return False
    wanted = f"{host}/{owner}".lower()
    return any(wanted == _with_host(entry) for entry in trusted_owners)


def _with_host(entry: str) -> str:
    entry = entry.strip().lower()
    return entry if "/" in entry else f"{_DEFAULT_HOST}/{entry}"


def _lies_below(path: Path, root: Path) -> bool:
    absolute = path if path.is_absolute() else Path(os.getcwd()) / path
    if ".." in absolute.parts:
        return False
    for spelling in {root, Path(os.path.realpath(root))}:  # the home itself may be reached through a link
        if absolute.parts[: len(spelling.parts)] == spelling.parts:
            return _reachable_without_links(root, absolute.parts[len(spelling.parts) :])
    return False


def _reachable_without_links(root: Path, parts: tuple[str, ...]) -> bool:
    """Walk from `root` (ours, nobody else may write) down `parts`, refusing every link."""
    try:
        folder = os.open(root, _FOLDER)
    except (OSError, ValueError):
        return False
    try:
        info = os.fstat(folder)
        if info.st_uid != os.geteuid() or info.st_mode & 0o022:
            return False
        for depth, part in enumerate(parts, start=1):
            deeper = os.open(part, _ANY if depth == len(parts) else _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = deeper
        mode = os.fstat(folder).st_mode
        return stat.S_ISDIR(mode) or stat.S_ISREG(mode)
    except (OSError, ValueError):
        return False
    finally:
        os.close(folder)

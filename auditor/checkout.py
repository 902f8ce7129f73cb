"""What git would run from the own ``.git`` of a working copy, which is no part of the tool that lies in it.

`skill ingest` never takes that folder. Who works in the folder itself runs git there, so what git obeys is named.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.interface import Observation
from skillkeep.errors import SkillkeepError
from skillkeep.tree import GIT_FOLDER, EntryKind, TreeLimits, TreeView

__all__ = ["own_git", "state_of"]

_SETTINGS: Final = ("config", "config.worktree")
_HOOKS: Final = "hooks"
_MOST_BYTES: Final = 1 << 18
_LIMITS: Final = TreeLimits(entries=2_000, depth=1)
# Keys whose value git runs, or reads more settings from. git's own monitor and its large files are nobody's program.
_RUNS: Final = compiled(
    r"^[ \t]*(fsmonitor|sshcommand|hookspath|pager|editor|askpass|clean|smudge|process|textconv|helper|command|program"
    r"|cmd|path|external|tool)[ \t]*=[ \t]*(?!true\b|false\b|git-lfs )(\S[^\n]{0,80})",
    re.IGNORECASE | re.MULTILINE,
)


def own_git(root: Path) -> Iterator[Observation]:
    """That the ``.git`` of `root` was left out, and what git would run from it; nothing where there is none."""
    if not os.path.lexists(root / GIT_FOLDER):
        return
    yield Observation("tree-git-checkout", GIT_FOLDER)
    for name, text in _settings(root):
        for found in _RUNS.finditer(text):
            yield Observation("tree-git-runs", f"{GIT_FOLDER}/{name}", f"{found[1]} = {found[2].strip()}")
    for name in _hooks(root):
        yield Observation("tree-git-runs", f"{GIT_FOLDER}/{_HOOKS}/{name}", "a hook")


def state_of(root: Path) -> str:
    """A digest of all that `own_git` looks at: while it is the same, so is the answer."""
    state = hashlib.sha256()
    for name, text in _settings(root):
        state.update(f"{name}\0{text}\0".encode("utf-8", "surrogatepass"))
    for name in _hooks(root):
        state.update(name.encode("utf-8", "surrogateescape") + b"\0")
    return state.hexdigest() if os.path.lexists(root / GIT_FOLDER) else ""


def _settings(root: Path) -> Iterator[tuple[str, str]]:
    try:
        with TreeView.open(root / GIT_FOLDER, _LIMITS) as view:
            for name in _SETTINGS:
                if view.get(name) is not None:
                    yield name, _read(view, name)
    except SkillkeepError:  # a file that names another folder, or nothing that can be opened
        return


def _read(view: TreeView, name: str) -> str:
    try:
        return view.read(name, _MOST_BYTES).decode("utf-8", "replace")
    except SkillkeepError as error:
        return f"path = not read: {error.message}"


def _hooks(root: Path) -> Iterator[str]:
    """Names in the folder of hooks that git would run; it comes with samples that it does not."""
    try:
        with TreeView.open(root / GIT_FOLDER / _HOOKS, _LIMITS) as view:
            names = [each.path for each in view.entries if each.kind is not EntryKind.FOLDER]
    except SkillkeepError:
        return
    yield from (name for name in names if not name.endswith(".sample"))

"""What a dry run would change, for eyes: a line for each path, and unified differences of text.

Names and lines are a stranger's: all is escaped. The work and the length are bounded, whatever the files hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skillkeep.runner.dryrun.beneath import open_below, open_root, parent_of
from skillkeep.runner.dryrun.change import After, Change, FolderChanges, Kind, Remark, Stamp, Type
from skillkeep.runner.dryrun.unified import TooManyError, Work, lines_of, rows_of, unified
from skillkeep.text import escape, printable_path

__all__ = ["Whole", "describe", "summary", "whole"]

_TEXT_BYTES = 256 * 1024
_SHOWN_LINES = 2_000
_SHOWN_CHARACTERS = 1 << 20
_SHOWN_REMARKS = 200
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
# Files that some program runs or obeys by itself later: a change of one deserves a second look.
_RUN_LATER = (
    ".git/hooks/", ".git/config", ".githooks/", ".husky/", ".envrc", ".mcp.json", ".claude/", ".cursor/", ".vscode/",
    ".idea/", ".gemini/", ".codex/", ".github/workflows/", ".gitlab-ci.yml", ".pre-commit-config.yaml", "conftest.py",
    "sitecustomize.py", "setup.py", "Makefile", "package.json", "AGENTS.md", "CLAUDE.md", ".bashrc", ".profile",
)  # fmt: skip


@dataclass
class _Budget:
    """What may still be shown, and whether all was."""

    lines: int = _SHOWN_LINES
    characters: int = _SHOWN_CHARACTERS
    work: Work = field(default_factory=Work)
    cut: bool = False


@dataclass(frozen=True)
class Whole:
    """The difference with every line whole; `truncated` when not all that the tool wrote is in it."""

    lines: tuple[str, ...]
    truncated: bool


def summary(folder: FolderChanges) -> str:
    """One line, such as ``/project: 2 added, 1 deleted, 1 refused``."""
    counts = [(kind.value, sum(change.kind is kind for change in folder.changes)) for kind in Kind]
    counts.append(("refused", sum(remark.refused for remark in folder.remarks)))
    words = ", ".join(f"{count} {word}" for word, count in counts if count)
    return f"{printable_path(folder.root)}: {words or 'nothing changed'}"


def describe(folder: FolderChanges, blobs: Path) -> Iterator[str]:
    """The lines of the whole difference, safe for a terminal. `blobs` holds the contents of new files.

    The old text is read from the project now; a file that has changed since is shown by name only. What is left out of
    a long line is said in its place.
    """
    return _told(folder, blobs, _Budget(), rows_of)


def whole(folder: FolderChanges, blobs: Path) -> Whole:
    """The same for programs."""
    budget = _Budget()
    lines = tuple(_told(folder, blobs, budget, lambda line: (line,)))
    return Whole(lines, budget.cut)


def _told(folder: FolderChanges, blobs: Path, budget: _Budget, rows: Callable[[str], Iterable[str]]) -> Iterator[str]:
    yield summary(folder)
    budget.cut = any(remark.refused for remark in folder.remarks)
    yield from _changes(folder, blobs, budget, rows)
    said = list(_bounded(map(_remark, folder.remarks), _Budget(_SHOWN_REMARKS, _SHOWN_CHARACTERS)))
    yield from said
    if len(said) < len(folder.remarks):
        budget.cut = True
        yield f"  ... {len(folder.remarks) - len(said)} more are refused or noted; --json names them"


def _remark(remark: Remark) -> str:
    word = "refused" if remark.refused else "note"
    return f"  {word}: {printable_path(remark.path or '.')}: {escape(remark.text)}"


def _changes(
    folder: FolderChanges, blobs: Path, budget: _Budget, rows: Callable[[str], Iterable[str]]
) -> Iterator[str]:
    try:
        root = open_root(folder.root)
    except OSError as error:
        budget.cut = True
        yield f"  the folder cannot be read any more: {error.strerror}"
        return
    try:
        for change in sorted(folder.changes, key=lambda change: change.path):
            yield from _bounded(_change(change, root, blobs, budget, rows), budget)
            if budget.lines <= 0:
                budget.cut = True
                yield "  ... more than is shown here; --json has every path"
                break
    finally:
        os.close(root)


def _bounded(lines: Iterable[str], budget: _Budget) -> Iterator[str]:
    for line in lines:
        budget.characters -= len(line)
        if budget.characters < 0:
            budget.lines = 0
        if budget.lines <= 0:
            return
        budget.lines -= 1
        yield line


def _change(
    change: Change, root: int, blobs: Path, budget: _Budget, rows: Callable[[str], Iterable[str]]
) -> Iterator[str]:
    yield f"  {change.kind.value}: {_name(change)}{_facts(change)}"
    if change.conflict:
        yield "    conflict: it, or a folder that it lies in, was changed while the tool ran; it will not be committed"
    if _runs_later(change):
        yield "    look twice: other programs run or obey this file by themselves"
    after = change.after
    if after is None or after.type is not Type.FILE or change.kind is Kind.MODE:
        return
    new = _text(blobs / after.blob, after.size)
    old: list[str] | None = []
    if change.before is not None and change.before.type is Type.FILE:
        old = _old_text(root, change.path, change.before)
    if old is None or new is None:
        budget.cut = True
        yield "    not shown as text"
        return
    try:
        for line in unified(old, new, budget.work):
            yield from (f"    {row}" for row in rows(line))
    except TooManyError as error:
        budget.cut = True
        yield f"    {error}"


def _runs_later(change: Change) -> bool:
    """Whether it puts something where other programs look, or a link in the place of a folder that holds such."""
    if change.after is None:
        return False
    path, each_one = f"/{change.path}/", [f"/{each}" for each in _RUN_LATER]
    holders = [path[at:] for at in range(len(path) - 1) if path[at] == "/"] if change.after.type is Type.LINK else []
    return any(each in path or each.startswith(tuple(holders)) for each in each_one)


def _name(change: Change) -> str:
    kind = change.after.type if change.after is not None else change.before.type if change.before is not None else ""
    return printable_path(change.path) + ("/" if kind is Type.FOLDER else "")


def _facts(change: Change) -> str:
    before, after = change.before, change.after
    if after is None:
        return f" ({before.size} bytes)" if before is not None and before.type is Type.FILE else ""
    if after.type is Type.LINK:
        return f" -> {printable_path(after.target)}"
    modes = "" if before is None or before.mode & 0o777 == after.mode else f", mode {before.mode & 0o777:04o}"
    modes += f" -> {after.mode:04o}" if modes else f", mode {after.mode:04o}" if before is None else ""
    return f" ({_sizes(before, after)}{modes})" if after.type is Type.FILE else f" ({modes[2:]})" if modes else ""


def _sizes(before: Stamp | None, after: After) -> str:
    old = f"{before.size} -> " if before is not None and before.type is Type.FILE else ""
    return f"{old}{after.size} bytes, sha256:{after.digest[:16]}"


def _text(path: Path, size: int) -> list[str] | None:
    """The lines of a file of ours, or None for one that is not a short text."""
    return lines_of(path.read_bytes()) if size <= _TEXT_BYTES else None


def _old_text(root: int, path: str, before: Stamp) -> list[str] | None:
    if before.size > _TEXT_BYTES:
        return None
    try:
        with parent_of(root, path) as (folder, name):
            fd = open_below(folder, name, _READ)
    except (OSError, ValueError):
        return None
    with open(fd, "rb") as file:
        return lines_of(file.read(before.size + 1)) if before.matches(os.fstat(fd)) else None

"""From what a user types to the command that runs: the entry points of a vaulted tool.

An entry is a file of the tool's manifest that something can execute: its ``#!`` line, its suffix, or its
execute bit says how. Commands are relative to the tool's folder, which is the working directory in every backend.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence

from skillkeep.near import did_you_mean
from skillkeep.runner.errors import RunnerError
from skillkeep.text import printable_path
from skillkeep.value import Value
from skillkeep.vault.interface import VaultedTool

__all__ = ["Entry", "list_entries", "resolve_entry"]

_BY_SUFFIX = {
    ".py": "python3",
    ".sh": "sh",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".rb": "ruby",
    ".pl": "perl",
}
_KNOWN = re.compile(r"(python3?|sh|bash|dash|zsh|ksh|node|deno|bun|ruby|perl|php|lua)(-?\d+(\.\d+)*)?\Z")
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*\Z")
_LINE_BYTES = 256  # what the kernel reads of a #! line (BINPRM_BUF_SIZE)


class Entry(Value):
    """One file that can be run. `interpreter` is empty when the file executes itself."""

    path: str
    interpreter: tuple[str, ...]

    @property
    def name(self) -> str:
        """The base name without its suffix."""
        return posixpath.splitext(posixpath.basename(self.path))[0]

    def command(self, args: Sequence[str]) -> tuple[str, ...]:
        """The argument list, relative to the tool's folder. The ``./`` keeps a leading dash from being an option."""
        return (*self.interpreter, f"./{self.path}", *args)


def list_entries(tool: VaultedTool) -> tuple[Entry, ...]:
    """Every entry of `tool`, by path."""
    found = [_entry(tool, item.path, item.executable) for item in tool.manifest.entries]
    return tuple(entry for entry in found if entry is not None)


def resolve_entry(tool: VaultedTool, entry: str, args: Sequence[str] = ()) -> tuple[str, ...]:
    """The command for `entry`: a path in the tool, or a base name with or without suffix that only one file has.

    Raises `RunnerError` (`entry_not_found`), naming what comes close.
    """
    entries = list_entries(tool)
    wanted = posixpath.normpath(entry) if entry else ""
    for matches in (
        [each for each in entries if each.path == wanted],
        [each for each in entries if posixpath.basename(each.path) == entry],
        [each for each in entries if each.name == entry],
    ):
        if len(matches) == 1:
            return matches[0].command(args)
        if matches:
            raise _ambiguous(tool, entry, matches)
    if any(item.path == wanted for item in tool.manifest.entries):
        raise _not_found(
            f"{printable_path(entry)} is a file of {tool.name}, but nothing says how to run it",
            f"Run it by a program of the sandbox: skill run {tool.name} -- PROGRAM {printable_path(wanted)}",
        )
    raise _unknown(tool, entry, entries)


def _entry(tool: VaultedTool, path: str, executable: bool) -> Entry | None:
    named = _shebang(tool, path)
    if named:
        # An interpreter that we do not know is the kernel's to find; the suffix would name another one.
        return Entry(path, () if executable and not _KNOWN.match(named[0]) else named)
    suffix = posixpath.splitext(path)[1].lower()
    if suffix in _BY_SUFFIX:
        return Entry(path, (_BY_SUFFIX[suffix],))
    return Entry(path, ()) if executable else None


def _shebang(tool: VaultedTool, path: str) -> tuple[str, ...]:
    """The interpreter of a ``#!`` line by name, so that the sandbox's own copy is found; empty for no such line."""
    try:
        fd = os.open(tool.path / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ()
    try:
        first = os.read(fd, _LINE_BYTES)
    finally:
        os.close(fd)
    if not first.startswith(b"#!"):
        return ()
    words = os.fsdecode(first.split(b"\n", 1)[0][2:]).split()
    if words and posixpath.basename(words[0]) == "env":
        words = [word for word in words[1:] if word != "-S"]
    name = posixpath.basename(words[0]) if words else ""
    if not _PROGRAM.match(name):  # not for the kernel: ``#![...]`` opens a file of Rust
        return ()
    return ("python3" if name == "python" else name, *words[1:])


def _unknown(tool: VaultedTool, entry: str, entries: Sequence[Entry]) -> RunnerError:
    names = sorted({name for each in entries for name in (each.path, posixpath.basename(each.path), each.name)})
    if entries:
        hint = did_you_mean(entry, names) or f"List what it has: skill run {tool.name}"
    else:
        hint = f"It has no script; run a program in its folder: skill run {tool.name} -- COMMAND"
    return _not_found(f"{tool.name} has no entry {printable_path(entry)}", hint)


def _ambiguous(tool: VaultedTool, entry: str, matches: Sequence[Entry]) -> RunnerError:
    paths = ", ".join(printable_path(each.path) for each in matches[:10])
    return _not_found(f"{printable_path(entry)} names several files of {tool.name}: {paths}", "Give the whole path.")


def _not_found(message: str, hint: str) -> RunnerError:
    return RunnerError("entry_not_found", message, hint)

"""What programs that are no downloaders take from a machine of somebody's: text that they print, or files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.tables import table

__all__ = ["Taking", "prints_of_anybody"]

_AT_HOST: Final = compiled(r"(?:[\w.+-]+@)?(\[[0-9a-fA-F:.]+\]|(?:[\w-]+\.)+[\w-]+)::?(?!//).+")
_SHARE: Final = compiled(r"[/\\]{2}((?:[\w-]+\.)+[\w-]+)[/\\]")
_GETTING: Final = compiled(r"\b(?:m?get|reget|more)[ \t]+(?P<file>[^\s;]+)(?:[ \t]+(?P<to>[^\s;]+))?", re.IGNORECASE)
_OPENING: Final = compiled(r"\bopen[ \t]+([^\s;]+)")
_SETTING: Final = compiled(r"\b(?:host|HostName)=([^\s'\";]+)", re.IGNORECASE)  # of a connection, or of ssh's -o
_WHOLE: Final = compiled(r"(?:^| )-\w*[raR]")  # folders with what is in them
_VALUED: Final = compiled(r"-[bcDEeFIiJLlmOopQRSWw]")  # options of ssh that take the next word


class Taking:
    """Tells one call at a time; `table` is that of the shell."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._printing: dict[str, list[str]] = table["printing_theirs"]
        self._copying = frozenset(table["copying_theirs"])
        self._sessions = frozenset(table["sessions"])
        self._mounting = frozenset(table["mounting_theirs"])

    def prints(self, call: Call) -> bool:
        """True for a program that prints what a named server of somebody's keeps: ``ssh user@host cat file``."""
        if prints_of_anybody(call.name, call.operands):
            return True
        if call.name == "aws" and call.operands[:2] == ["s3", "cp"]:
            return call.operands[-1] == "-" and HOLE not in call.operands[2][:8]
        options = self._printing.get(call.name)
        if options is None:
            return False
        named = [value for option, value in pairwise(("", *call.arguments)) if option in options]
        named += [item for item in call.arguments if "://" in item]
        named += [item.removeprefix(option).lstrip("=") for item in call.arguments for option in _glued(item, options)]
        named += _SETTING.findall(" ".join(call.arguments))
        if not options:
            named += _operands(call)[:1]
        return any(map(_is_elsewhere, named))

    def files(self, call: Call) -> Iterator[tuple[str, str]]:
        """The files that a call brings here, each with the address that it comes from."""
        if call.name in self._copying and len(call.operands) > 1:
            yield from _copied(call.operands)
        if call.name in self._sessions:
            yield from self._got(call)
        if call.name == "gh" and call.operands[:2] == ["release", "download"]:
            yield from _released(call)

    def folder(self, call: Call) -> tuple[str, str] | None:
        """The folder that shows or holds a server's files, and their address: ``mount -t nfs host:/files /mnt``."""
        copies = call.name in self._copying and (
            _WHOLE.search(" ".join(call.arguments)) or "/ " in " ".join(call.operands)
        )
        if not (copies or call.name in self._mounting) or len(call.operands) < 2:
            return None
        *before, folder = call.operands
        for item in before[-2:]:
            if _is_theirs(item):
                return folder.rstrip("/"), item
        return None

    def _got(self, call: Call) -> Iterator[tuple[str, str]]:
        """``tftp host -c get file``, ``smbclient //host/share -c "get file"``, a session in a here-document."""
        heredoc = call.command.heredoc
        said = " ".join(call.arguments) + "\n" + (self._site.scope.text(heredoc) if heredoc is not None else "")
        named = (*call.arguments, *_OPENING.findall(said))
        host = next((item for item in named if _is_elsewhere(item) or _SHARE.match(item)), "")
        if not host:
            return
        for found in _GETTING.finditer(said):
            name = (found["to"] or found["file"]).strip("\"'")
            yield name.rpartition("/")[2] if not found["to"] else name, host


def prints_of_anybody(program: str, operands: Sequence[str]) -> bool:
    """True where `program` prints what somebody has put on its service: ``gh gist view id``."""
    told: list[str] | None = table("shell")["printing_of_anybody"].get(program)
    return told is not None and f"{' '.join(operands[:2])} ".startswith(tuple(f"{words} " for words in told))


def _glued(item: str, options: list[str]) -> list[str]:
    """The options whose value follows in the same word: ``--host=name``, ``-hname``."""
    return [each for each in options if item.startswith(each + "=" if each.startswith("--") else each) and item != each]


def _operands(call: Call) -> list[str]:
    return [
        item
        for before, item in pairwise(("", *call.arguments))
        if not item.startswith("-") and not _VALUED.fullmatch(before)
    ]


def _copied(operands: list[str]) -> Iterator[tuple[str, str]]:
    """``scp user@host:file here``."""
    *sources, target = operands
    for source in sources:
        if _is_theirs(source):
            folder = target in {".", "..", "~"} or target.endswith("/")
            name = source.rstrip("/").rpartition("/")[2].rpartition(":")[2]
            yield (f"{target.rstrip('/')}/{name}".removeprefix("./") if folder else target), source


def _released(call: Call) -> Iterator[tuple[str, str]]:
    """``gh release download --repo owner/name --pattern file``: of another repository than the one it stands in."""
    given = {
        option: value for before in pairwise(call.arguments) for option, value in [before] if option.startswith("-")
    }
    repository = given.get("-R") or given.get("--repo")
    name = given.get("-O") or given.get("--output") or given.get("-p") or given.get("--pattern")
    if repository and name:
        folder = given.get("-D") or given.get("--dir")
        address = f"https://github.com/{repository}/releases/latest/download/{name}"
        yield f"{folder.rstrip('/')}/{name}" if folder else name, address


def _is_theirs(place: str) -> bool:
    """True for a file or folder of a named server's: ``user@host:path``, ``//host/share``, an address."""
    remote = _AT_HOST.fullmatch(place) or _SHARE.match(place)
    return (remote is not None or "://" in place) and _is_elsewhere(remote[1] if remote is not None else place)


def _is_elsewhere(text: str) -> bool:
    """True where `text` names a host that is neither of this network nor one of documentation."""
    host = host_of(text)
    return "." in host.name and not (host.near or host.shown or host.name.startswith("*"))

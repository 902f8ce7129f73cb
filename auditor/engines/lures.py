"""What a page has a person fetch and start, in any language: told by addresses, endings and words of system dialogs.

A page about a driver, an update or a helper reads like any other; what it links, and says beside the link, does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Final

from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.told_to_run import is_said_not

__all__ = ["ENGINE", "LureEngine"]

_URL: Final = re.compile(
    r"https?://(?P<host>[\w.-]{1,200})(?::\d{1,5})?(?P<path>/[^\s)\"'<>`\]|]{0,300})?", re.IGNORECASE
)
_PAIRS: Final = (
    ("lure-shared-file", {"share", "chat"}, ("name",)),
    ("lure-shared-file", {"chat"}, ("archive name",)),
    ("lure-locked", {"archive"}, ("password", "name")),
    ("lure-paste", {"paste"}, ("copy",)),
    ("lure-dialog", {"share", "chat", "archive", "link"}, ("dialog",)),
)
_PATTERNS: Final = (
    "shares", "known", "dialogs", "pastes", "copies", "archives", "passwords", "chats", "chat_files"
)  # fmt: skip
_MOST: Final = 200  # signs of one text
_SAID_BEFORE: Final = 60
_SAID_AFTER: Final = 30


@dataclass(frozen=True)
class _Sign:
    """Something on line `line`, at `start`: a link to a program, to a shared file or to anything, a name, a dialog."""

    kind: str
    line: int
    start: int
    end: int
    address: str = ""


class LureEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "lures"
    order: ClassVar[int] = 21

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge each text of a page that is read as prose."""
        if file.text is None or file.is_program or "://" not in file.text:
            return
        for segment in file.of(Context.INSTRUCTION, Context.METADATA, Context.FENCED):
            _judge(segment, emit)


def _judge(segment: Segment, emit: Emitter) -> None:
    signs = list(_signs(segment.text))
    for sign in signs:
        if sign.kind == "program":
            _report("lure-program", segment, sign, emit, sign.address)
        for rule, kinds, beside in _PAIRS:
            if sign.kind in kinds and all(_beside(sign, signs, kind) for kind in beside):
                _report(rule, segment, sign, emit)
                break


def _beside(sign: _Sign, signs: list[_Sign], kind: str) -> bool:
    near: int = table("lures")["near"]
    return any(other.kind == kind and abs(other.line - sign.line) <= near for other in signs)


def _signs(text: str) -> Iterator[_Sign]:
    words = _words()
    found = 0
    start = 0
    for number, line in enumerate(text.split("\n")):
        for sign in _of_line(line, number, start, words):
            found += 1
            if found > _MOST:
                return
            yield sign
        start += len(line) + 1


def _of_line(line: str, number: int, start: int, words: _Words) -> Iterator[_Sign]:
    links = list(_URL.finditer(line)) if "://" in line else []
    for link in links:
        if kind := _kind(line, link, words):
            yield _Sign(kind, number, start + link.start(), start + link.end(), link[0].rstrip(".,;:!"))
    rest = _URL.sub(" ", line) if links else line
    if "." in rest:
        if words.named.search(rest):
            yield _Sign("name", number, start, start + len(line))
        if words.chat_files.search(rest):
            yield _Sign("archive name", number, start, start + len(line))
    for kind, pattern in (("dialog", words.dialog), ("copy", words.copies), ("password", words.passwords)):
        found = pattern.search(line)
        if found is not None and (kind == "password" or not _is_said_not(line, found)):
            yield _Sign(kind, number, start + found.start(), start + found.end())


def _kind(line: str, link: re.Match[str], words: _Words) -> str:
    """What a link is to, empty where it is to somebody who is known."""
    host, path = link["host"].rstrip(".").lower(), (link["path"] or "").rstrip(".,;:!")
    for kind, pattern in (("chat", words.chats), ("share", words.share), ("paste", words.pastes)):
        if pattern.search(host):
            return kind
    if words.known.search(host) or host_of(link[0]).local:
        return ""
    if words.program.search(path) and "bin/" not in path and not _is_said_not(line, link):
        return "program"
    return "archive" if words.archives.search(path) else "link"


def _is_said_not(line: str, found: re.Match[str]) -> bool:
    before, after = found.span()
    return is_said_not(line[max(0, before - _SAID_BEFORE) : before], line[after : after + _SAID_AFTER])


def _report(rule: str, segment: Segment, sign: _Sign, emit: Emitter, subject: str = "") -> None:
    shown = segment.text[sign.start : sign.end]
    emit.finding(rule, segment.locate(sign.start, sign.end), shown[:300], segment=segment, subject=subject)


@dataclass(frozen=True)
class _Words:
    program: re.Pattern[str]
    named: re.Pattern[str]
    share: re.Pattern[str]
    known: re.Pattern[str]
    dialog: re.Pattern[str]
    pastes: re.Pattern[str]
    copies: re.Pattern[str]
    archives: re.Pattern[str]
    passwords: re.Pattern[str]
    chats: re.Pattern[str]
    chat_files: re.Pattern[str]


@cache
def _words() -> _Words:
    words = table("lures")
    return _Words(
        re.compile(rf"\.(?:{'|'.join(words['programs'])})(?:[?#]|$)", re.IGNORECASE),
        re.compile(rf"(?<![\w/.-])[\w.-]{{0,60}}\w\.(?:{'|'.join(words['named'])})(?![\w.-]*\w)", re.IGNORECASE),
        *(re.compile(words[name]) for name in _PATTERNS),
    )


ENGINE = LureEngine()

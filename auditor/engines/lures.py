"""What a page has a person fetch and start, in any language: told by addresses, endings and words of system dialogs.

A page about a driver, an update or a helper reads like any other; what it links, and says beside the link, does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.told_to_run import is_said_not
from skillkeep.auditor.patterns import PatternSet

__all__ = ["ENGINE", "LureEngine"]

_URL: Final = compiled(
    r"https?://(?P<host>[\w.-]{1,200})(?::\d{1,5})?(?P<path>/[^\s)\"'<>`\]|]{0,300})?", re.IGNORECASE
)
_FORBIDDEN: Final = frozenset({"dialog", "copy"})  # counts for nothing where it is forbidden
_PAIRS: Final = (
    ("lure-shared-file", {"share", "chat"}, ("name",)),
    ("lure-shared-file", {"chat"}, ("archive name",)),
    ("lure-locked", {"archive"}, ("password", "name")),
    ("lure-paste", {"paste"}, ("copy",)),
    ("lure-dialog", {"share", "chat", "archive", "link"}, ("dialog",)),
)
_NO_PASTE: Final = compiled(r"/x{3,8}|/search(?:\?q=.*)?")  # a placeholder, or where pastes are looked for
_CHOICE: Final = compiled(r"(?i)\b(?:want|wish|like)[ \t](?:me[ \t])?to[ \t]$")
_SIGNS: Final = ("name", "dialog", "copy", "password", "archive name")
_MOST: Final = 200  # signs of a kind in one text
_SAID_BEFORE: Final = 60
_SAID_AFTER: Final = 30


@dataclass(frozen=True)
class _Sign:
    """A link, or words that say something beside one: its kind, and where it stands."""

    kind: str
    line: int
    start: int
    end: int


class LureEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "lures"
    order: ClassVar[int] = 21

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge each text of a page that is read as prose."""
        if file.text is None or file.is_program or "://" not in file.text:
            return
        for segment in file.of(Context.INSTRUCTION, Context.METADATA, Context.FENCED):
            if "://" in segment.text:
                _judge(segment, emit)


def _judge(segment: Segment, emit: Emitter) -> None:
    links = list(islice(_links(segment.text), _MOST))
    if not links:
        return
    beside = _Beside(segment.text)
    for link in links:
        if link.kind == "program":
            _report("lure-program", segment, link, emit, segment.text[link.start : link.end])
            continue
        for rule, kinds, asked in _PAIRS:
            if link.kind in kinds and all(beside.has(kind, link.line) for kind in asked):
                _report(rule, segment, link, emit)
                break


def _links(text: str) -> Iterator[_Sign]:
    """Links to strangers, and to where anybody puts something for anybody."""
    line = at = 0
    for link in _URL.finditer(text):
        host, path = link["host"].rstrip(".").lower(), (link["path"] or "").rstrip(".,;:!")
        if kind := _kind(text, link, host, path):
            line, at = line + text.count("\n", at, link.start()), link.start()
            yield _Sign(kind, line, link.start(), link.start() + len(link[0].rstrip(".,;:!")))


def _kind(text: str, link: re.Match[str], host: str, path: str) -> str:
    """What a link is to, empty where it is to somebody who is known."""
    words = _words()
    for kind in ("chat", "share", "paste"):
        if words.hosts[kind].search(host):
            return "" if kind == "paste" and _NO_PASTE.fullmatch(path) else kind
    if words.hosts["known"].search(host) or host_of(link[0]).local:
        return ""
    if words.program.search(path) and "bin/" not in path and not _is_said_not(text, link.start(), link.end()):
        return "program"
    return "archive" if words.archive.search(path) else "link"


class _Beside:
    """What is said in a text besides its links; looked for when a link asks for it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._data = _URL.sub(lambda link: " " * len(link[0]), text).encode()
        self._lines: dict[str, list[int]] = {}

    def has(self, kind: str, line: int) -> bool:
        """True when a sign of that kind stands close to `line`."""
        near: int = table("lures")["near"]
        if kind not in self._lines:
            self._lines[kind] = list(self._found(kind))
        return any(abs(other - line) <= near for other in self._lines[kind])

    @cached_property
    def _possible(self) -> frozenset[int]:
        """The signs whose letters are there, by number."""
        return frozenset(_words().signs.candidates(self._data))

    def _found(self, kind: str) -> Iterator[int]:
        data, plain = self._data, len(self._data) == len(self._text)
        number = _SIGNS.index(kind)
        for hit in _words().signs.find(number, data, _MOST) if number in self._possible else ():
            start, end = hit.start, hit.end
            at = (start, end) if plain else (len(data[:start].decode()), len(data[:end].decode()))
            if kind not in _FORBIDDEN or not (_is_said_not(self._text, *at) or _is_asked(self._text, *at)):
                yield data.count(b"\n", 0, end)


def _is_said_not(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _SAID_BEFORE) : start].rpartition("\n")[2]
    return is_said_not(before, text[end : end + _SAID_AFTER].partition("\n")[0])


def _is_asked(text: str, start: int, end: int) -> bool:
    """True for "want to install anyway?", which leaves the choice."""
    return text[end : end + 1] == "?" and _CHOICE.search(text, max(0, start - _SAID_BEFORE), start) is not None


def _report(rule: str, segment: Segment, link: _Sign, emit: Emitter, subject: str = "") -> None:
    shown = segment.text[link.start : link.end]
    emit.finding(rule, segment.locate(link.start, link.end), shown[:300], segment=segment, subject=subject)


@dataclass(frozen=True)
class _Words:
    """The table's patterns: of hosts and of paths, which are short, and of what is looked for in whole texts."""

    program: re.Pattern[str]
    archive: re.Pattern[str]
    hosts: Mapping[str, re.Pattern[str]]
    signs: PatternSet


@cache
def _words() -> _Words:
    words = table("lures")
    hosts = {"chat": "chats", "share": "shares", "paste": "pastes", "known": "known"}
    letter = r"\w\x{100}-\x{1fff}\x{2c00}-\x{2dff}\x{3040}-\x{d7ff}"  # of many scripts: RE2's \w is ASCII
    name = (
        rf"(?im)(?:^|[^{letter}/.-])[{letter}.-]{{0,60}}[{letter}]\.(?:{'|'.join(words['named'])})"
        r"(?:$|[^\w.-]|\.(?:$|[^\w]))"
    )
    return _Words(
        compiled(rf"\.(?:{'|'.join(words['programs'])})(?:[?#]|$)", re.IGNORECASE),
        compiled(words["archives"]),
        {kind: compiled(words[key]) for kind, key in hosts.items()},
        PatternSet([name, *(words[key] for key in ("dialogs", "copies", "passwords", "chat_files"))]),
    )


ENGINE = LureEngine()

"""Recipients that code names and no document does: addresses, stores and repositories (acts.yaml, `recipients`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.given import names_given, with_given
from skillkeep.auditor.engines.installers import is_installer
from skillkeep.auditor.engines.interface import Context, Segment, SourceFile
from skillkeep.auditor.engines.network import host_of, is_near
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Location
from skillkeep.auditor.patterns import PatternSet, RarePattern

__all__ = ["Recipient", "declared_sources", "is_placeholder", "named_nowhere", "recipients"]

_MOST: Final = 50
_SPELLED: Final = compiled(r"[\"'`](?P<to>[\w.+-]{1,80}@[\w-]{1,80}(?:\.[\w-]{1,60}){1,6})[\"'`]")
_DECODED: Final = compiled(  # nobody writes down in such a way whom a mail may go to
    r"\b(?:atob|b64decode|urlsafe_b64decode|b32decode|unhexlify|(?:bytes|bytearray)\.fromhex|decode64|FromBase64String"
    r"|base64_decode|str_rot13|strrev|hex2bin)\([ \t]{0,4}[rb]?[\"'`][\w+/=@.-]{8,200}[\"'`]"
    r"|\b(?:Buffer\.from|codecs\.decode)\([ \t]{0,4}[rb]?[\"'`][\w+/=@.-]{8,200}[\"'`]"
    r"[ \t]{0,4},[ \t]{0,4}[\"'`](?:base64|hex|rot)"
    r"|[\"'`][\w.@+-]{8,80}[\"'`](?:\[::-1\]|\.split\([\"']{2}\)\.reverse\(\)|\.reverse\b)"
    r"|(?:\bchr|\bfromCharCode|\[char\])\(?[ \t]{0,4}(?:64|0x40)\b"
)
_TEXT: Final = compiled(r"\"[^\"\n\\]*\"|'[^'\n\\]*'")
_TEXTS: Final = r"(?:\"[^\"\n\\]{0,80}\"|'[^'\n\\]{0,80}')"
_LIST: Final = rf"{_TEXTS}(?:[ \t]*,[ \t]*{_TEXTS}){{1,12}}"
_PUT_TOGETHER: Final = RarePattern(compiled(
    rf"\[[ \t]*(?P<list>{_LIST})[ \t]*\][ \t]*\.join\([ \t]*[\"'](?P<after>[@.])?[\"'][ \t]*\)"
    rf"|[\"'](?P<before>[@.])?[\"']\.join\([ \t]*[\[(][ \t]*(?P<items>{_LIST})[ \t]*[\])][ \t]*\)"
    rf"|(?P<sum>{_TEXTS}(?:[ \t]*\+[ \t]*{_TEXTS}){{1,12}})"
))  # fmt: skip
_COPIED: Final = RarePattern(compiled(  # who gets a mail, or a copy of it: somebody beside the one who was asked for
    r"\b(?:to_addrs|toaddrs|recipients|receivers|rcpts?|[Bb]?[Cc][Cc]|BCC|bcc_\w{1,20})\b"
    r"(?:[\"'\]]{0,2}[ \t]{0,4}[:=]|[\"'][ \t]{0,4},)[^=\n][^\n]{0,160}"
    r"|\b[Tt]o[\"'\]]{0,2}[ \t]{0,4}[:=][ \t]{0,4}"
    r"(?:\[[^\]\n]{1,80},|f?[\"'`][^\"'`\n]{0,60}\}[^\"'`\n]{0,8},|[\w.\[\]]{1,60}[ \t]{0,4}\+)[^\n]{0,160}"
    r"|\b(?:to|bcc|cc|recipients|receivers|rcpts?|to_addrs)\.(?:append|push|add|extend|unshift)\([^\n]{1,160}"
    r"|\.sendmail\([^,\n]{1,80},[^\n]{0,160}|\.(?:addBcc|add_bcc|setBcc|set_bcc|bcc)\([^\n]{0,80}"
))  # fmt: skip

_SENDER: Final = compiled(r"(?i)\b(?:from|sender|reply)\w*[\"'\]]{0,2}[ \t]*[:=][^,\n]*|\.sendmail\([^,\n]*,")
_PRINTED: Final = compiled(  # a whole command that prints one text: a hint for a person
    r"(?m)^[ \t]*(?:echo|printf)[ \t]+(?:-[en]+[ \t]+)?(?:\"(?:[^\"`$\n]|\$[^(\"\n])*\"|'[^'\n]*')"
    r"[ \t]*(?:1?>&2[ \t]*)?$"
)
_HIDDEN: Final = "a hidden copy"  # which nobody sees who gets the mail: none is taken for granted
_FOLDERS: Final = "a keeper of folders"  # of the user's home: a tool that tells nothing has no reason to
_RUN: Final = frozenset({"a source", "a program"})  # what such recipients give is run
_READ_AGAIN: Final = compiled(  # what is printed may be run
    r"\|[ \t]*(?:sudo[ \t]+)?(?:/[\w/]*/)?(?:ba|z|da|k)?sh\b|\b(?:eval|source|xargs)\b|sh[ \t]+-\w*c\b|<\("
    r"|(?:\}|\)|\bdone)[ \t]*[|>]"
)


@dataclass(frozen=True)
class Recipient:
    """Who is to get something: what kind of thing `to` is, and where it stands."""

    what: str
    to: str
    at: Location
    text: str


def recipients(segment: Segment) -> Iterator[Recipient]:
    """Every fixed recipient in `segment`, at most 50 of a kind, also one that is put together of texts."""
    found = list(_recipients(segment))
    if ("join" in segment.text or "+" in segment.text) and (
        text := _PUT_TOGETHER.sub(_joined, segment.text)
    ) != segment.text:
        told = {(each.to, each.at.line) for each in found}
        joined = _recipients(replace(segment, text=text))
        found += (each for each in joined if (each.to, each.at.line) not in told)
    yield from found


def _recipients(segment: Segment) -> Iterator[Recipient]:
    yield from _named(segment)
    patterns, kinds = _compiled()
    data = segment.text.encode("utf-8", "replace")
    near = patterns.candidates(data)
    if not near:
        return
    placeholder, printed = _placeholder(), _printed(segment)
    for index in near:
        for hit in patterns.find(index, data, _MOST):
            start, end = hit.groups["to"]
            to = data[start:end].decode("utf-8", "replace")
            if placeholder.search(to):
                continue
            first = len(data[: hit.start].decode("utf-8", "replace"))
            last = len(data[:end].decode("utf-8", "replace"))
            if kinds[index] in _RUN and any(begin <= first < done for begin, done in printed):
                continue
            yield Recipient(kinds[index], to, segment.locate(first, last), segment.text[first:last][:200])


def _joined(found: re.Match[str]) -> str:
    """One text for ``["a", "b"].join("@")``, ``"@".join(["a", "b"])`` or ``"a" + "@" + "b"``, as long as it was."""
    texts = [text[1:-1] for text in _TEXT.findall(found["list"] or found["items"] or found["sum"])]
    between = "" if found["sum"] else (found["after"] or found["before"] or "")
    joined = f'"{between.join(texts)}"'
    return joined.ljust(len(found[0])) if len(joined) <= len(found[0]) and "\n" not in found[0] else found[0]


def _printed(segment: Segment) -> list[tuple[int, int]]:
    """Where a script prints a hint: commands that print one text, in a script that runs nothing it prints."""
    if segment.context is not Context.SHELL or _READ_AGAIN.search(_PRINTED.sub("", segment.text)):
        return []
    return [found.span() for found in _PRINTED.finditer(segment.text)]


def _named(segment: Segment) -> Iterator[Recipient]:
    """Fixed addresses that have a name, by which a mail's recipients call them, and those that a decoder makes."""
    given: dict[str, str] | None = None
    for copied in islice(_COPIED.finditer(segment.text), _MOST):
        if given is None:
            given = names_given(segment.text)
        stated = _SENDER.sub("", copied[0])
        told = with_given(stated, given)
        for found in _SPELLED.finditer(told, len(stated)):
            at = segment.text.find(found[0])
            if not _placeholder().search(found["to"]):
                yield Recipient("an address", found["to"], segment.locate(at, at + len(found[0])), found[0][:200])
        if (made := _DECODED.search(told)) is not None:
            yield Recipient(_HIDDEN, made[0], segment.locate(copied.start(), copied.end()), copied[0].strip()[:200])


def declared_sources(file: SourceFile) -> Iterator[Recipient]:
    """The places outside of the public registries that a manifest takes packages from."""
    for what, name, pattern in _sources():
        if file.text is None or not name.search(file.known_as):
            continue
        whole = Segment(file.path, Context.CONFIG, file.text, anchor=file.place)
        for found in islice(pattern.finditer(file.text), _MOST):
            to = found["to"] if "://" in found["to"] else f"https://{found['to']}"
            if not _is_public(to):
                at = whole.locate(found.start("to"), found.end("to"))
                yield Recipient(what, to, at, found[0].strip()[:200])


def named_nowhere(found: Recipient, documents: Documents) -> bool:
    """True when no document names the recipient, its domain or its host; what vendors document names itself."""
    if (
        (documents.silent and found.what not in {_HIDDEN, _FOLDERS})
        or documents.holds(found.to)
        or (found.what in _RUN and is_installer(found.to))
    ):
        return False
    if found.what in {"an address", _HIDDEN}:
        return not documents.names(found.to.rpartition("@")[2], exact=True)
    if found.what == _FOLDERS:
        host = host_of(found.to)
        return not is_near(host.name) and not documents.names(host.name)
    if "://" in found.to and found.what != "a channel":
        host = host_of(found.to)
        if found.what == "a program" and _is_public(found.to):
            return False
        return not host.local and not documents.names(host.name)
    return True


def is_placeholder(to: str) -> bool:
    """True for what stands for a recipient of the user's own."""
    return _placeholder().search(to) is not None


@cache
def _compiled() -> tuple[PatternSet, tuple[str, ...]]:
    entries: list[dict[str, Any]] = table("acts")["recipients"]
    return PatternSet([each["pattern"] for each in entries]), tuple(each["what"] for each in entries)


@cache
def _sources() -> tuple[tuple[str, re.Pattern[str], RarePattern], ...]:
    entries: list[dict[str, Any]] = table("acts")["sources"]
    return tuple(
        (each.get("what", "a source"), compiled(each["file"]), RarePattern(compiled(each["pattern"], re.MULTILINE)))
        for each in entries
    )


@cache
def _public() -> frozenset[str]:
    return frozenset([*table("acts")["mirrors"], *table("packages")["registries"]])


def _is_public(address: str) -> bool:
    """True for the registries and mirrors that whole communities use."""
    host = host_of(address).name
    return host in _public() or any(host.endswith(f".{each}") for each in _public())


@cache
def _placeholder() -> re.Pattern[str]:
    return compiled(table("acts")["placeholder_recipient"])

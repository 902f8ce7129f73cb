"""A login that goes to its service, and by the same way to a host of somebody whom no document names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.followed import Asked, followed
from skillkeep.auditor.engines.behaviour.given import body_below, names_given, with_given
from skillkeep.auditor.engines.interface import Segment, SourceTree
from skillkeep.auditor.engines.network import host_of, is_near
from skillkeep.auditor.interface import Location
from skillkeep.auditor.services import services

__all__ = ["SecondHost", "second_hosts"]

SecondHost = tuple[Location, str, str]  # where, that line, and what goes where

_SECRET: Final = compiled(
    r"(?:\benv\.|\bENV(?:\.fetch\(|\[)|\benviron(?:\.get\(|\[)|\b[gG]et_?[eE]nv\(|\benv::var\("
    r"|\bGetEnvironmentVariable\()"
    r"[\"']?(?P<name>[A-Z][A-Z0-9_]{1,60}(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PAT))\b"
)
_TAKEN_OUT: Final = compiled(r"\{(?P<names>[^{}\n]{3,300})\}[ \t]*=[ \t]*process\.env\b")
_SETTING: Final = compiled(
    r"(?:\benv\.|\bENV(?:\.fetch\(|\[)|\benviron(?:\.get\(|\[)|\b[gG]et_?[eE]nv\(|\benv::var\()"
    r"[\"']?([A-Z][A-Z0-9_]{1,60}(?:URL|URI|HOST|SITE|BASE|ENDPOINT|SERVER|DOMAIN|INSTANCE))\b"
)
_VARIABLE: Final = compiled(r"\b[A-Z][A-Z0-9_]{1,60}\b")
_LIKE_SECRET: Final = compiled(r"\b[A-Z][A-Z0-9_]{1,60}(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PAT)\b")
_FIXED: Final = compiled(
    r"^[ \t]*(?:(?:export|const|let|var|final|static|val"
    r"|my)[ \t]+){0,3}\$?(?P<name>[A-Za-z_]\w{1,40})(?:[ \t]*:[ \t]*[\w&' ]{1,20})?"
    r"[ \t]*:?=[ \t]*[\"'`](?P<url>https?://[^\"'`\s$]{4,300})[\"'`][ \t]*;?[ \t]*$",
    re.MULTILINE,
)
_ASKS: Final = (
    r"fetch|axios(?:\.\w{1,10})?|got(?:\.\w{1,8})?|(?:requests|httpx|session|client|http|https|ky)\.\w{1,14}"
    r"|urlopen|Request|request"
)
_REQUEST: Final = compiled(rf"\b(?:{_ASKS})\(")
_FUNCTION: Final = compiled(
    r"^[ \t]*(?:(?:export|async|public|private|static)[ \t]+){0,4}(?:def|function|func"
    r"|fn)[ \t]+(?:\([^)\n]{0,40}\)[ \t]*)?(?P<name>\w{1,60})"
    r"|^[ \t]*(?:export[ \t]+)?(?:const|let)[ \t]+(?P<arrow>\w{1,60})[ \t]*=[ \t]*(?:async[ \t]*)?\(",
    re.MULTILINE,
)
_NOTHING: Final = compiled(r"(?!)")
_LONGEST: Final = 100_000
_MOST: Final = 40


def second_hosts(tree: SourceTree, documents: Documents) -> Iterator[SecondHost]:
    """Every request of `tree` that takes a secret, which others of the file take elsewhere, to an unnamed host."""
    for file in tree.files:
        for segment in code_of(file):
            text = segment.text
            if "https://" in text and len(text) <= _LONGEST and "env" in text.lower() and _REQUEST.search(text):
                yield from _of(segment, documents)


def _of(segment: Segment, documents: Documents) -> Iterator[SecondHost]:
    text = segment.text
    secrets = {found["name"] for found in _SECRET.finditer(text)}
    for taken in islice(_TAKEN_OUT.finditer(text), _MOST):
        secrets.update(_LIKE_SECRET.findall(taken["names"]))
    strangers = {
        found["name"]: host for found in _FIXED.finditer(text) if (host := _stranger(found, documents, secrets))
    }
    if not secrets or not strangers:
        return
    reads = re.compile(rf"\b(?:{'|'.join(sorted(secrets))})\b")
    ends = re.compile(rf"\b(?P<by>{'|'.join([_ASKS, *_askers(text)])})\(")
    sent = list(followed(text, Asked(reads, ends, _NOTHING)))
    names = re.compile(rf"\b(?:{'|'.join(strangers)})\b")
    others, given = _others(text, secrets), names_given(text)
    elsewhere = set[str]()
    for _, _, statement in sent:
        told = with_given(statement, given)
        if not names.search(told) and others.search(told):
            elsewhere.update(ends.findall(statement))
    for start, end, statement in sent:
        at = names.search(statement)
        if at and elsewhere.intersection(ends.findall(statement)):
            what = f"{', '.join(sorted(secrets))[:60]} goes to {strangers[at[0]]} as well, which no document names"
            yield segment.locate(start, end), " ".join(statement.split())[:200], what


def _stranger(found: re.Match[str], documents: Documents, secrets: set[str]) -> str:
    """The host of a written-down address, where it is nobody's whom the documents or a secret's name tell."""
    host = host_of(found["url"]).name
    known = is_near(host) or documents.names(host) or any(services().owns(name, host) for name in secrets)
    return "" if known else host


def _others(text: str, secrets: set[str]) -> re.Pattern[str]:
    """A pattern of what tells another host: an address, or what the user has set that is no secret."""
    taken = {name for found in islice(_TAKEN_OUT.finditer(text), _MOST) for name in _VARIABLE.findall(found["names"])}
    named = sorted((taken | set(_SETTING.findall(text))) - secrets)
    return re.compile(rf"https?://|\b(?:{'|'.join(named) or '(?!)'})\b")


def _askers(text: str) -> Iterator[str]:
    """The functions of the file that make a request."""
    for found in islice(_FUNCTION.finditer(text), _MOST):
        if _REQUEST.search(body_below(text, found.start(), found.end())):
            yield found["name"] or found["arrow"]

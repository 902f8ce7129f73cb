"""Report formats with hostile findings: each document stays well formed, and shows nothing a terminal would obey."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from support.reports import EVIL, Page, finding, report

from fuzzing.target import Target
from skillkeep.auditor.interface import (
    Capability,
    Confidence,
    Finding,
    LedgerEntry,
    Location,
    Severity,
    Suppression,
)
from skillkeep.auditor.report.formats import find_format, format_names
from skillkeep.auditor.report.interface import Audited, Style
from skillkeep.text import escape

_SEPARATOR = b"\xfe"  # never part of UTF-8
_TAGS_THAT_ACT = {"script", "img", "iframe", "object", "embed", "link", "form", "base", "svg", "video", "audio"}
_FEW = 12
_LONGEST = 1_500  # of one text: what is longer is cut anyway, and slow to look through


def _audited(data: bytes) -> Audited:
    """A report whose every text is a piece of `data`."""
    texts = _pieces(data)
    line = data[0] if data else 0
    place = Location(next(texts), line, line and 1, line, line and 1 + len(data) % 7)
    found = Finding(
        next(texts), next(texts), Severity.FAIL, Confidence.LOW, next(texts), place, next(texts), next(texts),
        next(texts), (next(texts),), next(texts), Suppression(next(texts), next(texts), next(texts)),
    )  # fmt: skip
    plain = finding(path=next(texts), excerpt=next(texts), line=line)
    wanted = Capability(next(texts), next(texts), place)
    whole = report(found, plain, notes=(next(texts),))
    parts = {"capabilities": (wanted,), "ledger": (LedgerEntry(next(texts), next(texts), "failed", next(texts)),)}
    lines = [next(texts).replace("\n", " ") for _ in range(4)]
    return Audited(next(texts), type(whole)(**{**vars(whole), **parts}), lambda _path: lines, next(texts))


def _pieces(data: bytes) -> Iterator[str]:
    pieces = [piece[:_LONGEST].decode("utf-8", "surrogateescape") for piece in data[1:].split(_SEPARATOR)]
    while True:
        yield from pieces


def _rendered(name: str, data: bytes) -> None:
    each = _audited(data)
    text = find_format(name).render((each, each), Style())
    text.encode("utf-8")
    _CHECKS[name](text)


def _shown(text: str) -> None:
    odd = {char for char in text if char not in "\n\ufe0f" and escape(char) != char}
    assert not odd, f"a reader would obey {sorted(odd)[:_FEW]}"


def _json(text: str) -> None:
    assert text.isascii()
    assert json.loads(text)["schema"]


def _sarif(text: str) -> None:
    assert text.isascii()
    for run in json.loads(text)["runs"]:
        for result in run["results"]:
            uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert not uri.startswith(("/", "//")), uri
            assert ":" not in uri.partition("/")[0], "a path must not be read as a scheme"


def _github(text: str) -> None:
    _shown(text)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in text.split("\n") if line)


def _markdown(text: str) -> None:
    from markdown_it import MarkdownIt

    _shown(text)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).enable("table").parse(text)
    inner = [token for block in tokens for token in (block, *(block.children or ()))]
    odd = {token.type for token in inner} & {"html_block", "html_inline", "image", "fence", "table_open", "code_block"}
    assert not odd, f"the tool's text became {odd}"
    links = [str(token.attrs["href"]) for token in inner if token.type == "link_open"]
    assert all(link.startswith("https://") and "evil" not in link for link in links)


def _html(text: str) -> None:
    _shown(text)
    page = Page(text)
    assert page.tags.isdisjoint(_TAGS_THAT_ACT)
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in {"src", "style"}]
    assert all(link.startswith(("#", "https://")) for link in page.values("href"))
    assert len(page.values("id")) == len(set(page.values("id")))


_CHECKS = {"github": _github, "html": _html, "json": _json, "markdown": _markdown, "sarif": _sarif, "text": _shown}
assert set(_CHECKS) == set(format_names()), "a new format needs a check"


def _seeds() -> list[bytes]:
    evil = EVIL.encode("utf-8", "surrogateescape")
    words = _SEPARATOR.join(
        [b"a.py", b"rule", b"title", evil, b"x" * 500, "é\u202e".encode(), b"``` ~~~ <b>", b"a|b\n# c"]
    )
    return [b"\x01" + evil, b"\x00" + words, b"\x02C:/x" + _SEPARATOR + b"//evil" + _SEPARATOR + b"\xff\xf0"]


TARGETS = tuple(
    Target(f"report-{name}", f"the {name} report of hostile findings", partial(_rendered, name), _seeds)
    for name in _CHECKS
)

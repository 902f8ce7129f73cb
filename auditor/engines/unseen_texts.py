"""What a page says where no reader of it looks: attributes, titles of links, names of pictures, declarations, codes.

An agent reads the page's source, so each of these is an instruction as the prose around it is. In their place the
marks around them end sentences and commands early; by themselves they are read as they are meant.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["unseen_texts"]

_MOST: Final = 100
_SHORTEST: Final = 3  # words of an order
_LEAST, _LONGEST = 12, 4_000  # characters of a text
_ATTRIBUTE: Final = compiled(
    r"(?<=[\s{\"'])(?P<name>[A-Za-z_:@][\w:.-]{0,40})=(?:\"(?P<double>[^\"]{12,4000})\"|'(?P<single>[^']{12,4000})')"
)
_NO_TEXT: Final = frozenset({"href", "src", "srcset", "class", "style", "d", "points", "viewbox", "transform", "sizes"})
_TITLE: Final = compiled(  # of a link, a picture or the definition of one
    r"(?:\]\([^()\s]{0,400}|(?m:^)[ \t>]{0,12}\[[^\]\n]{1,200}\]:[ \t]*\n?[ \t]*\S{1,400})[ \t]*\n?[ \t>]*"
    r"(?:\"(?P<double>[^\"]{12,4000})\"|'(?P<single>(?:[^'\n]|'(?=\w)){12,4000})'|\((?P<round>[^()]{12,4000})\))"
)
_DECLARED: Final = compiled(r"<(?:!(?!--|DOCTYPE|\[CDATA)|\?)[\w-]{0,40}", re.IGNORECASE)
_CODES: Final = compiled(r"(?:&#(?:\d{2,7}|[xX][0-9a-fA-F]{2,6});?[ \n]?){12,4000}")
_ELEMENT: Final = compiled(
    r"<(?P<tag>[a-z][\w-]{0,20})\b[^<>]{0,400}?(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden"
    r"|(?<=\s)hidden\b|opacity\s{0,9}:\s{0,9}0|font-size\s{0,9}:\s{0,9}0|aria-hidden"
    r"|color\s{0,9}[:=]\s{0,9}[\"']?(?:white|#fff))[^>]{0,400}>"
    r"|<(?P<inert>template|noscript|script|style|noframes|iframe|object)\b[^>]{0,400}>",
    re.IGNORECASE,
)
_STYLED: Final = compiled(r"\bcontent[ \t]*:[ \t]*(?:\"(?P<double>[^\"\n]{12,4000})\"|'(?P<single>[^'\n]{12,4000})')")
_QUOTED: Final = compiled(r"(?m)^[ \t]*(?:>[ \t]?)+")
_FENCE: Final = compiled(r"(?m)^[ \t]*(?:`{3,}|~{3,})[^\n]*$")
_MARKS: Final = ('="', "='", "](", "]:", "![", "<!", "<?", "&#", "</")


def unseen_texts(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each stands in `text`, and what it says with its codes put in; at most a hundred."""
    if any(mark in text for mark in _MARKS):
        yield from islice(_found(text), _MOST)


def _found(text: str) -> Iterator[tuple[int, int, str]]:
    for start, end, said in _said(text):
        if text[start - 1 : start] == "`" == text[end : end + 1]:  # code in a line, which is shown
            continue
        plain = _FENCE.sub("\n", _QUOTED.sub("", html.unescape(said[:_LONGEST]))).strip("? \n\t")
        if len(said) >= _LEAST and len(plain.split()) >= _SHORTEST:
            yield start, end, plain


def _said(text: str) -> Iterator[tuple[int, int, str]]:
    for pattern in (_TITLE, _STYLED, _ATTRIBUTE):
        for match in pattern.finditer(text):
            told = match.groupdict()
            if str(told.get("name")).lower() not in _NO_TEXT:
                yield match.start(), match.end(), next(filter(None, map(told.get, ("double", "single", "round"))))
    yield from _between(text, "![", "]")
    yield from _between(text, "<!--", "-->", open_ended=True)
    yield from _declarations(text)
    yield from _elements(text)
    for match in _CODES.finditer(text) if "&#" in text else ():
        yield match.start(), match.end(), match[0]


def _between(text: str, first: str, last: str, *, open_ended: bool = False) -> Iterator[tuple[int, int, str]]:
    """What stands between the marks, each pair looked for once; `open_ended`, the end of the text ends it, too."""
    at = text.find(first)
    while at >= 0:
        inside = at + len(first)
        end = text.find(last, inside)
        if end < 0:
            if open_ended:
                yield at, len(text), text[inside:]
            return
        yield at, end + len(last), text[inside:end]
        at = text.find(first, end)


def _declarations(text: str) -> Iterator[tuple[int, int, str]]:
    end = 0
    for match in _DECLARED.finditer(text):
        if match.start() < end:
            continue
        end = text.find(">", match.end()) + 1
        if not end:
            return
        yield match.start(), end, text[match.end() : end - 1]


def _elements(text: str) -> Iterator[tuple[int, int, str]]:
    """What is in elements that are not shown."""
    folded = text.lower() if "</" in text else ""
    if len(folded) != len(text):
        folded = text if folded else ""
    end, unclosed = 0, set[str]()
    for match in _ELEMENT.finditer(text) if folded else ():
        tag = (match["tag"] or match["inert"]).lower()
        if match.start() < end or tag in unclosed:
            continue
        closed = folded.find(f"</{tag}", match.end())
        if closed < 0:
            unclosed.add(tag)
            continue
        end = closed
        yield match.start(), closed, text[match.end() : closed]

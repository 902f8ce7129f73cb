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

from skillkeep.auditor.lazily import lazily

__all__ = ["unseen_texts"]

_MOST: Final = 100
_SHORTEST: Final = 3  # words of an order
_ATTRIBUTE: Final = lazily(
    r"(?<=[\s{\"'])(?P<name>[A-Za-z_:@][\w:.-]{0,40})=(?:\"(?P<double>[^\"]{12,4000})\"|'(?P<single>[^']{12,4000})')"
)
_NO_TEXT: Final = frozenset({"href", "src", "srcset", "class", "style", "d", "points", "viewbox", "transform", "sizes"})
_TITLE: Final = lazily(  # of a link, a picture or the definition of one
    r"(?:\]\([^()\s]{0,400}|(?m:^)[ \t>]{0,12}\[[^\]\n]{1,200}\]:[ \t]*\n?[ \t]*\S{1,400})[ \t]*\n?[ \t>]*"
    r"(?:\"(?P<double>[^\"]{12,4000})\"|'(?P<single>(?:[^'\n]|'(?=\w)){12,4000})'|\((?P<round>[^()]{12,4000})\))"
)
_PICTURE: Final = lazily(r"!\[(?P<alt>[^\]]{12,2000})\]")
_DECLARED: Final = lazily(r"<(?:!(?!--|DOCTYPE|\[CDATA)|\?)[\w-]{0,40}(?P<said>[^>]{12,4000})>", re.IGNORECASE)
_COMMENT: Final = lazily(r"<!--(?P<said>[\s\S]{12,4000}?)(?:-->|\Z)")
_CODES: Final = lazily(r"(?:&#(?:\d{2,7}|[xX][0-9a-fA-F]{2,6});?[ \n]?){12,4000}")
_ELEMENT: Final = lazily(
    r"<(?P<tag>[a-z][\w-]{0,20})\b[^>]{0,400}?(?:display\s*:\s*none|visibility\s*:\s*hidden|(?<=\s)hidden\b|opacity\s*:\s*0"
    r"|font-size\s*:\s*0|aria-hidden|color\s*[:=]\s*[\"']?(?:white|#fff))[^>]{0,400}>(?P<said>[\s\S]{12,4000}?)</(?P=tag)",
    re.IGNORECASE,
)
_INERT: Final = lazily(
    r"<(?P<tag>template|noscript|script|style|noframes|iframe|object)\b[^>]{0,400}>(?P<said>[\s\S]{12,4000}?)</(?P=tag)",
    re.IGNORECASE,
)
_STYLED: Final = lazily(r"\bcontent[ \t]*:[ \t]*(?:\"(?P<double>[^\"\n]{12,4000})\"|'(?P<single>[^'\n]{12,4000})')")
_QUOTED: Final = re.compile(r"(?m)^[ \t]*(?:>[ \t]?)+")
_FENCE: Final = re.compile(r"(?m)^[ \t]*(?:`{3,}|~{3,})[^\n]*$")
_MARKS: Final = ('="', "='", "](", "]:", "![", "<!", "<?", "&#", "</")


def unseen_texts(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each stands in `text`, and what it says with its codes put in; at most a hundred."""
    if any(mark in text for mark in _MARKS):
        yield from islice(_found(text), _MOST)


def _found(text: str) -> Iterator[tuple[int, int, str]]:
    for pattern in (_TITLE, _PICTURE, _DECLARED, _COMMENT, _ELEMENT, _INERT, _STYLED, _ATTRIBUTE):
        for match in pattern.finditer(text):
            told = match.groupdict()
            if str(told.get("name")).lower() in _NO_TEXT:
                continue
            said = next(told[key] for key in ("double", "single", "round", "alt", "said") if told.get(key))
            said = _FENCE.sub("\n", _QUOTED.sub("", html.unescape(said))).strip("? \n\t")
            if len(said.split()) >= _SHORTEST:
                yield match.start(), match.end(), said
    for match in _CODES.finditer(text) if "&#" in text else ():
        said = html.unescape(match[0])
        if len(said.split()) >= _SHORTEST:
            yield match.start(), match.end(), said

"""Which pages of a tool tell somebody what to do, and which are only looked things up in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from skillkeep.auditor.engines.tables import table

__all__ = ["is_of_reference", "looked_up_pages"]

_NEAR = 80
_NAMED = re.compile(r"[^\s()\[\]<>\"'`|,;]{1,200}\.(?:mdx?|markdown|rst|adoc|asc|txt)\b", re.IGNORECASE)


def looked_up_pages(texts: Mapping[str, str]) -> frozenset[str]:
    """Paths of the pages that nobody is told to carry out; `texts` are those of all files by path.

    The others instruct: by their own name, or because such a page sends its reader there to act. Where no page
    instructs by its name, none is only looked up in: somebody gave them for a reason.
    """
    words = _patterns()
    pages = {path for path in texts if words.page.search(path)}
    found = {path for path in pages if words.instructing.search(path)}
    if not found:
        return frozenset()
    fresh = found
    while fresh:
        named = {name for path in fresh for name in _sent_to(texts[path])}
        fresh = {path for path in pages - found if path.rpartition("/")[2].lower() in named}
        found |= fresh
    return frozenset(pages - found)


def is_of_reference(path: str) -> bool:
    """True for a page in a folder of reference that does not instruct by its name."""
    return bool(_patterns().reference.search(path)) and not _patterns().instructing.search(path)


def _sent_to(text: str) -> set[str]:
    """Names of the pages that stand beside a word such as "run" or "before", within `_NEAR` characters of a line."""
    found = set()
    for line in text.splitlines():
        names = list(_NAMED.finditer(line))
        if names:
            at = [order.start() for order in _patterns().order.finditer(line)]
            found |= {
                re.split(r"[/\\]", name[0])[-1].lower()
                for name in names
                if any(name.start() - _NEAR <= place <= name.end() + _NEAR for place in at)
            }
    return found


class _Patterns(NamedTuple):
    page: re.Pattern[str]
    instructing: re.Pattern[str]
    order: re.Pattern[str]
    reference: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    words = table("verdict")
    return _Patterns(*(re.compile(words[name]) for name in ("pages", "instructing_pages", "orders", "reference_pages")))

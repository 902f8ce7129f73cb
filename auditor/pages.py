"""Which pages of a tool tell somebody what to do, and which are only looked things up in."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import table

__all__ = ["is_data", "is_instructing", "is_of_reference", "is_told_by_name", "looked_up_pages"]

_KINDS = ("pages", "instructing_pages", "orders", "reference_pages", "data_pages", "stored_data")
_NEAR = 80
_LONGEST = 200
_TOKEN = compiled(r"[^\s()\[\]<>\"'`|,;]+")
_NOT_NAME = compiled(r"[^\w.-]+")
_ENDING = compiled(r"\.(?:mdx?|markdown|rst|adoc|asc|txt)\b", re.IGNORECASE)


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
    records = _records(texts)
    left: dict[str, set[str]] = defaultdict(set)
    for path in pages - found:
        left[path.rpartition("/")[2].lower()].add(path)
    fresh = found
    while fresh:
        named = {name for path in fresh for name in _sent_to(texts[path])}
        fresh = {path for name in named for path in left.pop(name, ())}
        found |= fresh
    told = "\n".join(texts[path] for path in found).lower() if records else ""
    named = {token.strip("._-") for token in _NOT_NAME.split(told)}
    looked_up = (path for path in records if path.rpartition("/")[2].lower().strip("._-") not in named)
    return frozenset(pages - found).union(looked_up)


def is_data(path: str) -> bool:
    """True for a file of data, which may be one record of many."""
    return bool(_patterns().data.search(path))


def _records(texts: Mapping[str, str]) -> list[str]:
    """Paths of the files of data that stand among many of their kind in one folder, without those that instruct."""
    words, kinds = _patterns(), defaultdict(list)
    for path in texts:
        if words.data.search(path) and not words.instructing.search(path):
            kinds[path.rpartition("/")[0], path.rpartition(".")[2].lower()].append(path)
    many: int = table("verdict")["many"]
    return [path for some in kinds.values() if len(some) >= many for path in some]


def is_of_reference(path: str) -> bool:
    """True for a page in a folder of reference that does not instruct by its name."""
    return bool(_patterns().reference.search(path)) and not is_instructing(path)


def is_instructing(path: str) -> bool:
    """True for a page that tells an agent or its user what to do by its name: ``SKILL.md``, a command, a readme."""
    return bool(_patterns().instructing.search(path))


def is_told_by_name(path: str) -> bool:
    """False for a page that does not say by its name that it tells somebody what to do, and for data that a program
    keeps; True for any other file."""
    words = _patterns()
    return not (words.page.search(path) or words.stored.search(path)) or is_instructing(path)


def _sent_to(text: str) -> set[str]:
    """Names of the pages that stand beside a word such as "run" or "before", within `_NEAR` characters of a line."""
    found = set()
    for line in text.splitlines():
        names = list(_names(line))
        if names:
            orders = [order.start() for order in _patterns().order.finditer(line)]
            for start, end in names:
                place = bisect_left(orders, start - _NEAR)
                if place < len(orders) and orders[place] <= end + _NEAR:
                    found.add(re.split(r"[/\\]", line[start:end])[-1].lower())
    return found


def _names(line: str) -> Iterator[tuple[int, int]]:
    """Where names of pages start and end: each as long as can be, `_LONGEST` characters before its ending at most.

    The endings are looked for first, so that a long line takes linear time.
    """
    if not _ENDING.search(line):
        return
    for token in _TOKEN.finditer(line):
        begin, start, end = token.start(), 0, 0
        for ending in _ENDING.finditer(line, *token.span()):
            if end and ending.start() > start + _LONGEST:
                yield start, end
                begin, end = end, 0
            if ending.start() > begin:
                start = start if end else max(begin, ending.start() - _LONGEST)
                end = ending.end()
        if end:
            yield start, end


class _Patterns(NamedTuple):
    page: re.Pattern[str]
    instructing: re.Pattern[str]
    order: re.Pattern[str]
    reference: re.Pattern[str]
    data: re.Pattern[str]
    stored: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    words = table("verdict")
    return _Patterns(*(compiled(words[name]) for name in _KINDS))

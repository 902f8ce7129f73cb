"""Which files of a tool import each other, told from their import lines alone, so that few are parsed twice."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from skillkeep.auditor.engines.interface import Segment

__all__ = ["groups", "may_be_linked"]

_FROM: Final = r"from[ \t]+([.\w]+)[ \t]+import[ \t]*"
_PLAIN: Final = r"import[ \t]+([\w., \t]+)"
_IMPORT: Final = re.compile(
    rf"^[ \t;]*(?:{_FROM}(\([^)]{{0,4000}}|[^\n#;]*)|{_PLAIN})|(?<=[;:])[ \t]*(?:{_FROM}([^\n#;]*)|{_PLAIN})",
    re.MULTILINE,
)
_DYNAMIC: Final = ("import_module", "__import__", "spec_from_file_location", "run_path", "run_module", "sys.modules")
_WORD: Final = re.compile(r"\w+")
_STANDARD: Final = sys.stdlib_module_names


def imported(text: str) -> set[str]:
    """Every word of the file's import lines: its modules, their packages, and the names taken from them."""
    words: set[str] = set()
    for parts in _IMPORT.findall(text):
        for part in parts:
            words.update(_WORD.findall(part))
    return words


def may_be_linked(text: str) -> bool:
    """True when the file imports something that is not of the standard library, by name or at run time."""
    tops = {(first or second).strip() for first, _, third, fourth, _, sixth in _IMPORT.findall(text)
            for first, second in ((first, third), (fourth, sixth))}  # fmt: skip
    modules = [name.strip().partition(" ")[0] for each in tops if each for name in each.split(",")]
    return any(name.startswith(".") or name.partition(".")[0] not in _STANDARD for name in modules) or _imports_late(
        text
    )


def _imports_late(text: str) -> bool:
    return any(word in text for word in _DYNAMIC)


def groups(segments: Sequence[Segment]) -> list[list[Segment]]:
    """The files that import each other directly or by way of others; single files are left out. Small groups first."""
    owners: dict[str, list[int]] = defaultdict(list)
    for number, segment in enumerate(segments):
        *folders, name = segment.path.split("/")
        stem = name.partition(".")[0]
        owners[folders[-1] if stem == "__init__" and folders else stem].append(number)
    parents = list(range(len(segments)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    for number, segment in enumerate(segments):
        for other in _neighbours(segment, owners):
            parents[root(other)] = root(number)
    found: dict[int, list[Segment]] = defaultdict(list)
    for number, segment in enumerate(segments):
        found[root(number)].append(segment)
    linked = [group for group in found.values() if len(group) > 1]
    return sorted(linked, key=lambda group: sum(len(segment.text) for segment in group))


def _neighbours(segment: Segment, owners: dict[str, list[int]]) -> Iterable[int]:
    """The files whose module's name this one imports; every file whose name it mentions, when it imports late."""
    words = imported(segment.text)
    if _imports_late(segment.text):
        words.update(_WORD.findall(segment.text))
    for word in words & owners.keys():
        yield from owners[word]

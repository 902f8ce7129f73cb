"""Which files of a tool import each other, told from what they import, so that few are parsed twice."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Module", "groups"]

_LATE: Final = ("import_module", "__import__", "spec_from_file_location", "run_path", "run_module", "sys.modules")
_WORD: Final = re.compile(r"\w+")
_STANDARD: Final = sys.stdlib_module_names


@dataclass(frozen=True)
class Module:
    """A file of the tool: `size` in characters, and every word that may name a module it imports."""

    path: str
    size: int
    words: frozenset[str]
    foreign: bool  # whether it imports something that is not of the standard library, by name or at run time

    @classmethod
    def of(cls, path: str, text: str, imports: Iterable[str]) -> Module:
        """What a file imports (`Collected.imports`), and all its words when it imports late."""
        words, late = {part for name in imports for part in name.split(".")}, _imports_late(text)
        foreign = late or any(name.partition(".")[0] not in _STANDARD for name in imports)
        return cls(path, len(text), frozenset(words.union(_WORD.findall(text) if late else ())), foreign)


def _imports_late(text: str) -> bool:
    return any(word in text for word in _LATE)


def groups(modules: Sequence[Module]) -> list[list[Module]]:
    """The files that import each other directly or by way of others; single files are left out. Small groups first."""
    owners: dict[str, list[int]] = defaultdict(list)
    for number, module in enumerate(modules):
        *folders, name = module.path.split("/")
        stem = name.partition(".")[0]
        owners[folders[-1] if stem == "__init__" and folders else stem].append(number)
    parents = list(range(len(modules)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    for number, module in enumerate(modules):
        for word in module.words & owners.keys():
            for other in owners[word]:
                parents[root(other)] = root(number)
    found: dict[int, list[Module]] = defaultdict(list)
    for number, module in enumerate(modules):
        found[root(number)].append(module)
    linked = [group for group in found.values() if len(group) > 1]
    return sorted(linked, key=lambda group: sum(module.size for module in group))

"""Which files of a tool import each other, told from what they import, so that few are parsed twice."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from skillkeep.auditor.compiled import compiled

__all__ = ["Module", "Snippet", "groups", "words_of_importers"]

_LATE: Final = (
    "import_module", "__import__", "spec_from_file_location", "run_path", "run_module", "sys.modules", "load_module",
    "load_source", "exec_module", "resolve_name",
)  # fmt: skip
_WORD: Final = compiled(r"\w+")
_STANDARD: Final = sys.stdlib_module_names


@dataclass(frozen=True)
class Module:
    """A file of the tool: `size` in characters, and every word that may name a module it imports."""

    path: str
    size: int
    words: frozenset[str]
    foreign: bool  # whether it imports something that is not of the standard library, by name or at run time

    @classmethod
    def of(cls, path: str, text: str, imports: Iterable[str]) -> Self:
        """What a file imports (`Collected.imports`), and all its words when it imports late."""
        words, late = {part for name in imports for part in name.split(".")}, _imports_late(text)
        foreign = late or any(name.partition(".")[0] not in _STANDARD for name in imports)
        return cls(path, len(text), frozenset(words.union(_WORD.findall(text) if late else ())), foreign)

    @property
    def stem(self) -> str:
        """What an import names it by: a package by its folder."""
        *folders, name = self.path.split("/")
        stem = name.partition(".")[0]
        return folders[-1] if stem == "__init__" and folders else stem


@dataclass(frozen=True)
class Snippet(Module):
    """Python that is no file: a block of a page, ``python3 -c``. `said` are all its words."""

    said: frozenset[str] = frozenset()

    @classmethod
    def of(cls, path: str, text: str, imports: Iterable[str]) -> Self:
        """As for a file."""
        known = Module.of(path, text, imports)
        return cls(path, known.size, known.words, known.foreign, frozenset(_WORD.findall(text)))


def words_of_importers(module: Module, snippets: Iterable[Snippet]) -> frozenset[str]:
    """The words of all `snippets` that may import `module`."""
    return frozenset().union(*(each.said for each in snippets if module.stem in each.words))


def _imports_late(text: str) -> bool:
    return any(word in text for word in _LATE)


def groups(modules: Sequence[Module]) -> list[list[Module]]:
    """The files that import each other directly or by way of others; single files are left out. Small groups first."""
    owners: dict[str, list[int]] = defaultdict(list)
    for number, module in enumerate(modules):
        owners[module.stem].append(number)
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

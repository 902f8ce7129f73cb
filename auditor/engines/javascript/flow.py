"""A small taint inside one JavaScript file: which secrets, downloads and decoders a range of tokens mentions."""

from __future__ import annotations

from typing import Any, Final

from skillkeep.auditor.engines.javascript.reader import HOLE, Chain, Reader
from skillkeep.auditor.engines.tables import secrets

__all__ = ["Flow", "variable_of"]

_MOST_TOKENS: Final = 20_000
_REACH: Final = 5_000
_DECODERS: Final = frozenset({"atob", "Buffer.from", "String.fromCharCode", "unescape"})


def variable_of(path: str, table: dict[str, Any]) -> str | None:
    """The environment variable that a path reads: ``process.env.NAME``; ``?`` when it is chosen at run time."""
    for base in table["environment"]:
        if path.startswith(base + "."):
            return path[len(base) + 1 :].partition(".")[0].removesuffix("()")
    return None


class Flow:
    """Labels of token ranges: ``secret:<what>``, ``environment``, ``download``, ``decoded``."""

    def __init__(self, reader: Reader, table: dict[str, Any]) -> None:
        self._reader = reader
        self._table = table
        self._memo: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def labels(self, first: int, last: int) -> frozenset[str]:
        """The labels of everything in ``[first, last)`` and of the names it mentions."""
        labels, names = self._read(first, last)
        found, seen, queue = set(labels), set(names), list(names)
        while queue and len(seen) < _REACH:
            own, more = self._of_name(queue.pop())
            found |= own
            queue.extend(more - seen)
            seen |= more
        return frozenset(found)

    def _of_name(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        if name in self._memo:
            return self._memo[name]
        self._memo[name] = (frozenset(), frozenset())
        labels: set[str] = set()
        names: set[str] = set()
        for binding in self._reader.bindings.names.get(name, ()):
            if binding.path:
                continue
            chain = self._reader.chain(binding.first)
            if binding.members and not chain.calls:
                labels |= self._of_path(".".join((chain.path, *binding.members)))
                continue
            own, more = self._read(binding.first, binding.last)
            labels |= own
            names |= more
        self._memo[name] = (frozenset(labels), frozenset(names))
        return self._memo[name]

    def _read(self, first: int, last: int) -> tuple[set[str], set[str]]:
        tokens = self._reader.tokens
        labels: set[str] = set()
        names: set[str] = set()
        for at in range(first, min(last, first + _MOST_TOKENS, len(tokens.kinds))):
            if tokens.kinds[at] != "name" or (at and tokens.is_punct(at - 1, ".")):
                continue
            if tokens.values[at] in self._reader.bindings.names:
                names.add(tokens.values[at])
            chain = self._reader.chain(at)
            labels |= self._of_chain(chain)
        return labels, names

    def _of_chain(self, chain: Chain) -> set[str]:
        labels: set[str] = set()
        for part in chain.path.split("|"):
            labels |= self._of_path(part)
        for path, _first, bracket in chain.calls:
            labels |= self._of_call(path, bracket)
        return labels

    def _of_path(self, path: str) -> set[str]:
        name = variable_of(path, self._table)
        if name is not None:
            return {f"secret:{name}"} if secrets().variable(name) else set()
        return {"environment"} if path in self._table["environment"] else set()

    def _of_call(self, paths: str, bracket: int) -> set[str]:
        labels: set[str] = set()
        for path in paths.split("|"):
            if path in self._table["network"]:
                labels.add("download")
            if path in _DECODERS:
                labels.add("decoded")
            if path in self._table["read"]:
                labels |= self._of_file(bracket)
            if path in self._table["environment_calls"]:
                for argument in self._reader.arguments(bracket)[:1]:
                    name = self._reader.fold(*argument)
                    if name is not None and secrets().variable(name):
                        labels.add(f"secret:{name}")
        return labels

    def _of_file(self, bracket: int) -> set[str]:
        arguments = self._reader.arguments(bracket)
        text = self._reader.fold(*arguments[0]) if arguments else None
        what = secrets().path(text.replace(HOLE, "")) if text is not None else None
        return {f"secret:{what}"} if what is not None else set()

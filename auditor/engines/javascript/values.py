"""What an expression may stand for: qualified names, texts with holes, items of a list, functions, an object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.texts import HOLE, MAX_TEXT

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.scopes import Scope
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["MOST", "UNKNOWN", "Value", "joined", "text_value", "union"]

MOST: Final = 32  # alternatives of one kind
_MOST_TEXTS: Final = 160  # that something may say: a function that runs commands has as many callers
_LONGEST_PATH: Final = 2_000


@dataclass(frozen=True, slots=True)
class Value:
    """All that is known of a value; everything is a list of alternatives.

    `paths`: qualified names (``fs.readFile``, ``process.env``). `texts`: what it may say, with a `HOLE` for each
    part that is not known; empty when nothing is. `items`: those of a list. `functions`: their scopes. `objects`:
    object literals and the scope they stand in. `decoded`: a decoder took part. `number`: the texts are numbers.
    `loose`: members were put in, or over others, under names that are not written (``Object.assign(it, other)``).
    """

    paths: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    items: tuple[Value, ...] | None = None
    functions: tuple[Scope, ...] = ()
    objects: tuple[tuple[Node, Scope], ...] = ()
    decoded: bool = False
    number: bool = False
    loose: bool = False

    @property
    def text(self) -> str | None:
        """The only text it can be, holes included; None when there are none or several."""
        return self.texts[0] if len(self.texts) == 1 else None

    @property
    def known(self) -> tuple[str, ...]:
        """The texts that have no hole."""
        return tuple(text for text in self.texts if HOLE not in text)

    @property
    def opaque(self) -> bool:
        """True when nothing at all is known of it."""
        return not (self.paths or self.texts or self.functions or self.objects) and self.items is None

    def marked(self, decoded: bool) -> Value:
        """The same, out of a decoder when `decoded`."""
        return replace(self, decoded=True) if decoded and not self.decoded else self

    def suffixed(self, suffix: str) -> tuple[str, ...]:
        """The paths with `suffix` after each."""
        return tuple(path + suffix for path in self.paths if len(path) < _LONGEST_PATH)


UNKNOWN: Final = Value()


def text_value(text: str, *, decoded: bool = False, number: bool = False) -> Value:
    """A known text; one that is too long is not kept."""
    return Value(texts=(text,), decoded=decoded, number=number) if len(text) <= MAX_TEXT else UNKNOWN


def union(values: Iterable[Value]) -> Value:
    """What is one of `values`. Where some say a text and others nothing, a hole stands for those."""
    listed = list(values)
    if len(listed) == 1:
        return listed[0]
    texts = dict.fromkeys(text for value in listed for text in value.texts)
    if texts and any(not value.texts and value.items is None for value in listed):
        texts[HOLE] = None
    items = [value.items for value in listed if value.items is not None]
    return Value(
        tuple(dict.fromkeys(path for value in listed for path in value.paths))[:MOST],
        _bounded(list(texts)),
        items[0] if items else None,
        tuple(dict.fromkeys(each for value in listed for each in value.functions))[:MOST],
        tuple(each for value in listed for each in value.objects)[:MOST],
        any(value.decoded for value in listed),
        all(value.number for value in listed),
        any(value.loose for value in listed),
    )


def joined(parts: Iterable[Value]) -> Value:
    """The parts one after the other; unknown ones are holes, and it is unknown when all are."""
    texts = [""]
    decoded = known = False
    for part in parts:
        known = known or bool(part.texts)
        decoded = decoded or part.decoded
        tails = part.texts or (HOLE,)
        if len(texts) * len(tails) > MOST:
            tails = (tails[0],) if len(tails) == 1 else (HOLE,)
        texts = [head + tail for head in texts for tail in tails]
        if sum(map(len, texts)) > MAX_TEXT:
            return Value(texts=(HOLE,), decoded=decoded)
    return Value(texts=tuple(dict.fromkeys(texts)), decoded=decoded) if known else Value(decoded=decoded)


def _bounded(texts: list[str]) -> tuple[str, ...]:
    """Past the limit a hole stands for the rest."""
    return tuple(texts) if len(texts) <= _MOST_TEXTS else (*texts[: _MOST_TEXTS - 1], HOLE)

"""What an expression stands for: its text with a hole for every unknown part, and labels of where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

__all__ = ["HOLE", "NOTHING", "PLACE_OF_PROGRAM", "UNKNOWN", "Value", "joined", "listed"]

HOLE: Final = "\uf8ff"
NOTHING: Final[frozenset[str]] = frozenset()
PLACE_OF_PROGRAM: Final = r"\w*(?:BIN|CLI|PATH|EXE|PROGRAM|EXECUTABLE)"
"""Variables that tell where a program lies, as a pattern."""
_MOST_DIGITS: Final = 20
_LONGEST: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Value:
    """Labels: ``secret:<what>``, ``environment``, ``download``, ``decoded``.

    `items` for a list. `kind` is what the text stands for: ``int``, ``block`` (the source of a script block),
    ``bytes`` (Latin-1), or the name of an object's class in lower case.
    """

    text: str = HOLE
    labels: frozenset[str] = NOTHING
    items: tuple[Value, ...] | None = None
    kind: str = ""

    @property
    def known(self) -> bool:
        """True when nothing of the text is missing."""
        return HOLE not in self.text

    @property
    def number(self) -> int | None:
        """The whole number that it is, or None."""
        plain = self.kind == "int" and len(self.text) < _MOST_DIGITS and self.text.lstrip("-").isdecimal()
        return int(self.text) if plain else None

    def labelled(self, labels: frozenset[str]) -> Value:
        """The same with more labels."""
        return replace(self, labels=self.labels | labels) if labels - self.labels else self

    def parts(self) -> tuple[Value, ...]:
        """The items, or the value itself."""
        return self.items if self.items is not None else (self,)


UNKNOWN: Final = Value()


def joined(values: tuple[Value, ...], separator: str = "") -> Value:
    """The texts one after the other, with all labels."""
    text = separator.join(value.text for value in values)
    return Value(text if len(text) <= _LONGEST else HOLE, NOTHING.union(*(value.labels for value in values)))


def listed(values: tuple[Value, ...]) -> Value:
    """A list; its text is what a string makes of it."""
    return Value(" ".join(v.text for v in values), NOTHING.union(*(v.labels for v in values)), values)

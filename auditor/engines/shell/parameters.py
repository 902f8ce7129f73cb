"""The positional parameters of a function whose caller is known, as `shift` and `set --` change them.

Reference: POSIX.1-2024, Shell Command Language, 2.5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.values import HOLE

__all__ = ["ALL_PARAMETERS", "Given", "Parameters"]

Given = tuple[str, frozenset[str]]
"""An argument's text and its labels."""

ALL_PARAMETERS: Final = frozenset({"@", "*"})
_NOTHING: Final[frozenset[str]] = frozenset()
_FIRST_NINE: Final = "123456789"
_MOST: Final = 64
_NUMBER: Final = compiled(r"-?\d{1,4}")


@dataclass
class Parameters:
    """`given` is None where nobody knows them.

    `moving` asks what else a function can do whose `shift` stands in a loop or in a condition, which are read once and
    in a line: only the ``moving[0]``-th `shift` is made then, by ``moving[1]``; the 0-th is made before it begins.
    `shifts` counts those that are met.
    """

    given: tuple[Given, ...] | None = None
    moving: tuple[int, int] | None = None
    shifts: int = 0

    def bound(self, arguments: Sequence[Given] | None) -> dict[str, Given]:
        """Take `arguments`; what each name stands for now."""
        self.given = tuple(arguments[:_MOST]) if arguments is not None else None
        if self.given is not None and self.moving is not None and not self.moving[0]:
            self.given = self.given[self.moving[1] :]
        return self.named()

    def shifted(self, count: str) -> dict[str, Given]:
        """Take the first ones away; an unknown number of them leaves none that is known."""
        self.shifts += 1
        if self.moving is not None:
            count = str(self.moving[1]) if self.shifts == self.moving[0] else "0"
        if self.given is not None and count.isdecimal():
            self.given = self.given[int(count) :]
        elif self.given is not None:
            self.given = tuple((HOLE, labels) for _, labels in self.given)
        return self.named()

    def named(self) -> dict[str, Given]:
        """What ``$1``, ``$2``, ``$@`` … stand for, or nothing where nobody knows."""
        if self.given is None:
            return {}
        joined = " ".join(text for text, _ in self.given)
        flowing = _NOTHING.union(*(labels for _, labels in self.given))
        named = {str(number): each for number, each in enumerate(self.given, 1)}
        return {
            **dict.fromkeys(_FIRST_NINE, ("", _NOTHING)),
            **named,
            **dict.fromkeys(ALL_PARAMETERS, (joined, flowing)),
        }

    def part(self, operator: str, operands: Sequence[str]) -> tuple[Given, ...] | None:
        """``${@:2:1}``, or all of them without an operator; None where it is not known."""
        if self.given is None or not operator:
            return self.given
        numbers = [each.strip() for each in operands]
        if operator != ":" or not numbers or not all(map(_NUMBER.fullmatch, numbers)):
            return None
        first, *length = map(int, numbers)
        if (first <= 0 and (not first or -first > len(self.given))) or any(each < 0 for each in length):
            return None
        start = first - 1 if first > 0 else len(self.given) + first
        return self.given[start : start + length[0]] if length else self.given[start:]

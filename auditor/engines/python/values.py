"""What the folder knows about a value: a constant, a text with holes, one of several, or nothing.

Constants are plain Python values of harmless types (text, bytes, numbers, tuples, dictionaries). A `HOLE` inside
a text stands for a part that is not known, so ``f"{base}/.ssh/id_rsa"`` still shows where it leads. A source that
writes the hole's character itself only makes its text less known, which is the safe side.
"""

from __future__ import annotations

import shlex
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, Final

from skillkeep.auditor.engines.values import HOLE

__all__ = [
    "HOLE",
    "HOLE_WORD",
    "UNKNOWN",
    "OneOf",
    "Unknown",
    "Value",
    "alternatives",
    "as_word",
    "bounded",
    "elements_of",
    "first_word",
    "is_whole",
    "lift",
    "once_set",
    "one_of",
    "parts_of",
    "texts_of",
    "with_hole",
]

HOLE_WORD: Final = '"$NOT_KNOWN"'
MAX_TEXT: Final = 1 << 20
MAX_LITERAL: Final = 10_000
MAX_ITEMS: Final = 8192
MAX_ALTERNATIVES: Final = 256

Value = Any  # str | bytes | int | float | bool | None | tuple | dict | OneOf | Unknown


@dataclass(frozen=True)
class Unknown:
    """Nothing is known about the value."""


@dataclass(frozen=True)
class OneOf:
    """The value is one of these; with `complete` False there are others that are not known."""

    values: tuple[Value, ...]
    complete: bool = True


UNKNOWN: Final = Unknown()
_MOST: Final = {str: MAX_TEXT, bytes: MAX_TEXT, tuple: MAX_ITEMS, dict: MAX_ITEMS}


def one_of(values: list[Value]) -> Value:
    """Join what several assignments give into one value."""
    if len(values) == 1 and values[0].__class__ is not OneOf:
        return values[0]
    flat: list[Value] = []
    hashed: set[tuple[type, Value]] = set()
    complete = True
    for value in values:
        if isinstance(value, Unknown):
            complete = False
            continue
        if isinstance(value, OneOf):
            complete = complete and value.complete
        for item in value.values if isinstance(value, OneOf) else (value,):
            try:
                fresh = (item.__class__, item) not in hashed
                hashed.add((item.__class__, item))
            except TypeError:  # a dictionary, or something that holds one
                fresh = not any(known.__class__ is item.__class__ and known == item for known in flat)
            if fresh:
                flat.append(item)
    if not flat:
        return UNKNOWN
    if len(flat) > MAX_ALTERNATIVES:
        flat, complete = flat[:MAX_ALTERNATIVES], False
    return flat[0] if len(flat) == 1 and complete else OneOf(tuple(flat), complete)


def alternatives(value: Value) -> Iterator[Value]:
    """Every known alternative of `value`; nothing when it is unknown."""
    if isinstance(value, OneOf):
        yield from value.values
    elif not isinstance(value, Unknown):
        yield value


def texts_of(value: Value) -> list[str]:
    """Every known alternative of `value` that is text."""
    return [item for item in alternatives(value) if isinstance(item, str)]


def elements_of(value: Value) -> Value:
    """One item of a tuple, whichever."""
    if isinstance(value, tuple):
        return one_of(list(value))
    return one_of([item for known in alternatives(value) if isinstance(known, tuple) for item in known] + [UNKNOWN])


def parts_of(value: Value, index: int) -> Value:
    """Item `index` of every known alternative, one at a time: a row that has none leaves the others told."""
    rows = list(alternatives(value))
    whole = isinstance(value, OneOf) and value.complete
    found = [row[index] if isinstance(row, tuple | str) and len(row) > index else UNKNOWN for row in rows]
    return one_of(found if rows and (whole or not isinstance(value, OneOf)) else [*found, UNKNOWN])


def first_word(value: Value) -> Value:
    """What a shell runs of `value`: of a list the first item."""
    return lift(lambda item: (item[0] if item else "") if isinstance(item, tuple) else item, value)


def once_set(value: Value) -> Value:
    """`value` without None, where it can be something else: nothing is done with a name that stands for nothing."""
    if not isinstance(value, OneOf) or None not in value.values:
        return value
    rest = [item for item in value.values if item is not None]
    return one_of([*rest, *([] if value.complete else [UNKNOWN])]) if rest else value


def with_hole(value: Value) -> Value:
    """`value`, a hole among its alternatives when there are others that are not known."""
    if isinstance(value, OneOf) and not value.complete:
        return OneOf((*value.values, HOLE))
    return value


def is_whole(value: Value) -> bool:
    """True when every alternative is known and none has a hole."""
    if isinstance(value, Unknown):
        return False
    if isinstance(value, OneOf):
        return value.complete and all(is_whole(item) for item in value.values)
    if isinstance(value, str):
        return HOLE not in value
    if isinstance(value, tuple):
        return all(is_whole(item) for item in value)
    if isinstance(value, dict):
        return all(is_whole(item) for item in value.values())
    return True


def bounded(value: Value) -> Value:
    """`value`, or `UNKNOWN` when it is larger than the folder may hold."""
    most = _MOST.get(value.__class__)
    if most is not None and len(value) > most:
        return UNKNOWN
    if value.__class__ is int and value.bit_length() > 1 << 16:
        return UNKNOWN
    return value


def lift(function: Callable[..., Value], *arguments: Value) -> Value:
    """Apply `function` to every combination of known alternatives; failures and unknown arguments give `UNKNOWN`."""
    kinds = {argument.__class__ for argument in arguments}
    if Unknown in kinds:
        return UNKNOWN
    if OneOf not in kinds:
        return _apply(function, arguments)
    spread = [argument.values if isinstance(argument, OneOf) else (argument,) for argument in arguments]
    results = [_apply(function, chosen) for chosen in islice(product(*spread), MAX_ALTERNATIVES + 1)]
    if any(isinstance(argument, OneOf) and not argument.complete for argument in arguments):
        results.append(UNKNOWN)
    return one_of(results)


_FAILURES: Final = (  # all that an honest function says of data that it does not take
    ValueError, TypeError, LookupError, ArithmeticError, AttributeError, EOFError, OSError, RuntimeError, StopIteration,
    struct.error,
)  # fmt: skip


def _apply(function: Callable[..., Value], arguments: tuple[Value, ...]) -> Value:
    try:
        return bounded(function(*arguments))
    except _FAILURES:
        return UNKNOWN


def as_word(value: Value) -> str:
    """One word of a command as a shell reads it, unknown parts as a variable."""
    if isinstance(value, Unknown):
        return HOLE_WORD
    text = next((item for item in alternatives(value) if isinstance(item, str | int)), None)
    if text is None or text == HOLE:
        return HOLE_WORD
    if HOLE in str(text):
        return HOLE_WORD.join(shlex.quote(part) if part else "" for part in str(text).split(HOLE))
    return shlex.quote(str(text))

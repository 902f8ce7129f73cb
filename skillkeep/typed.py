"""Plain data, as JSON and YAML give it, made into values and frozen dataclasses: strictly, by their annotations alone.

For what every start reads (rules, a worker's answer, a kept report): pydantic takes five bare starts of Python to be
imported. Known keys only, no conversion of types except lists to tuples, texts to enumerations, integers to floats.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from skillkeep.value import Value, fields

__all__ = ["TypedError", "typed"]

T = TypeVar("T")
_Read = Callable[[Any], Any]
_PLAIN: Final = frozenset({str, int, bool, float, type(None)})


class TypedError(ValueError):
    """Data that does not fit. `where` are the keys that lead to it."""

    def __init__(self, what: str, where: tuple[str, ...] = ()) -> None:
        super().__init__(f"{'.'.join(where)}: {what}" if where else what)
        self.what = what
        self.where = where

    def below(self, key: str) -> TypedError:
        """The same one step further up."""
        return TypedError(self.what, (key, *self.where))


def typed(kind: type[T], data: Any) -> T:
    """`data` as an instance of `kind`, a `Value` or dataclass. Raises `TypedError`."""
    read: Callable[[Any], T] = _reader(kind)  # type: ignore[arg-type]  # a type is hashable
    return read(data)


@cache
def _reader(kind: Any) -> _Read:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return _anything
    if isinstance(kind, type) and issubclass(kind, Value):
        return _of_fields(kind, {each.name: each.needed for each in fields(kind)})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _of_enumeration({each.value: each for each in kind})
    if origin is Literal:
        return _of_enumeration({each: each for each in arguments})
    if origin is tuple and arguments[1:] == (...,):
        return _of_items(_reader(arguments[0]))
    if origin is dict and arguments[0] is str:
        return _of_mapping(_reader(arguments[1]))
    if origin in {Union, types.UnionType}:
        return _of_any([_reader(each) for each in arguments])
    if kind in _PLAIN:
        return _of_plain(kind)
    if isinstance(kind, type) and (named := _fields_of_dataclass(kind)) is not None:
        return _of_fields(kind, named)
    raise TypeError(f"data cannot be read as {kind}")


def _anything(data: Any) -> Any:
    return data


def _of_plain(kind: type) -> _Read:
    def read(data: Any) -> Any:
        if data.__class__ is kind:
            return data
        if kind is float and data.__class__ is int:
            return float(data)
        raise TypedError(f"{_name(kind)} is wanted")

    return read


def _name(kind: type) -> str:
    return {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "nothing")


def _of_enumeration(known: dict[Any, Any]) -> _Read:
    def read(data: Any) -> Any:
        found = known.get(data) if isinstance(data, str) else None
        if found is None:
            raise TypedError(f"one of {', '.join(map(str, known))} is wanted")
        return found

    return read


def _of_items(read_item: _Read) -> _Read:
    def read(data: Any) -> Any:
        if data.__class__ not in {list, tuple}:
            raise TypedError("a list is wanted")
        made = []
        for number, item in enumerate(data):
            try:
                made.append(read_item(item))
            except TypedError as error:
                raise error.below(str(number)) from None
        return tuple(made)

    return read


def _of_mapping(read_value: _Read) -> _Read:
    def read(data: Any) -> Any:
        if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
            raise TypedError("a mapping is wanted")
        return {key: _at(key, read_value, value) for key, value in data.items()}

    return read


def _at(key: str, read: _Read, value: Any) -> Any:
    try:
        return read(value)
    except TypedError as error:
        raise error.below(key) from None


def _of_any(readers: list[_Read]) -> _Read:
    def read(data: Any) -> Any:
        failed = TypedError("nothing fits")
        for each in readers:
            try:
                return each(data)
            except TypedError as error:
                failed = error if len(error.where) >= len(failed.where) else failed
        raise failed

    return read


def _fields_of_dataclass(kind: type) -> dict[str, bool] | None:
    """The name of each field of a dataclass, and whether it has to be given; None when it is none."""
    from dataclasses import MISSING, fields, is_dataclass  # the settings are values, and every start reads them

    if not is_dataclass(kind):
        return None
    return {each.name: each.default is MISSING and each.default_factory is MISSING for each in fields(kind)}


def _of_fields(kind: type, named: dict[str, bool]) -> _Read:
    """Reads a mapping for what is made of the fields `named`; True for one that has to be given."""
    hints = get_type_hints(kind)
    readers: dict[str, _Read] = {}
    plain = {name: hints[name] for name in named if hints[name] in _PLAIN}
    needed = {name for name, is_needed in named.items() if is_needed}

    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise TypedError("a mapping is wanted")
        if not readers:  # made at first use, so that a type may hold itself
            readers.update({name: _reader(hints[name]) for name in named})
        given = {}
        for key, value in data.items():
            if plain.get(key) is value.__class__:  # nearly every value of a report ends here
                given[key] = value
                continue
            reader = readers.get(key)
            if reader is None:
                raise TypedError("there is no such key", (str(key),))
            try:
                given[key] = reader(value)
            except TypedError as error:
                raise error.below(key) from None
        if missing := needed - given.keys():
            raise TypedError("is missing", (min(missing),))
        try:
            return kind(**given)
        except TypedError:
            raise
        except ValueError as error:
            raise TypedError(str(error)) from None

    return read

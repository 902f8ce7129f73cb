"""Frozen values whose classes cost nothing to make: for what every start of a command line imports.

`dataclasses` writes and compiles six functions for a class, 0.4 ms in Python 3.11, and imports `inspect` to do so, 8 ms
where a bare interpreter starts in 20. Here all classes have the same functions. A type checker takes a `Value` for a
frozen dataclass, and so do `fields`, `asdict`, `replace` and `is_dataclass` of `dataclasses`. Why: docs/adr/0015.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import Field as DataclassField
    from dataclasses import replace  # a type checker knows the changes that it takes

__all__ = ["Field", "Value", "as_dict", "field", "fields", "replace"]

_NONE: Final = object()


class Field:
    """A field of a value: its `name` and `type` as annotated, what `field` says of it, and whether a default exists."""

    def __init__(
        self,
        default: Any,
        factory: Callable[[], Any] | None = None,
        shown: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.type = "", ""
        self.default, self.factory = default, factory
        self.shown, self.metadata = shown, metadata or {}

    @property
    def needed(self) -> bool:
        """Whether it has to be given."""
        return self.default is _NONE and self.factory is None


def field(
    *,
    default: Any = _NONE,
    default_factory: Callable[[], Any] | None = None,
    repr: bool = True,
    metadata: Mapping[str, Any] | None = None,
) -> Any:
    """A field with more to it than a type and a default; the arguments are those of `dataclasses.field`."""
    return Field(default, default_factory, repr, metadata)


class _AsDataclass:
    """The fields of a class as `dataclasses` looks for them, made when it does."""

    def __get__(self, value: Value | None, kind: type[Value]) -> dict[str, DataclassField[Any]]:
        import dataclasses

        specified = []
        for each in fields(kind):
            made = {} if each.default is _NONE else {"default": each.default}
            made |= {} if each.factory is None else {"default_factory": each.factory}
            specified.append((each.name, each.type, dataclasses.field(**made, repr=each.shown, metadata=each.metadata)))
        twin: Any = dataclasses.make_dataclass(kind.__name__, specified)
        found: dict[str, DataclassField[Any]] = twin.__dataclass_fields__
        type.__setattr__(kind, "__dataclass_fields__", found)
        return found


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value:
    """Base of a value: its annotated fields are given when it is made, and are what it is compared and shown by.

    It cannot be changed; `__post_init__` may refuse it by an exception. A field is annotated with a text, as
    ``from __future__ import annotations`` makes it.
    """

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, DataclassField[Any]]]

    __fields: ClassVar[tuple[Field, ...]] = ()
    __start: ClassVar[dict[str, Any]] = {}
    """Every field with its default, in the order of the fields."""
    __open: ClassVar[tuple[Field, ...]] = ()
    """Those whose default has to be made, or has to be given."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        known = {each.name: each for each in cls.__fields}
        for name, annotation in cls.__annotations__.items():
            if annotation.startswith("ClassVar"):
                continue
            found = cls.__dict__.get(name, _NONE)
            known[name] = found if isinstance(found, Field) else Field(found)
            known[name].name, known[name].type = name, annotation
            if isinstance(found, Field):
                if found.default is _NONE:
                    delattr(cls, name)
                else:
                    setattr(cls, name, found.default)
        cls.__fields = tuple(known.values())
        cls.__start = {each.name: each.default for each in cls.__fields}
        cls.__open = tuple([each for each in cls.__fields if each.default is _NONE])
        for name, read in (("__match_args__", tuple(known)), ("__dataclass_fields__", _AsDataclass())):
            type.__setattr__(cls, name, read)

    def __init__(self, /, *values: Any, **named: Any) -> None:
        start = self.__start
        if not named and len(values) == len(start):
            self.__dict__.update(zip(start, values))  # noqa: B905  as long as each other; `strict` takes a third of the time
            self.__post_init__()
            return
        given = dict(zip(start, values, strict=False), **named)
        facts = start | given
        if len(given) != len(values) + len(named) or len(facts) != len(start):
            raise _misfit(type(self), values, named)
        if len(given) != len(facts):
            for each in self.__open:
                if each.name not in given:
                    if each.factory is None:
                        raise _misfit(type(self), values, named)
                    facts[each.name] = each.factory()
        self.__dict__.update(facts)
        self.__post_init__()

    def __post_init__(self) -> None:
        """What is left to do, or to refuse, when all fields have their values."""

    def __setattr__(self, name: str, value: object) -> None:
        raise _frozen("assign to", name)

    def __delattr__(self, name: str) -> None:
        raise _frozen("delete", name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value) or other.__class__ is not self.__class__:
            return NotImplemented
        return _facts(self) == _facts(other)

    def __hash__(self) -> int:
        return hash(_facts(self))

    def __repr__(self) -> str:
        facts = vars(self)
        shown = ", ".join([f"{each.name}={facts[each.name]!r}" for each in fields(type(self)) if each.shown])
        return f"{type(self).__qualname__}({shown})"


def fields(kind: type[Value]) -> tuple[Field, ...]:
    """The fields of a class, in their order."""
    found: tuple[Field, ...] = kind._Value__fields  # type: ignore[attr-defined]
    return found


def as_dict(value: Value) -> dict[str, Any]:
    """The fields of `value` and of the values in it, as `dataclasses.asdict` gives them; nothing else is copied."""
    facts = vars(value)
    return {each.name: _plain(facts[each.name]) for each in fields(type(value))}


def _plain(fact: Any) -> Any:
    if isinstance(fact, Value):
        return as_dict(fact)
    if isinstance(fact, tuple | list):
        return type(fact)([_plain(item) for item in fact])
    if isinstance(fact, dict):
        return {key: _plain(item) for key, item in fact.items()}
    return fact


if not TYPE_CHECKING:

    def replace(value: Value, /, **changes: Any) -> Value:
        """`value` with other values in some of its fields."""
        facts = vars(value)
        return type(value)(**{each.name: facts[each.name] for each in fields(type(value))} | changes)


def _facts(value: Value) -> tuple[Any, ...]:
    facts = vars(value)
    return tuple([facts[each.name] for each in fields(type(value))])


def _frozen(what: str, name: str) -> AttributeError:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(f"cannot {what} field {name!r}")


def _misfit(kind: type[Value], values: tuple[Any, ...], named: dict[str, Any]) -> TypeError:
    """Why these are not what a value of `kind` is made of."""
    names = [each.name for each in fields(kind)]
    given = [*names[: len(values)], *named]
    if len(values) > len(names):
        what = f"takes {len(names)} positional arguments but {len(values)} were given"
    elif twice := [name for name in named if name in names[: len(values)]]:
        what = f"got multiple values for argument {twice[0]!r}"
    elif unknown := [name for name in named if name not in names]:
        what = f"got an unexpected keyword argument {unknown[0]!r}"
    else:
        missing = [each.name for each in fields(kind) if each.needed and each.name not in given]
        what = f"missing required arguments: {', '.join(map(repr, missing))}"
    return TypeError(f"{kind.__qualname__}() {what}")

"""A value is what a frozen dataclass of the same fields is, and its class is made without `dataclasses`."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest

from skillkeep.value import Value, as_dict, field, fields, replace


class Point(Value):
    """A value with every kind of field."""

    kind: ClassVar[str] = "point"
    x: int
    secret: str = field(repr=False)
    y: int = 2
    tags: dict[str, Any] = field(default_factory=dict)
    size: float = field(default=1.0, metadata={"above": 0})

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is below zero")

    @cached_property
    def double(self) -> int:
        return self.x * 2


class Deep(Point):
    """One with a base."""

    points: tuple[Point, ...] = ()


@dataclasses.dataclass(frozen=True)
class Twin:
    """`Point` as a dataclass."""

    kind: ClassVar[str] = "point"
    x: int
    secret: str = dataclasses.field(repr=False)
    y: int = 2
    tags: dict[str, Any] = dataclasses.field(default_factory=dict)
    size: float = dataclasses.field(default=1.0, metadata={"above": 0})


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((1, "s"), {}),
        ((1,), {"secret": "s", "size": 3.0}),
        ((), {"size": 3.0, "y": 1, "secret": "s", "x": 1}),
        ((1, "s", 3, {"a": 1}, 2.0), {}),
        ((1, "s", 3, {}, 2.0, 5), {}),
        ((1, "s"), {"x": 2}),
        ((1, "s"), {"z": 2}),
        ((1,), {}),
        ((1,), {"z": 2}),
        ((1, "s", 3, {}), {"y": 1}),
        ((), {}),
    ],
)
def test_it_is_made_or_refused_as_a_dataclass_is(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    def outcome(make: Callable[..., Any]) -> object:
        try:
            made = make(*values, **named)
        except TypeError:
            return TypeError
        return list(vars(made).items()), repr(made).partition("(")[2]

    assert outcome(Point) == outcome(Twin)


def test_what_is_wrong_with_the_arguments_is_said() -> None:
    make: Any = Point
    for call, said in (
        (lambda: make(1), r"Point\(\) missing required arguments: 'secret'"),
        (lambda: make(1, "s", z=1), "unexpected keyword argument 'z'"),
        (lambda: make(1, "s", x=1), "multiple values for argument 'x'"),
        (lambda: make(1, "s", 1, {}, 1, 1), "takes 5 positional arguments but 6 were given"),
    ):
        with pytest.raises(TypeError, match=said):
            call()


def test_it_cannot_be_changed() -> None:
    point: Any = Point(1, "s")
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        del point.x
    assert point.double == point.double == 2


def test_values_are_equal_by_class_and_fields() -> None:
    plain = Deep(1, "s", tags={})
    assert Point(1, "s") == Point(1, "s") != Point(1, "t")
    assert Point(1, "s") != plain
    assert Point(1, "s") != (1, "s", 2, {}, 1.0)
    seen = Point(1, "s")
    assert (seen.double, seen) == (2, Point(1, "s"))
    assert hash(Point(1, "s", tags=())) == hash(Point(1, "s", tags=()))  # type: ignore[arg-type]


def test_a_refusal_is_the_callers_to_hear() -> None:
    with pytest.raises(ValueError, match="below zero"):
        Point(-1, "s")
    with pytest.raises(ValueError, match="below zero"):
        replace(Point(1, "s"), x=-1)


def test_a_copy_with_changes_forgets_what_was_found_out() -> None:
    point = Point(1, "s", 5)
    assert point.double == 2
    other = replace(point, x=2)
    assert (other, other.double) == (Point(2, "s", 5), 4)


def test_what_copies_and_pickles_make_is_equal() -> None:
    point = Deep(1, "s", points=(Point(2, "t"),))
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point


def test_the_functions_of_dataclasses_know_it() -> None:
    deep = Deep(1, "s", points=(Point(2, "t"),))
    assert dataclasses.is_dataclass(deep)
    assert [each.name for each in dataclasses.fields(Point)] == ["x", "secret", "y", "tags", "size"]
    assert [each.name for each in dataclasses.fields(Deep)] == ["x", "secret", "y", "tags", "size", "points"]
    assert dataclasses.fields(Point)[4].metadata == {"above": 0}
    assert dataclasses.asdict(deep) == as_dict(deep)
    assert dataclasses.replace(deep, x=3) == replace(deep, x=3) != deep


def test_its_own_fields_say_the_same() -> None:
    assert [each.name for each in fields(Deep)] == ["x", "secret", "y", "tags", "size", "points"]
    assert [each.name for each in fields(Point) if each.needed] == ["x", "secret"]
    assert Point.size == 1.0
    assert not hasattr(Point, "tags")


def test_it_matches_by_position() -> None:
    match Point(1, "s", 5):
        case Point(1, secret, y):
            assert (secret, y) == ("s", 5)


def test_neither_dataclasses_nor_what_it_imports_is_there_for_it() -> None:
    code = "import sys, skillkeep.value; sys.exit(bool({'dataclasses', 'inspect'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

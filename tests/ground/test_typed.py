"""Plain data becomes frozen dataclasses, or is refused with the keys that lead to what does not fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import pytest

from skillkeep.typed import TypedError, typed


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Leaf:
    name: str
    size: float = 0.0


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf | str, ...]
    colour: Colour | None = None
    kind: Literal["oak", "elm"] = "oak"
    rings: int = 1
    tags: dict[str, str] = field(default_factory=dict)
    old: bool = False

    def __post_init__(self) -> None:
        if self.rings < 0:
            raise ValueError("rings are counted from nought")


def test_plain_data_becomes_what_its_annotations_say() -> None:
    data = {"leaves": [{"name": "a", "size": 2}, "b"], "colour": "red", "kind": "elm", "tags": {"x": "y"}, "old": True}
    assert typed(Tree, data) == Tree((Leaf("a", 2.0), "b"), Colour.RED, "elm", 1, {"x": "y"}, True)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"leaves": None}, "leaves"),
        ({"leaves": "ab"}, "leaves"),
        ({"leaves": [{"name": 1}]}, "leaves.0.name"),
        ({"leaves": [{"size": 1}]}, "leaves.0.name"),
        ({"leaves": [{"name": "a", "extra": 1}]}, "leaves.0.extra"),
        ({"colour": "blue"}, "colour"),
        ({"colour": ["red"]}, "colour"),
        ({"kind": "ash"}, "kind"),
        ({"rings": True}, "rings"),
        ({"rings": "1"}, "rings"),
        ({"rings": 1.0}, "rings"),
        ({"old": 1}, "old"),
        ({"tags": {"x": 1}}, "tags.x"),
        ({"tags": {1: "x"}}, "tags"),
        ({"unknown": 1}, "unknown"),
        ({"rings": -1}, "rings are counted"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(change: dict[str, Any], where: str) -> None:
    with pytest.raises(TypedError) as caught:
        typed(Tree, {"leaves": [], **change})
    assert str(caught.value).startswith(where)


def test_a_field_that_nothing_can_be_read_as_is_a_defect_of_ours() -> None:
    @dataclass(frozen=True)
    class Odd:
        what: set[str]

    with pytest.raises((TypeError, NameError)):
        typed(Odd, {"what": []})

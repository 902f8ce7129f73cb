"""A sealed type is built by its owner and by nobody else."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from skillkeep.sealed import Sealed, sealer


@dataclass(frozen=True)
class Ticket(Sealed):
    seat: int


build = sealer(Ticket)


def test_only_the_owner_builds_one() -> None:
    assert build(seat=3).seat == 3
    with pytest.raises(TypeError, match="built only by"):
        Ticket(3)


def test_the_constructor_is_handed_out_once() -> None:
    with pytest.raises(TypeError, match="already taken"):
        sealer(Ticket)

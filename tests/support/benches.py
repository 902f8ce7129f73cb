"""The fixtures of every test that attacks from a bench; a folder's conftest imports them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.sandbox import Bench, attackers, bench

__all__ = ["_bench"]


@pytest.fixture(name="bench", params=attackers(), ids=lambda who: who.name)
def _bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with bench(request.param) as made:
        yield made

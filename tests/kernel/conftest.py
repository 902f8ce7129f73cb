"""One bench per test and attacker; without root only the current user attacks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.sandbox import Bench, attackers, bench, remove_staged


@pytest.fixture(scope="session", autouse=True)
def _staged() -> Iterator[None]:
    yield
    remove_staged()


@pytest.fixture(name="bench", params=attackers(), ids=lambda who: who.name)
def _bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with bench(request.param) as made:
        yield made

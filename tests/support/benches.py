"""The fixtures of every test that attacks from a bench; a folder's conftest imports them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.sandbox import Bench, Who, attackers, bench

__all__ = ["_bench", "_own"]


@pytest.fixture(name="bench", params=attackers(), ids=lambda who: who.name)
def _bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with bench(request.param) as made:
        yield made


@pytest.fixture(name="own")
def _own(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A bench of the current user, with a server of the test's own for this very process."""
    with bench(Who("current", None)) as made:
        made.own_server()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made.runtime))
        yield made

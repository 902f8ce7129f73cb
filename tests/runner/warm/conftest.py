"""A stage for each attacker: root and a user without rights."""

from __future__ import annotations

import pytest
from support.benches import _bench
from support.environments import Stage
from support.sandbox import Bench

__all__ = ["_bench", "_stage"]


@pytest.fixture(name="stage")
def _stage(bench: Bench) -> Stage:
    bench.own_server()
    return Stage(bench)

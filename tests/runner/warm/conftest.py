"""A stage for each attacker: root and a user without rights."""

from __future__ import annotations

import functools

import pytest
from support.benches import _bench
from support.environments import Stage
from support.sandbox import Bench

from skillkeep.kernel.cgroup_choice import make_group
from skillkeep.kernel.cgroups import GroupLimits
from skillkeep.runner.interface import AssuranceLevel, new_run_id
from skillkeep.runner.native import NativeBackend

__all__ = ["_bench", "_cold_stage", "_stage"]


@pytest.fixture(name="cold_stage")
def _cold_stage(bench: Bench) -> Stage:
    """A stage on which calls may all be ordinary runs."""
    bench.own_server()
    return Stage(bench)


@pytest.fixture(name="stage")
def _stage(cold_stage: Stage) -> Stage:
    """A stage on which they are warm."""
    if cold_stage.bench.who.uid is None and _groups_are_the_servers_alone():
        pytest.skip("control groups are the fork server's alone here, so there are no warm interpreters")
    return cold_stage


@functools.cache
def _groups_are_the_servers_alone() -> bool:
    """Whether systemd gave it a scope of its own, where this process may make no group."""
    group = make_group(GroupLimits(64 << 20, 16, 1.0), new_run_id())
    own = set(group.enforces) >= {"memory", "pids", "cpu"}
    group.close()
    return not own and NativeBackend().probe().level is AssuranceLevel.BOUNDED

"""What a request is resolved into, and which ids a payload gets."""

from __future__ import annotations

import os

import pytest

from skillkeep.kernel.errors import KernelError
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native.identity import DEFAULT_ID_BASE, choose_identity
from skillkeep.runner.native.plan import Plan, make_plan


def test_a_plan_survives_its_own_text() -> None:
    policy = SandboxPolicy(env=(("A", "\udcff"),), binds=(Bind("/srv", "/data", True),), cpus=0.25)
    plan = make_plan(RunRequest(("a", "\udce9"), policy), 5)
    assert Plan.from_text(plan.to_text()) == plan


@pytest.mark.parametrize("target", ["/usr/x", "/etc", "/dev/shm", "/proc/x", "/run", "/tmp", "/tmp/home", "/data/sub"])
def test_a_bind_may_not_lie_inside_the_sandboxs_own_folders_or_another_bind(target: str) -> None:
    policy = SandboxPolicy(binds=(Bind("/srv", "/data"), Bind("/opt", target)))
    with pytest.raises(RunnerError) as caught:
        make_plan(RunRequest(("true",), policy), 5)
    assert caught.value.code == "bad_policy"


def test_a_bind_below_tmp_is_fine() -> None:
    plan = make_plan(RunRequest(("true",), SandboxPolicy(binds=(Bind("/srv", "/tmp/work"),))), 5)
    assert "/tmp/work" in {bind.target for bind in plan.binds}


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has one id to give")
def test_root_gives_two_ids_of_its_own_to_each_run() -> None:
    everything = [range(2**32 - 1)]
    seen = {choose_identity(pid, DEFAULT_ID_BASE, everything).host_uid for pid in range(1, 200)}
    assert len(seen) == 199
    assert min(seen) > DEFAULT_ID_BASE
    narrow = choose_identity(7, DEFAULT_ID_BASE, [range(65536)])
    assert 32768 <= narrow.host_uid < 65536
    ids = dict(narrow.ids.users)
    assert ids[1000] == narrow.host_uid != ids[0] != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has one id to give")
def test_root_without_ids_to_give_refuses() -> None:
    with pytest.raises(KernelError) as caught:
        choose_identity(7, DEFAULT_ID_BASE, [range(1)])
    assert caught.value.layer == "user_map"


@pytest.mark.parametrize("target", ["/", "//", "///", "/.", "//proc", "/dev/", "//dev/.", "/run//sandbox"])
def test_a_bind_may_not_take_the_place_of_what_every_sandbox_needs(target: str) -> None:
    with pytest.raises(RunnerError, match="may not replace"):
        Bind("/srv", target)

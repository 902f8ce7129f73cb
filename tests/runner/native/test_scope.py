"""Runs of a user of systemd on a real cgroup v2: bounded without being root. `make test-vm` has both."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.sandbox import Bench
from support.waiting import until

from skillkeep.kernel.cgroup_choice import unified_place


def _has_systemd(bench: Bench) -> bool:
    """Whether the bench's user can ask a systemd for a scope, and v2 has the controllers."""
    if bench.who.uid is not None or unified_place() is None:
        return False
    return Path(f"/run/user/{os.geteuid()}/bus" if os.geteuid() else "/run/dbus/system_bus_socket").exists()


@pytest.fixture(name="scoped")
def _scoped(bench: Bench) -> Bench:
    if not _has_systemd(bench):
        pytest.skip("no systemd of this user, or no controller on cgroup v2 (make test-vm has both)")
    return bench


def test_every_controller_bounds_a_run_in_a_scope_of_the_fork_servers_own(scoped: Bench) -> None:
    result = scoped.run("true", level=3)
    assert result["assurance"]["level"] == "bounded"
    layers = {layer["name"]: layer for layer in result["assurance"]["layers"]}
    places = layers["cgroup"]["facts"]
    assert sorted(places) == ["cpu", "memory", "pids"]
    scope = os.path.basename(os.path.dirname(places["memory"]))
    assert scope.startswith("skillkeep-")
    assert scope.endswith(".scope")
    assert until(lambda: not os.path.exists(places["memory"]))


def test_a_run_out_of_memory_ends_neither_the_scope_nor_other_runs(scoped: Bench) -> None:
    """systemd may stop a whole unit for one death by memory (OOMPolicy); one that was handed over goes on."""
    hog = scoped.inside("held = bytearray(200 << 20)", memory_bytes=64 << 20)
    assert hog["cause"] == "oom"
    assert hog["peak_memory_bytes"] <= 64 << 20
    before, after = (
        next(layer for layer in result["assurance"]["layers"] if layer["name"] == "cgroup")["facts"]["memory"]
        for result in (hog, scoped.run("true"))
    )
    assert os.path.dirname(after) == os.path.dirname(before)

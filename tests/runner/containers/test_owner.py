"""Which containers the next start may remove: those of the dead, and nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from skillkeep.runner.containers.owner import EXPIRES_LABEL, OWNER_LABEL, Owner, is_orphan, labels_for

NOW = 1_800_000_000.0


def me() -> Owner:
    owner = Owner.current()
    assert owner is not None
    return owner


def dead() -> Owner:
    """A process that has ended: its pid may be free, or somebody else's by now."""
    code = "from skillkeep.runner.containers.owner import Owner; print(Owner.current())"
    owner = Owner.parse(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
    assert owner is not None
    return owner


def labels(owner: Owner | str) -> dict[str, str]:
    return {**labels_for("r1", NOW, 60), OWNER_LABEL: str(owner)}


def test_a_living_owner_keeps_its_container() -> None:
    assert not is_orphan(labels(me()), NOW)


def test_a_dead_owner_loses_it() -> None:
    assert is_orphan(labels(dead()), NOW)


def test_a_pid_taken_over_by_another_process_is_a_dead_owner() -> None:
    assert is_orphan(labels(replace(me(), started=me().started - 1)), NOW)


def test_an_ended_owner_that_nobody_has_reaped_is_dead() -> None:
    code = "from skillkeep.runner.containers.owner import Owner; print(Owner.current())"
    child = subprocess.Popen([sys.executable, "-c", code],
                             stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert child.stdout is not None
    text = child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_orphan(labels(text.strip()), NOW)
    child.wait()
    child.stdout.close()


@pytest.mark.parametrize("field", ["boot", "pid_namespace"])
def test_an_owner_elsewhere_cannot_be_called_dead(field: str) -> None:
    elsewhere = replace(dead(), **{field: "another" if field == "boot" else 1})
    assert not is_orphan(labels(elsewhere), NOW)


def test_another_users_owner_is_dead_only_to_root(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(dead(), uid=4001)
    monkeypatch.setattr(os, "geteuid", lambda: 4002)
    assert not is_orphan(labels(other), NOW)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert is_orphan(labels(other), NOW)


def test_what_is_long_past_its_time_goes_whoever_owns_it() -> None:
    elsewhere = labels(replace(me(), boot="another"))
    assert not is_orphan(elsewhere, NOW + 60)
    assert is_orphan(elsewhere, NOW + 60 + 301)


@pytest.mark.parametrize(
    "foreign",
    [
        {},
        {"com.example": "x"},
        {OWNER_LABEL: "x"},
        {EXPIRES_LABEL: "1"},
        {"skillkeep.run": "r", OWNER_LABEL: "unknown", EXPIRES_LABEL: "soon"},
        {"skillkeep.run": "r", OWNER_LABEL: "a/b/c/d/e", EXPIRES_LABEL: ""},
    ],
)
def test_containers_that_are_not_provably_ours_are_left_alone(foreign: dict[str, str]) -> None:
    assert not is_orphan(foreign, NOW)


def test_an_owner_reads_back_as_written() -> None:
    assert Owner.parse(str(me())) == me()

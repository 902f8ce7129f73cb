"""What init's root was measured to be counts for the payload, as long as that would be measured to have the same."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator

import pytest
from support.slots import children

from skillkeep.runner.interface import RunRequest
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.plan import make_plan
from skillkeep.runner.native.sandbox import Sandbox
from skillkeep.runner.native.shared_root import SharedRoot

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="init shows its mounts to root alone")


@pytest.fixture(name="inside")
def _inside() -> Iterator[tuple[int, int]]:
    """Init and payload of a sandbox that stands, and is not let go."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    sandbox = Sandbox(make_plan(RunRequest(("true",)), DEFAULT_ID_BASE), (null, null, null))
    sandbox.allowed = False
    while sandbox.due < float("inf"):
        assert sandbox.socket is not None
        assert select.select([sandbox.socket], [], [], 60)[0]
        sandbox.heard()
    assert sandbox.failure is None
    (init,) = sandbox.pids
    (payload,) = children(init)
    try:
        yield init, payload
    finally:
        sandbox.drop()
        os.waitpid(init, 0)
        sandbox.group.close()
        os.close(null)


@pytest.fixture(name="root")
def _root() -> Iterator[SharedRoot]:
    root = SharedRoot()
    yield root
    root.close()


def test_the_root_of_init_is_the_payloads(inside: tuple[int, int], root: SharedRoot) -> None:
    init, payload = inside
    assert root.of(payload) is None
    root.see(init)
    layer = root.of(payload)
    assert layer is not None
    assert (layer.name, layer.in_force) == ("root", True)


def test_a_process_with_other_mounts_is_measured_itself(inside: tuple[int, int], root: SharedRoot) -> None:
    root.see(inside[0])
    assert root.of(os.getpid()) is None


def test_after_a_mount_the_payload_is_measured_itself(inside: tuple[int, int], root: SharedRoot) -> None:
    init, payload = inside
    root.see(init)
    subprocess.run(["nsenter", "-t", str(init), "--mount", "mount", "-t", "tmpfs", "own", "/tmp"], check=True)
    assert root.of(payload) is None


def test_a_root_that_does_not_hold_counts_for_nobody(root: SharedRoot) -> None:
    root.see(os.getpid())
    assert root.of(os.getpid()) is None

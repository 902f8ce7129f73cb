"""Each step of the set-up refused, one at a time; and each layer left out by a set-up that claims to have laid it down.

The tape is changed, not our code: a step's system call becomes one that no kernel has (it fails) or one that does
nothing (it seems to succeed). Both in a sandbox built for its run and in one built ahead of it.
"""

from __future__ import annotations

import os
import select
import signal
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from support.waiting import until

from skillkeep.kernel.cgroup_choice import make_group
from skillkeep.kernel.cgroups import GroupLimits
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.procfs import started_at
from skillkeep.kernel.syscalls import number
from skillkeep.kernel.tape import BASE, HEADER, Program, Step
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native import birth as birth_module
from skillkeep.runner.native import newborn as newborn_module
from skillkeep.runner.native import prepare as prepare_module
from skillkeep.runner.native import rest as rest_module
from skillkeep.runner.native import sandbox as sandbox_module
from skillkeep.runner.native import start as start_module
from skillkeep.runner.native import vacant as vacant_module
from skillkeep.runner.native import waiting as waiting_module
from skillkeep.runner.native.birth import OWN_TAPE
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.layout import look_at_host
from skillkeep.runner.native.newborn import Newborn
from skillkeep.runner.native.plan import Plan, make_plan
from skillkeep.runner.native.prepare import Prepared
from skillkeep.runner.native.program import REST_OF_INIT, REST_OF_PAYLOAD, Shape
from skillkeep.runner.native.rest import Rest
from skillkeep.runner.native.sandbox import Sandbox
from skillkeep.runner.native.vacant import Vacant
from skillkeep.runner.native.waiting import Waiting

ROW = 80
NO_SUCH_CALL = 999
LAYERS = {
    *("namespaces", "user_map", "cgroup_namespace", "root", "proc", "dev", "tmp", "bind", "capabilities", "rlimits"),
    *("no_new_privs", "dumpable", "death_signal", "descriptors", "seccomp", "hostname", "workdir", "setup"),
}
"""Layers that a run on any machine has."""
AFTER_THE_RUN = ("exit_group", "wait4", "getrusage", "sched_yield", "execve", "write", "compare")


def _plan(marker: Path) -> Plan:
    binds = (Bind(str(marker), "/data", writable=True),)
    return make_plan(RunRequest(("touch", "/data/ran"), SandboxPolicy(binds=binds)), 0x7000_0000)


def _run(plan: Plan, when_ready: Callable[[Sandbox], None] | None = None, form: type[Waiting] | None = None) -> Sandbox:
    """Build and run it here, without a fork server; over when this returns, its group removed.

    With `when_ready` it is built ahead, as `form` if that is given, and takes the run after that was called.
    """
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    try:
        sandbox = Sandbox(plan, (null, null, null)) if when_ready is None else _ahead(plan, form)
        poll = select.poll
        while not sandbox.over:
            if isinstance(sandbox, Waiting) and sandbox.ready and when_ready is not None:
                when_ready(sandbox)
                sandbox.take(plan, (null, null, null))
            waiting = poll()
            if sandbox.socket is not None:
                waiting.register(sandbox.socket, select.POLLIN)
            if sandbox.pidfd >= 0:
                waiting.register(sandbox.pidfd, select.POLLIN)
            ready = dict(waiting.poll(20_000))
            if sandbox.socket is not None and sandbox.socket.fileno() in ready:
                sandbox.heard()
            elif sandbox.pidfd in ready:
                sandbox.init_ended()
            else:
                sandbox.tick()
        if sandbox.socket is not None:
            sandbox.drop()
        assert until(sandbox.group.remove)
        return sandbox
    finally:
        os.close(null)


def _ahead(plan: Plan, form: type[Waiting] | None) -> Waiting:
    return (form or (Waiting if plan.plain else Vacant))(plan, look_at_host())


def _changed(monkeypatch: pytest.MonkeyPatch, change: Callable[[int, Step], int | None]) -> None:
    """Let `change` say, for a step's address and meaning, which call takes the place of its own; None: its own."""

    def birth(into_group: bool) -> Program:
        made = birth_module.birth(into_group)
        return replace(made, image=changed(made.image, BASE, made.steps))

    def prepare(plan: Plan, group: object) -> Prepared:
        made = prepare_module.prepare(plan, group)  # type: ignore[arg-type]
        return Prepared(made.shape, made.program, changed(made.image, OWN_TAPE, made.program.steps))

    def prepare_ahead(plan: Plan, group: object, host: object) -> Prepared:
        made = prepare_module.prepare_ahead(plan, group, host)  # type: ignore[arg-type]
        return Prepared(made.shape, made.program, changed(made.image, OWN_TAPE, made.program.steps))

    def prepare_vacant(plan: Plan, group: object, host: object) -> Prepared:
        made = prepare_module.prepare_vacant(plan, group, host)  # type: ignore[arg-type]
        return Prepared(made.shape, made.program, changed(made.image, OWN_TAPE, made.program.steps))

    def prepare_tenant(*facts: object) -> tuple[Shape, Program, bytes]:
        shape, program, image = prepare_module.prepare_tenant(*facts)  # type: ignore[arg-type]
        return shape, program, changed(image, REST_OF_INIT, program.steps)

    def prepare_rest(*facts: object) -> Rest:
        made = rest_module.prepare_rest(*facts)  # type: ignore[arg-type]
        init, payload = changed(made.init, REST_OF_INIT, made.steps), changed(made.payload, REST_OF_PAYLOAD, made.steps)
        return Rest(init, payload, made.steps)

    def changed(image: bytes, base: int, steps: Mapping[int, Step]) -> bytes:
        here = bytearray(image)
        for address, step in steps.items():
            call = change(address, step)
            if call is not None and 0 <= address - base < len(image):
                struct.pack_into("=q", here, address - base, call)
        return bytes(here)

    changed_in: dict[ModuleType, list[Callable[..., object]]] = {
        start_module: [birth],
        sandbox_module: [prepare],
        newborn_module: [prepare],
        waiting_module: [prepare_ahead, prepare_rest],
        vacant_module: [prepare_vacant, prepare_tenant],
    }
    for module, makers in changed_in.items():
        for made in makers:
            monkeypatch.setattr(module, made.__name__, made)


@pytest.fixture(name="marker")
def _marker(tmp_path: Path) -> Path:
    folder = tmp_path / "marker"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def _steps(plan: Plan, *, vacant: bool = False) -> dict[int, Step]:
    group = make_group(GroupLimits(plan.memory_bytes, plan.processes + 1, plan.cpus), plan.run_id)
    try:
        born = birth_module.birth(group.into_fd is not None).steps
        if not vacant:
            return {**born, **prepare_module.prepare(plan, group).program.steps}
        first = prepare_module.prepare_vacant(plan, group, look_at_host())
        return {**born, **first.program.steps, **prepare_module.prepare_tenant(plan, group, first.shape)[1].steps}
    finally:
        group.close()


@pytest.mark.parametrize("form", [None, Vacant, Newborn], ids=["built", "vacant", "newborn"])
def test_every_step_that_is_refused_refuses_the_run_and_names_its_layer(
    marker: Path, monkeypatch: pytest.MonkeyPatch, form: type[Waiting] | None
) -> None:
    plan = _plan(marker)
    steps = _steps(plan, vacant=form is Vacant)
    assert (next(iter(steps)) - BASE - HEADER.size) % ROW == 0
    tried = set()
    for address, step in steps.items():
        first_word = step.detail.split(" ")[0]
        only_after_a_mismatch = step.detail.endswith(("not the device it should be", "has its place"))
        last_word = step.detail.rpartition(" ")[2]
        absent = last_word.startswith("/proc/") and not os.path.exists(last_word)
        if first_word in AFTER_THE_RUN or only_after_a_mismatch or absent or (step.layer, step.detail) in tried:
            continue
        tried.add((step.layer, step.detail))
        with monkeypatch.context() as patch:
            _changed(patch, lambda at, _, wanted=address: NO_SUCH_CALL if at == wanted else None)  # type: ignore[misc]
            sandbox = _run(plan, (lambda _: None) if form else None, form)
        assert sandbox.outcome is None, step
        failure = sandbox.failure
        assert isinstance(failure, KernelError | LayerError), step
        # Who does not wait has gone when its ids are to be written or it is to be measured: either is heard first.
        also = {"wait for the ids": "user_map", "wait for the word": "attestation"}.get(step.detail, step.layer)
        assert failure.layer in (step.layer, also), (step, failure)
        assert os.listdir(marker) == [], step
    own_ids = set() if os.geteuid() == 0 else {"user_map"}  # an ordinary user's one id is written from outside
    assert {layer for layer, _ in tried} >= LAYERS - own_ids


LEFT_OUT = {
    "capabilities": lambda step: step.layer == "capabilities",
    "seccomp": lambda step: step.layer == "seccomp" and step.detail == "seccomp",
    "rlimits": lambda step: step.layer == "rlimits",
    "root": lambda step: step.layer == "root" and step.detail == "restrict a mount",
    "proc": lambda step: step.layer == "proc" and step.detail == "restrict a mount",
    "cgroup_namespace": lambda step: step.layer == "cgroup_namespace",
}
"""What the measurement from outside has to notice, and the steps that are left out for it."""


@pytest.mark.parametrize("layer", LEFT_OUT)
def test_a_set_up_that_leaves_a_layer_out_and_says_nothing_is_noticed_from_outside(
    layer: str, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = number("getpid")
    _changed(monkeypatch, lambda _, step: nothing if LEFT_OUT[layer](step) else None)
    sandbox = _run(_plan(marker))
    assert isinstance(sandbox.failure, LayerError), sandbox.failure
    assert (sandbox.failure.layer, sandbox.outcome) == (layer, None)
    assert os.listdir(marker) == []


@pytest.mark.parametrize("form", [Waiting, Vacant, Newborn], ids=["waiting", "vacant", "newborn"])
@pytest.mark.parametrize("layer", LEFT_OUT)
def test_a_layer_that_is_left_out_ahead_of_a_run_is_noticed_before_the_run_is_let_go(
    layer: str, form: type[Waiting], marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = number("getpid")
    _changed(monkeypatch, lambda _, step: nothing if LEFT_OUT[layer](step) else None)
    sandbox = _run(_plain() if form is Waiting else _plan(marker), lambda _: None, form)
    assert isinstance(sandbox.failure, LayerError), sandbox.failure
    assert (sandbox.failure.layer, sandbox.started) == (layer, False)


def test_what_is_built_ahead_and_unchanged_runs(marker: Path) -> None:
    for form in (Waiting, Vacant, Newborn):
        sandbox = _run(_plain() if form is Waiting else _plan(marker), lambda _: None, form)
        assert (sandbox.failure, sandbox.outcome and sandbox.outcome.status) == (None, 0)
        assert os.listdir(marker) == ([] if form is Waiting else ["ran"])
        for file in marker.iterdir():
            file.unlink()


@pytest.mark.parametrize("form", [Vacant, Newborn])
def test_an_init_that_ended_while_it_waited_for_a_run_that_writes_lets_nothing_go(
    marker: Path, form: type[Waiting]
) -> None:
    def kill(waiting: Sandbox) -> None:
        os.kill(waiting.pids[0], signal.SIGKILL)
        assert until(lambda: started_at(waiting.pids[0]) < 0)

    sandbox = _run(_plan(marker), kill, form)
    assert isinstance(sandbox.failure, LayerError), sandbox.failure
    assert (sandbox.failure.layer, sandbox.started, os.listdir(marker)) == ("setup", False, [])


def test_a_payload_that_ended_while_it_waited_is_not_let_go() -> None:
    def kill(waiting: Sandbox) -> None:
        payload = _payload(waiting)
        os.kill(payload, signal.SIGKILL)
        assert until(lambda: started_at(payload) < 0)

    sandbox = _run(_plain(), kill)
    assert isinstance(sandbox.failure, LayerError), sandbox.failure
    assert (sandbox.failure.layer, sandbox.started) == ("attestation", False)


def test_a_payload_that_was_moved_out_of_its_group_while_it_waited_is_not_let_go() -> None:
    if not any(step.detail == "join the control group" for step in _steps(_plain()).values()):
        pytest.skip("no control group of version 1 can be made here")

    def move(waiting: Sandbox) -> None:
        for part in waiting.group.parts:
            Path(part.path).parent.joinpath("tasks").write_text(str(_payload(waiting)), encoding="ascii")

    sandbox = _run(_plain(), move)
    assert isinstance(sandbox.failure, LayerError), sandbox.failure
    assert (sandbox.failure.layer, sandbox.started) == ("cgroup", False)


def _payload(sandbox: Sandbox) -> int:
    (init,) = sandbox.pids
    return int(Path(f"/proc/{init}/task/{init}/children").read_text(encoding="ascii"))


def _plain() -> Plan:
    """What a sandbox built ahead serves."""
    return make_plan(RunRequest(("true",), SandboxPolicy()), 0x7000_0000)


def test_without_no_new_privs_the_kernel_takes_no_layer_that_needs_it(
    marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _changed(monkeypatch, lambda _, step: number("getpid") if step.detail == "set no_new_privs" else None)
    sandbox = _run(_plan(marker))
    assert isinstance(sandbox.failure, KernelError)
    # Init's filter or the payload's Landlock, whoever gets there first: the kernel takes neither without it.
    assert (sandbox.failure.layer in ("seccomp", "landlock"), os.listdir(marker)) == (True, []), sandbox.failure


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's ids are not changed")
def test_a_payload_that_stayed_the_builder_is_noticed_from_outside(
    marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _changed(monkeypatch, lambda _, step: number("getpid") if step.detail == "become id 1000" else None)
    sandbox = _run(replace(_plan(marker), workdir="/"))
    assert isinstance(sandbox.failure, LayerError)
    assert sandbox.failure.layer == "user_map"


def test_a_payload_outside_its_control_group_is_noticed(marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not any(step.detail == "join the control group" for step in _steps(_plan(marker)).values()):
        pytest.skip("no control group of version 1 can be made here")
    _changed(monkeypatch, lambda _, step: number("getpid") if step.detail == "join the control group" else None)
    sandbox = _run(_plan(marker))
    assert isinstance(sandbox.failure, LayerError)
    assert sandbox.failure.layer == "cgroup"


def test_the_unchanged_set_up_runs(marker: Path) -> None:
    sandbox = _run(_plan(marker))
    assert (sandbox.failure, os.listdir(marker)) == (None, ["ran"])

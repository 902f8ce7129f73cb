"""What the kernel alone takes for a sandbox: the same tapes, without a server, measuring, or a result.

*Built*: from the launcher's start to init's last words, with ids given and control groups made before. *Furnished*:
from the command's sending to the last words, in a sandbox that stands. Nothing in Python happens between but what
starts the launcher, writes the ids and reads the messages.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

from skillkeep.kernel.cgroup_choice import make_group
from skillkeep.kernel.cgroups import GroupLimits
from skillkeep.kernel.id_maps import write_maps
from skillkeep.runner.interface import RunRequest, SandboxPolicy
from skillkeep.runner.native import messages
from skillkeep.runner.native.birth import birth
from skillkeep.runner.native.identity import DEFAULT_ID_BASE, choose_identity
from skillkeep.runner.native.launch import launch, tape_file
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.plan import Plan, make_plan
from skillkeep.runner.native.prepare import prepare
from skillkeep.runner.native.rest import prepare_command
from skillkeep.runner.native.steps import INTO_GROUP
from skillkeep.runner.native.waiting import Waiting

__all__ = ["floors"]


def floors(policy: SandboxPolicy) -> dict[str, Callable[[], float]]:
    """Ways to run /bin/true, each of which gives the seconds that count. `policy` has binds for reading alone."""
    plan = make_plan(RunRequest(("/bin/true",), policy), DEFAULT_ID_BASE)
    return {"floor: built": lambda: _built(plan), "floor: furnished": lambda: _furnished(plan)}


def _built(plan: Plan) -> float:
    group = make_group(GroupLimits(plan.memory_bytes, plan.processes + 1, plan.cpus), os.urandom(8).hex())
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    prepared, into = prepare(plan, group), group.into_fd
    first = birth(into is not None)
    steps = {**first.steps, **prepared.program.steps}
    began = time.perf_counter()
    sock, launcher = launch(first.image, None, [] if into is None else [(INTO_GROUP, into)])
    init, stands = -1, set[Kind]()
    while (message := messages.receive(sock, steps)) is not None:
        if message.kind is Kind.HELLO:
            os.waitpid(launcher, 0)
            init = message.pid
            write_maps(init, choose_identity(init, plan.id_base).ids)
            tape = tape_file(prepared.image)
            messages.tell(sock, messages.IDS, (tape, *group.join_fds, null, null, null))
            os.close(tape)
        elif message.kind in (Kind.WAITING, Kind.READY):
            stands.add(message.kind)
            if stands == {Kind.WAITING, Kind.READY}:
                messages.tell(sock, messages.GO)
        elif message.kind is Kind.ENDED:
            break
        if message.fd is not None:
            os.close(message.fd)
    taken = time.perf_counter() - began
    sock.close()
    os.close(null)
    os.waitpid(init, 0)
    group.close()
    return taken


def _furnished(plan: Plan) -> float:
    sandbox = Waiting(plan)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    assert sandbox.socket is not None
    while not sandbox.ready:
        _hear(sandbox)
    sandbox.furnish(plan)
    while not sandbox.furnished:
        _hear(sandbox)
    time.sleep(0.005)  # init and payload have come to rest
    command, _ = prepare_command(plan)
    began = time.perf_counter()
    messages.tell(sandbox.socket, command, (null, null, null))
    select.select([sandbox.socket], [], [])
    taken = time.perf_counter() - began
    os.close(null)
    (init,) = sandbox.pids
    sandbox.drop()
    os.waitpid(init, 0)
    sandbox.group.close()
    return taken


def _hear(sandbox: Waiting) -> None:
    assert sandbox.socket is not None
    select.select([sandbox.socket], [], [])
    sandbox.heard()
    if sandbox.failure is not None:
        raise sandbox.failure

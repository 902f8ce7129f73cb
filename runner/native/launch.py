"""Builds one sandbox, measures it, lets the payload go and watches it to its end.

`launch` keeps no state between calls and touches no signal handler, so a short supervisor and a long-lived fork
server can both call it. The calling process must be small and have a single thread: it is forked.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import ExitStack
from dataclasses import dataclass

from skillkeep.kernel import namespaces
from skillkeep.kernel.cgroup_choice import make_group
from skillkeep.kernel.cgroups import Group, GroupLimits
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.runner.interface import Assurance
from skillkeep.runner.native.attest import measure
from skillkeep.runner.native.binds import open_mapped
from skillkeep.runner.native.channel import Channel, LayerError, Message, StartError
from skillkeep.runner.native.feed import Feeder
from skillkeep.runner.native.identity import choose_identity
from skillkeep.runner.native.inside import STATUS, Streams, run_init
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.watch import Bounds, Seen, Watched, watch

__all__ = ["Outcome", "launch"]

_SETUP_SECONDS = 20.0


@dataclass(frozen=True)
class Outcome:
    """A finished run as seen from outside. `status` is the payload's wait status, None when init was killed."""

    status: int | None
    stopped_for: str
    stdout: bytes
    stderr: bytes
    stdout_truncated: bool
    stderr_truncated: bool
    wall_seconds: float
    user_seconds: float
    system_seconds: float
    peak_memory: int
    peak_processes: int
    oom_kills: int
    refused_forks: int
    assurance: Assurance


def launch(plan: Plan, stdin: bytes | int | None = None, caller: int = -1) -> Outcome:
    """Run the plan. `stdin` is the payload's input: bytes, a descriptor to read from, or None for an empty one.
    The end of `caller`, a socket, stops the run.

    Raises LayerError when a layer cannot be set up or does not hold (nothing of the payload ran then), and
    StartError when the program cannot be executed.
    """
    try:
        with ExitStack() as stack:
            group = make_group(GroupLimits(plan.memory_bytes, plan.processes + 1, plan.cpus), plan.run_id)
            stack.callback(group.close)
            return _launch(plan, stdin, caller, group, stack)
    except KernelError as error:
        raise LayerError(error.layer, error.what, error.hint, str(error.context["errno"])) from error


def _launch(plan: Plan, stdin: bytes | int | None, caller: int, group: Group, stack: ExitStack) -> Outcome:
    if not {"memory", "pids"} <= set(group.enforces) and not os.path.exists("/proc/thread-self/children"):
        raise LayerError("watchdog", "this kernel does not list a process's children (CONFIG_PROC_CHILDREN)")
    channel = Channel()
    stack.callback(channel.close)
    out, err, status, feed = (stack.enter_context(_Pipe()) for _ in range(4))
    streams = Streams(feed.read_end, out.write_end, err.write_end, status.write_end)
    as_root = os.geteuid() == 0
    init = namespaces.fork_into(group.into_fd)
    if init == 0:
        run_init(plan, channel, streams, group, as_root)
    with _Init(init) as child:
        channel.close_inner()
        for pipe in (out, err, status):
            pipe.close_write_end()
        feed.close_read_end()
        assurance, costs = _release(plan, channel, init, group)
        started = time.monotonic()
        bounds = Bounds(
            started + plan.wall_seconds,
            plan.output_bytes,
            None if "memory" in group.enforces else plan.memory_bytes,
            None if "pids" in group.enforces else plan.processes,
        )
        feeder = Feeder(b"" if stdin is None else stdin, feed.give_write_end())
        stack.callback(feeder.close)
        seen = watch(Watched(init, child.pidfd, out.read_end, err.read_end, feeder, caller), bounds)
        wall = time.monotonic() - started
        usage = child.reap()
    if (last := channel.hear(_SETUP_SECONDS)) and last.kind == "unstarted":
        raise StartError(plan.argv[0], int(last.fields["number"]))
    word = os.read(status.read_end, STATUS.size)
    facts = _facts(group, seen, usage)
    return Outcome(
        status=STATUS.unpack(word)[0] if len(word) == STATUS.size else None,
        stopped_for=seen.stopped_for,
        stdout=bytes(seen.streams[out.read_end]),
        stderr=bytes(seen.streams[err.read_end]),
        stdout_truncated=out.read_end in seen.truncated,
        stderr_truncated=err.read_end in seen.truncated,
        wall_seconds=wall,
        user_seconds=max(usage.ru_utime - costs[0], 0.0),
        system_seconds=max(usage.ru_stime - costs[1], 0.0),
        assurance=assurance,
        **facts,
    )


def _release(plan: Plan, channel: Channel, init: int, group: Group) -> tuple[Assurance, tuple[float, float]]:
    """Give the ids, wait for all to be built, measure, let go; also what building cost (user, system seconds)."""
    identity = choose_identity(init, plan.id_base)
    namespaces.write_maps(init, identity.ids)
    mapped = open_mapped(plan, identity)
    channel.tell_inside("mapped", mapped)
    for fd in mapped.values():
        os.close(fd)
    heard: dict[str, Message] = {}
    deadline = time.monotonic() + _SETUP_SECONDS
    while not {"ready", "waiting"} <= heard.keys():
        message = channel.hear(deadline - time.monotonic())
        if message is None:
            raise _lost(group)
        heard[message.kind] = message
    ready = heard["ready"]
    assurance = measure(plan, ready, identity, {name: part.path for part in group.parts for name in part.enforces})
    with (
        guarded("oom_score", "mark the payload as the first to go"),
        open(f"/proc/{ready.pid}/oom_score_adj", "w", encoding="ascii") as file,
    ):
        file.write("1000")
    costs = [sum(float(message.fields[key]) for message in heard.values()) for key in ("user", "system")]
    channel.tell_inside("go")
    return assurance, (costs[0], costs[1])


def _lost(group: Group) -> LayerError:
    if group.facts().get("oom_kills"):
        hint = "Give the policy more memory: building the sandbox itself needs about 16 MiB."
        return LayerError("cgroup", "the memory limit is too small to build the sandbox in", hint)
    return LayerError("setup", "the sandbox's init ended without a word", "Look at the kernel log for the reason.")


def _facts(group: Group, seen: Seen, usage: resource.struct_rusage) -> dict[str, int]:
    counted = group.facts()
    peak_processes = counted.get("peak_processes", 0) - 1
    return {
        "peak_memory": counted.get("peak_memory") or max(seen.peak_memory, usage.ru_maxrss * 1024),
        "peak_processes": max(peak_processes, seen.peak_processes, 1),
        "oom_kills": counted.get("oom_kills", 0),
        "refused_forks": counted.get("refused_forks", 0),
    }


class _Init:
    """The sandbox's first process; leaving the block kills it, and with it everything inside."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self._usage: resource.struct_rusage | None = None

    def __enter__(self) -> _Init:
        return self

    def reap(self) -> resource.struct_rusage:
        if self._usage is None:
            self._usage = os.wait4(self.pid, 0)[2]
        return self._usage

    def __exit__(self, *_: object) -> None:
        if self._usage is None:
            os.kill(self.pid, signal.SIGKILL)
            self.reap()
        os.close(self.pidfd)


class _Pipe:
    """A pipe whose ends are closed with the block."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe2(os.O_CLOEXEC)
        self._open = {self.read_end, self.write_end}

    def __enter__(self) -> _Pipe:
        return self

    def close_write_end(self) -> None:
        os.close(self.give_write_end())

    def close_read_end(self) -> None:
        self._open.discard(self.read_end)
        os.close(self.read_end)

    def give_write_end(self) -> int:
        """The write end, from now on the caller's to close."""
        self._open.discard(self.write_end)
        return self.write_end

    def __exit__(self, *_: object) -> None:
        for fd in self._open:
            os.close(fd)

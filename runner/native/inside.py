"""What runs in the new namespaces: init builds the root and waits; its child becomes the payload.

Both come from a fork of the supervisor, so nothing may be imported here that is not loaded already: the
interpreter's files are out of sight after `pivot_root`.
"""

from __future__ import annotations

import errno
import math
import os
import resource
import signal
import socket
import struct
from dataclasses import dataclass
from typing import NoReturn

from skillkeep.kernel import capabilities, landlock, namespaces, process
from skillkeep.kernel.cgroups import Group
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.rlimits import NO_CORE_DUMP, set_limits
from skillkeep.runner.native.channel import Channel
from skillkeep.runner.native.filters import init_filter, payload_filter
from skillkeep.runner.native.plan import INSIDE_ID, Plan
from skillkeep.runner.native.rootfs import build_root, open_sources

__all__ = ["STATUS", "Streams", "run_init"]

STATUS = struct.Struct("=i")
"""Init's word on the status pipe: the payload's wait status."""

_CAP_KILL = 5
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_LONGEST_SECONDS = 1e9
_LOCKED_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Streams:
    """Descriptors handed in: the payload's stdin, stdout and stderr, and the pipe for init's status."""

    stdin: int
    stdout: int
    stderr: int
    status: int


def run_init(plan: Plan, channel: Channel, streams: Streams, group: Group, as_root: bool) -> NoReturn:
    """Be pid 1 of the sandbox; never returns. A failure is reported on the channel, then the process ends."""
    try:
        _run_init(plan, channel, streams, group, as_root)
    except BaseException as error:
        try:
            channel.report_failure(error)
        finally:
            os._exit(1)
    os._exit(1)


def _run_init(plan: Plan, channel: Channel, streams: Streams, group: Group, as_root: bool) -> None:
    os.umask(0o022)
    signal.set_wakeup_fd(-1)
    for number in (*_FORWARDED, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    process.die_with_parent(0)
    channel.close_outer()
    mapped = channel.wait_for("mapped")
    group.join()
    namespaces.leave_cgroup_view()
    sources = open_sources(plan, mapped)
    if as_root:
        _become(0)
        process.die_with_parent(0)  # again: a change of ids undoes it
    with guarded("hostname", "sethostname"):
        socket.sethostname("sandbox")
    build_root(plan, sources)
    payload = os.fork()
    if payload == 0:
        _run_payload(plan, channel, streams, group, as_root)
    _wait_for(payload, channel, streams.status)


def _become(inside_id: int) -> None:
    with guarded("user_map", f"become id {inside_id}"):
        os.setgroups([])
        os.setresgid(inside_id, inside_id, inside_id)
        os.setresuid(inside_id, inside_id, inside_id)


def _wait_for(payload: int, channel: Channel, status_fd: int) -> NoReturn:
    """Give up everything, forward signals, reap; end with the payload, which ends all that it left behind."""
    with guarded("descriptors", "place init's streams"):
        null = os.open("/dev/null", os.O_RDWR)
        words, status_fd = os.dup(channel.inner.fileno()), os.dup(status_fd)
        for target, source in enumerate((null, null, null, status_fd, words)):
            os.dup2(source, target, inheritable=False)
        channel.inner.detach()
        channel.inner = socket.socket(fileno=4)
    process.close_above(4)
    for number in _FORWARDED:
        signal.signal(number, lambda number, _: os.kill(payload, number))
    capabilities.drop_bounding()
    capabilities.keep_only((_CAP_KILL,))
    process.forbid_new_privileges()
    process.hide_memory()
    own = resource.getrusage(resource.RUSAGE_SELF)
    init_filter().install()
    channel.report("waiting", user=own.ru_utime, system=own.ru_stime)
    os.close(4)
    while True:
        pid, status = os.wait()
        if pid == payload:
            os.write(3, STATUS.pack(status))
            os._exit(0)


def _run_payload(plan: Plan, channel: Channel, streams: Streams, group: Group, as_root: bool) -> NoReturn:
    try:
        _lay_down_rights(plan, channel, streams, group, as_root)
        channel.wait_for("go")
    except BaseException as error:
        try:
            channel.report_failure(error)
        finally:
            os._exit(1)
    try:
        channel.report("unstarted", number=_execute(plan))
    finally:
        os._exit(127)


def _lay_down_rights(plan: Plan, channel: Channel, streams: Streams, group: Group, as_root: bool) -> None:
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with guarded("descriptors", "place the streams"):
        os.setsid()
        for fd, source in enumerate((streams.stdin, streams.stdout, streams.stderr)):
            os.dup2(source, fd)
        os.dup2(channel.inner.detach(), 3, inheritable=False)
        channel.inner = socket.socket(fileno=3)
    process.close_above(3)
    capabilities.drop_bounding()
    if as_root:
        _become(INSIDE_ID)
    capabilities.keep_only()
    with guarded("workdir", f"enter {plan.workdir}"):
        os.chdir(plan.workdir)
    process.forbid_new_privileges()
    # The supervisor measures this process before it lets it go; execve sets the flag anew in any case.
    process.show_memory()
    version = _restrict_files(plan)
    _limit(plan, group, as_root)
    own = resource.getrusage(resource.RUSAGE_SELF)
    payload_filter().install()
    channel.report("ready", landlock=version, user=own.ru_utime, system=own.ru_stime)


def _limit(plan: Plan, group: Group, as_root: bool) -> None:
    limits = {"core": NO_CORE_DUMP, "open_files": plan.open_files, "file_bytes": plan.file_bytes}
    limits |= {"locked": _LOCKED_BYTES, "queues": 0}
    if "memory" not in group.enforces:
        limits["data"] = plan.memory_bytes
    if "pids" not in group.enforces:
        # Counted by id in this user namespace only (Linux 5.14 on); without root init has the same id.
        limits["processes"] = plan.processes + (0 if as_root else 1)
    if "cpu" not in group.enforces:
        limits["cpu_seconds"] = math.ceil(min(plan.wall_seconds * max(plan.cpus, 1.0), _LONGEST_SECONDS))
        cores = sorted(os.sched_getaffinity(0))
        with guarded("cpu", "bind to cores"):
            os.sched_setaffinity(0, cores[: math.ceil(min(plan.cpus, len(cores)))])
    set_limits(limits)


def _restrict_files(plan: Plan) -> int:
    """Landlock over the finished root; 0 where the kernel has none, which the probe has said already."""
    version = landlock.abi_or_none()
    if version:
        rules = landlock.Ruleset(version)
        rules.allow_read(("/",), execute=True)
        rules.allow_write(("/dev", "/proc"))
        for path in ("/tmp", "/dev/shm", *(bind.target for bind in plan.binds if bind.writable)):  # noqa: S108
            rules.allow_everything_below(path)
        rules.restrict_self()
    return version


def _execute(plan: Plan) -> int:
    """Replace this process by the program; returns the errno when that is not possible."""
    env = dict(plan.env)
    program = plan.argv[0]
    folders = [""] if "/" in program else [f"{folder or '.'}/" for folder in env["PATH"].split(":")]
    answer = errno.ENOENT
    for folder in folders:
        try:
            os.execve(folder + program, plan.argv, env)  # noqa: S606  there is no shell here
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                answer = error.errno or errno.EIO
                if answer != errno.EACCES:
                    break
    return answer

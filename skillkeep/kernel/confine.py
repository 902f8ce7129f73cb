"""Gives a fresh single-threaded worker interpreter only what its job needs, for good.

For workers that parse hostile bytes: no namespaces (they may be forbidden), so Landlock bounds files and TCP,
seccomp bounds the kernel's surface, rlimits bound resources. Not bounded: UDP when TCP ports are granted
(resolvers need it), and metadata calls on files the worker may read when it may run programs and write.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from skillkeep.kernel import capabilities, landlock, process
from skillkeep.kernel.calls import (
    AF_INET,
    AF_INET6,
    AF_NETLINK,
    MODE_ARGUMENT,
    any_bit,
    families,
    ordinary_rules,
    without_sigio,
)
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.rlimits import NO_CORE_DUMP, set_limits
from skillkeep.kernel.seccomp import ALLOW, Action, Check, Filter, Rule, deny

__all__ = ["apply_confinement", "tasks_of_user", "worker_rules"]

_CLONE_THREAD = 0x10000
_STREAM, _DATAGRAM, _RAW = 1, 2, 3
_OWNERSHIP = """
    chown fchown lchown fchownat setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr
    removexattrat mknod mknodat
"""
_TIMES_AND_MODES = "chmod fchmod fchmodat fchmodat2 utime utimes utimensat futimesat"
_MODES_REFUSED = 0o6022
_SERVING = "listen accept accept4"
_OTHERS = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal"
_SHARED = "shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink"
_LEAVING = "setsid setpgid"  # what a worker started is found and ended by its process group
_SCHEDULING = "sched_setaffinity sched_setparam sched_setscheduler sched_setattr setpriority"
_DEVICES = ("/dev/null",)
_DEVICES_TO_READ = ("/dev/zero", "/dev/urandom", "/dev/random")


def worker_rules(*, network: bool, programs: bool, writes: bool, signals_scoped: bool) -> dict[str, Action | Rule]:
    """The system calls of a worker: the ordinary base without all that Landlock does not see."""
    rules = ordinary_rules()
    refused = [_OWNERSHIP, _SERVING, _SHARED, _SCHEDULING, _LEAVING]
    if not signals_scoped:
        refused.append(_OTHERS)
        rules |= without_sigio(rules)
    if not (programs and writes):
        refused.append(_TIMES_AND_MODES)
    else:
        # git sets modes of its own files; nothing needs setuid bits or a file the world can write.
        rules |= {name: Rule(any_bit(index, _MODES_REFUSED, deny()), ALLOW) for name, index in MODE_ARGUMENT.items()}
    if not programs:
        refused.append("execve execveat fork vfork")
        rules["clone"] = Rule((Check(0, (0,), deny(), mask=_CLONE_THREAD), *_checks(rules["clone"])), ALLOW)
    rules |= dict.fromkeys(" ".join(refused).split(), deny())
    if not network:
        rules["socket"] = families()
        rules |= dict.fromkeys(("connect", "bind"), deny())
    else:
        rules["socket"] = Rule(
            (
                Check(0, (AF_NETLINK,), ALLOW),
                *families(AF_INET, AF_INET6, kinds=(_STREAM, _DATAGRAM)).checks,
            ),
            deny(errno.EAFNOSUPPORT),
        )
    return rules


def apply_confinement(
    *,
    read: Sequence[str],
    write: Sequence[str],
    tcp_ports: Sequence[int],
    programs: bool,
    memory_bytes: int,
    cpu_seconds: int,
    file_bytes: int,
    processes: int,
    open_files: int,
) -> tuple[str, ...]:
    """Confine the calling process for good and return the names of the layers now in force.

    Files: read below `read` (and run programs there with `programs`), change below `write`; never execute
    below `write`. Network: none, or TCP to `tcp_ports` only (kernel ABI 4 and up; below it any TCP, and then
    `landlock_tcp` is absent from the result). `processes` holds an ordinary user's worker with `programs`;
    without `programs` no process can be made at all. Raises KernelError naming the layer that failed.
    """
    process.require_single_thread()
    process.close_above(2)
    process.forbid_new_privileges()
    process.hide_memory()
    set_limits(
        {
            "cpu_seconds": cpu_seconds,
            "file_bytes": file_bytes,
            "open_files": open_files,
            "core": NO_CORE_DUMP,
            "queues": 0,
        }
    )
    set_limits(_memory_and_tasks(memory_bytes, processes, programs))
    layers = ["no_new_privs", "descriptors", "rlimits"]
    ruleset = landlock.Ruleset()
    ruleset.allow_read((*read, *_DEVICES_TO_READ), execute=programs)
    ruleset.allow_write((*write, *_DEVICES))
    ruleset.allow_connect(tcp_ports)
    if capabilities.sets()["CapPrm"]:
        # Root keeps only reading what belongs to other users; Landlock still says where.
        capabilities.drop_bounding()
        capabilities.keep_only((capabilities.CAP_DAC_READ_SEARCH,))
        layers.append("capabilities")
    ruleset.restrict_self()
    layers += [f"landlock_{kind}" for kind in ruleset.handled]
    Filter(
        worker_rules(
            network=bool(tcp_ports),
            programs=programs,
            writes=bool(write),
            signals_scoped="signals" in ruleset.handled,
        )
    ).install()
    return (*layers, "seccomp")


def _memory_and_tasks(memory_bytes: int, processes: int, programs: bool) -> dict[str, int]:
    if not programs:
        return {"address_space": memory_bytes}
    # Programs such as git and semgrep reserve far more address space than they use.
    limits = {"data": memory_bytes}
    if os.getuid() != 0:
        # The kernel counts all tasks of the user, so the worker's share comes on top of what runs now.
        limits["processes"] = tasks_of_user() + processes
    return limits


def tasks_of_user() -> int:
    """How many processes and threads this process's user has now. Raises KernelError."""
    me, count = os.getuid(), 0
    with guarded("rlimits", "count the user's tasks"), os.scandir("/proc") as entries:
        for entry in entries:
            if not entry.name.isdigit():
                continue
            try:
                if entry.stat().st_uid == me:
                    count += len(os.listdir(f"/proc/{entry.name}/task"))
            except OSError:
                continue  # the process ended meanwhile
    return count


def _checks(rule: Action | Rule) -> tuple[Check, ...]:
    if not isinstance(rule, Rule):
        raise KernelError("seccomp", 0, "a rule with checks was expected")
    return rule.checks

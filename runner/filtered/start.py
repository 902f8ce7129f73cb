"""The launcher: gives up everything its run does not need, says so, waits for the word, and becomes the program."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from skillkeep.kernel import capabilities, landlock, process
from skillkeep.kernel.confine import worker_rules
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.rlimits import set_limits
from skillkeep.kernel.seccomp import Action, Check, Filter, Rule, deny
from skillkeep.runner.native.filters import no_unseen_memory

__all__ = ["main", "rules"]

_DEVICES = ("/dev/null",)
_F_SETPIPE_SZ = 1031  # of a pipe that the caller reads on when the run is over
_DEVICES_TO_READ = ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_LEAST_LANDLOCK = 3  # the first that keeps a file which may only be read from being cut short
# Landlock does not look at these: they tell of the host's files, and of who uses them.
_WATCHING = (
    "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch getpriority sched_getparam sched_getattr"
    " getxattr lgetxattr listxattr llistxattr getxattrat listxattrat"  # by path; of an open file they are allowed
)


def rules(signals_scoped: bool) -> dict[str, Action | Rule]:
    """The system calls of a run: those of a confined worker that may start programs, and no socket of any kind."""
    found = worker_rules(network=False, programs=True, writes=False, signals_scoped=signals_scoped)
    found |= no_unseen_memory(found["mmap"])
    descriptors = found["fcntl"]
    assert isinstance(descriptors, Rule)
    found["fcntl"] = Rule((Check(1, (_F_SETPIPE_SZ,), deny()), *descriptors.checks), descriptors.otherwise)
    return found | dict.fromkeys(_WATCHING.split(), deny())


def main(plan_fd: int, socket_fd: int) -> int:
    """Read the plan, confine this process, report, wait for ``go``, execute. Returns only when that failed."""
    with socket.socket(fileno=socket_fd) as starter:
        starter.set_inheritable(False)  # else the program would have it
        plan = json.loads(os.pread(plan_fd, os.fstat(plan_fd).st_size, 0))
        os.close(plan_fd)
        try:
            facts = _confine(plan)
        except KernelError as error:
            facts = {"layer": error.layer, "detail": error.what, "hint": error.hint, "errno": error.context["errno"]}
        starter.send(json.dumps(facts).encode())
        if "layer" in facts or starter.recv(2) != b"go":
            return 125
        try:
            os.execvpe(plan["argv"][0], plan["argv"], plan["env"])  # noqa: S606
        except OSError as error:
            starter.send(json.dumps({"errno": error.errno}).encode())
        return 127


def _confine(plan: dict[str, Any]) -> dict[str, Any]:
    process.require_single_thread()
    for fd in (0, 1, 2):
        os.set_inheritable(fd, True)
    set_limits(plan["limits"])
    with guarded("cpu", "keep to the run's cores"):
        os.sched_setaffinity(0, plan["cores"])  # the filter lets nobody change it
        if process.is_real_time():
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if capabilities.sets()["CapPrm"]:
        capabilities.drop_bounding()
    if plan["uid"] is not None:
        with guarded("user_map", f"become user {plan['uid']}"):
            os.setgroups([])
            os.setresgid(plan["uid"], plan["uid"], plan["uid"])
            os.setresuid(plan["uid"], plan["uid"], plan["uid"])
    capabilities.keep_only(())
    process.die_with_parent(plan["parent"])
    with guarded("workdir", "enter the working folder"):
        os.chdir(plan["workdir"])
    process.forbid_new_privileges()
    ruleset = landlock.Ruleset()
    if ruleset.version < _LEAST_LANDLOCK:
        what = f"version {ruleset.version} lets files that may only be read be cut short"
        raise KernelError(landlock.LAYER, 0, what, "Linux 6.2 or later is needed here; or mend the native sandbox.")
    ruleset.allow_read((*plan["read"], *_DEVICES_TO_READ), execute=True)
    ruleset.allow_granted(plan["write"])
    ruleset.allow_write(_DEVICES)
    handled = ruleset.handled
    ruleset.restrict_self()
    Filter(rules("signals" in handled)).install()
    return {"landlock": ruleset.version, "handled": list(handled)}

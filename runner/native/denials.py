"""What a run was refused, in words: what it tried, which layer refused, and which line of the policy would allow it."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

from skillkeep.grants import grant_of_place, is_grantable
from skillkeep.runner.interface import Assurance, Denial, SandboxPolicy

__all__ = ["denials_of"]

_INET = (2, 10)
_FAMILIES = {2: "AF_INET", 10: "AF_INET6", 16: "AF_NETLINK", 17: "AF_PACKET", 38: "AF_ALG", 40: "AF_VSOCK"}
_REQUESTS = {0x5412: "TIOCSTI", 0x541C: "TIOCLINUX", 0x5423: "TIOCSETD", 0x541D: "TIOCCONS"}
_LIMITS = {
    errno.EMFILE: "open_files",
    errno.EFBIG: "file_bytes",
    errno.ENOSPC: "tmp_bytes",
    errno.EDQUOT: "tmp_bytes",
}
_TOLD = ("oom_kills", "refused_forks", "egress", "refused_calls", "refused_files")
_NAMED: Mapping[str, Mapping[int, str]] = {"socket": _FAMILIES, "ioctl": _REQUESTS}


def denials_of(answer: Mapping[str, Any], policy: SandboxPolicy, held: Assurance) -> tuple[Denial, ...]:
    """The denials in the fork server's `answer` to a run under `policy`, of which `held` was measured."""
    found, stopped_for = [], answer["stopped_for"]
    if not (stopped_for or any(map(answer.__getitem__, _TOLD))):
        return ()
    group = held.layer("cgroup")
    bounds = {} if group is None else group.facts
    holder = {name: "cgroup" if name in bounds else "watchdog" for name in ("memory", "pids")}
    if answer["oom_kills"] or stopped_for == "oom":
        kills = max(answer["oom_kills"], 1)
        detail = f"{kills} process(es) killed at {policy.memory_bytes} bytes"
        found.append(Denial("memory", detail, "memory_bytes", holder["memory"]))
    if answer["refused_forks"] or stopped_for == "processes":
        times = max(answer["refused_forks"], 1)
        detail = f"{times} time(s) above {policy.processes} processes"
        found.append(Denial("processes", detail, "processes", holder["pids"]))
    refused = [each for each in answer["egress"] if not each["allowed"]]
    for host, port, reason in dict.fromkeys((each["host"], each["port"], each["reason"]) for each in refused):
        found.append(Denial("network", reason, grant_of_place(host, port), "egress"))
    files = dict.fromkeys(_refused_file(each, policy) for each in answer["refused_files"])
    return (*found, *(_refused_call(**each) for each in answer["refused_calls"]), *files)


def _refused_call(call: str, argument: int | None, errno: int, times: int) -> Denial:
    name = call
    if argument is not None:
        name = f"{call}({_NAMED.get(call, {}).get(argument, hex(argument))})"
    often = "" if times == 1 else f", {times} times"
    wants_network = call == "socket" and argument in _INET
    return Denial("system call", f"{name}: {_spelt(errno)}{often}", "net:HOST:PORT" if wants_network else "", "seccomp")


def _refused_file(note: Mapping[str, Any], policy: SandboxPolicy) -> Denial:
    """What a tracer saw (`tracer`)."""
    if "place" in note:
        host, port = note["place"]
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        detail = f"{note['wish']} {place}: {_spelt(note['errno'])}: {note['why']}"
        return Denial("network", detail, grant_of_place(host, port), note["layer"])
    path, layer = note["path"], note["layer"]
    hint = _LIMITS.get(note["errno"], "")
    if layer == "root" and note["call"] not in ("execve", "execveat"):
        hint = _grant_for(path, policy)
    return Denial("file", f"{note['wish']} {path}: {_spelt(note['errno'])}: {note['why']}", hint, layer)


def _grant_for(path: str, policy: SandboxPolicy) -> str:
    """The grant that would show `path`, or the folder it was to be made in; empty where none can (see `policy`)."""
    from skillkeep.runner.native.refusals import may_be_looked_at  # few runs are explained

    if not may_be_looked_at(path):
        return ""
    place = path if os.path.lexists(path) else os.path.dirname(path)
    grant = f"write:{place}"
    kept = f"{place}/".startswith(f"{policy.tool_mount}/") or not is_grantable(grant)
    usable = os.path.isdir(place) or os.path.isfile(place)
    return grant if usable and not kept and os.path.realpath(place) == place else ""


def _spelt(number: int) -> str:
    return f"{errno.errorcode.get(number, str(number))} ({os.strerror(number)})"

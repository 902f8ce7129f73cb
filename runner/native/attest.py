"""Measures a built sandbox from outside, while its payload still waits for the word to start.

What the payload's own set-up claims counts for nothing here, except for Landlock, which the kernel shows to
nobody: that layer's facts say so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.namespaces import KINDS
from skillkeep.kernel.process import started_at
from skillkeep.kernel.procfs import namespaces_of, read_text, status_of, write_text
from skillkeep.kernel.rlimits import NO_CORE_DUMP
from skillkeep.kernel.seccomp import Filter
from skillkeep.runner.interface import Assurance, AssuranceLevel, Layer
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.filters import payload_filter
from skillkeep.runner.native.identity import Identity
from skillkeep.runner.native.plan import Plan

__all__ = ["mark_as_first_to_go", "measure"]

_CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
_BOUNDED = {"memory", "pids", "cpu"}
_STATUS = ("Uid", "Gid", "Groups", *_CAPABILITY_SETS, "NoNewPrivs", "Seccomp", "Seccomp_filters")
_MOUNT = re.compile(r"^(?:[^ ]+ ){4}([^ ]+) ([^ ]+) (.*)$", re.MULTILINE)
"""Of mountinfo: where, options, and what follows."""


def measure(
    plan: Plan,
    payload: int,
    landlock: int,
    identity: Identity,
    bounded_by: dict[str, str],
    noticed: bool = False,
    *,
    root: Layer | None = None,
) -> Assurance:
    """The assurance of the waiting process `payload`.

    `landlock` is the version its set-up used, 0 for none; `bounded_by` gives the control group's path by controller;
    `noticed` whether refused calls are told to a listener; `root` is that layer of another process in the same mount
    namespace, where nobody may mount.
    Raises LayerError for the first layer that does not hold, or when the whole is below `plan.min_level`.
    """
    base = f"/proc/{payload}"
    status = _status(payload)
    filter_held = payload_filter(bool(plan.egress), "memory" in bounded_by, noticed, "cpu" not in bounded_by)
    checks: tuple[Callable[[], Layer], ...] = (
        lambda: _identity(status, identity),
        lambda: _namespaces(payload),
        lambda: root or _root(base),
        lambda: _capabilities(status),
        lambda: _no_new_privs(status),
        lambda: _seccomp(status, filter_held),
        lambda: _rlimits(base, plan),
        lambda: _cgroup(base, bounded_by),
    )
    layers = []
    for check in checks:
        try:
            layers.append(check())
        except (OSError, KeyError, ValueError) as error:
            raise LayerError("attestation", f"the waiting payload could not be measured: {error}") from error
    facts = {"abi": str(landlock), "source": "a step of the set-up, which stops at a refusal"}
    layers.append(Layer("landlock", landlock > 0, facts))
    reach = {
        "reaches": ", ".join(plan.egress) or "nothing",
        "by": "the egress proxy" if plan.egress else "no interface",
    }
    layers.append(Layer("network", True, reach))
    level = AssuranceLevel.BOUNDED if bounded_by.keys() >= _BOUNDED else AssuranceLevel.ISOLATED
    if level < plan.min_level:
        raise LayerError(
            "min_assurance",
            f"only {', '.join(sorted(bounded_by)) or 'nothing'} is bounded by a control group, the run demands all",
            "Run where control groups are writable (root, or a delegated systemd user session).",
        )
    losses = [*_losses(bounded_by, landlock, identity), *_core_loss(layers)]
    return Assurance(level, tuple(layers), payload_host_uid=identity.host_uid, losses=tuple(losses))


def mark_as_first_to_go(payload: int) -> None:
    """Let the kernel kill the measured process before all others when memory is short.

    Raises KernelError("oom_score"), LayerError when the process has ended since it was measured.
    """
    try:
        with guarded("oom_score", "mark the payload as the first to go"):
            write_text(f"/proc/{payload}/oom_score_adj", "1000")
    except KernelError as error:
        if started_at(payload) >= 0:
            raise
        raise LayerError("attestation", "the payload ended when it had just been measured") from error


def _losses(bounded_by: dict[str, str], landlock: int, identity: Identity) -> list[str]:
    words = {
        "memory": "memory is bounded per process by rlimit and in total by a watchdog that looks every 20 ms",
        "pids": "processes are bounded by rlimit in the user namespace and by a watchdog",
        "cpu": "CPU is bounded by core affinity and rlimit, not by a quota",
    }
    found = [text for name, text in words.items() if name not in bounded_by]
    if not landlock:
        found.append("the kernel has no Landlock; the read-only mounts stand alone")
    if not identity.as_root:
        found.append("the payload's host uid is the caller's own, with the caller's supplementary groups")
    return found


def _core_loss(layers: list[Layer]) -> list[str]:
    """A hard core limit of 0 cannot be raised to 1 by an ordinary user; with 0, a piped handler still runs."""
    limits = next(layer.facts for layer in layers if layer.name == "rlimits")
    piped = read_text("/proc/sys/kernel/core_pattern").startswith("|")
    if piped and limits["Max core file size"] != str(NO_CORE_DUMP):
        return ["a crash starts the host's core dump handler: the hard core limit is 0, raise it to 1"]
    return []


def _status(payload: int) -> dict[str, str]:
    try:
        return status_of(payload, _STATUS)
    except OSError as error:
        raise LayerError("attestation", f"the payload ended before it was measured: {error}") from error


def _identity(status: dict[str, str], identity: Identity) -> Layer:
    users, groups = set(status["Uid"].split()), set(status["Gid"].split())
    if users != {str(identity.host_uid)} or groups != {str(identity.host_gid)} or "0" in users:
        raise LayerError("user_map", f"the payload's host ids are {users} and {groups}, not as mapped")
    if identity.as_root and status["Groups"].strip():
        raise LayerError("user_map", "the payload kept supplementary groups of root")
    return Layer("identity", True, {"host_uid": status["Uid"].split()[0], "host_gid": status["Gid"].split()[0]})


def _namespaces(payload: int) -> Layer:
    own, facts = _own_namespaces(), namespaces_of(payload, KINDS)
    for kind in KINDS:
        if own[kind] == facts[kind]:
            raise LayerError(f"{kind}_namespace", "the payload shares it with the host")
    return Layer("namespaces", True, facts)


@cache
def _own_namespaces() -> dict[str, str]:
    """The server's own, in which it stays."""
    return namespaces_of("self", KINDS)


def _root(base: str) -> Layer:
    text = read_text(f"{base}/mountinfo")
    rows = [(place, options.split(","), rest) for place, options, rest in _MOUNT.findall(text)]
    if len(rows) != text.count("\n"):
        raise LayerError("root", "a line of the payload's mountinfo cannot be read")
    top = [(options, rest) for place, options, rest in rows if place == "/"]
    if len(top) != 1 or " - tmpfs " not in f" {top[0][1]}" or "ro" not in top[0][0]:
        raise LayerError("root", "the payload's root is not one read-only tmpfs")
    if not any(place == "/proc/sys" and "ro" in options for place, options, _ in rows):
        raise LayerError("proc", "/proc/sys is not a read-only mount")
    for place, options, _ in rows:
        if "nosuid" not in options or ("nodev" not in options and not place.startswith(("/dev/", "/proc/"))):
            raise LayerError("root", f"the mount {place} is not nosuid and nodev")
    return Layer("root", True, {"mounts": str(len(rows)), "root": "read-only tmpfs, every mount nosuid"})


def _capabilities(status: dict[str, str]) -> Layer:
    facts = {name: status[name] for name in _CAPABILITY_SETS}
    if any(int(value, 16) for value in facts.values()):
        raise LayerError("capabilities", f"the payload holds capabilities: {facts}")
    return Layer("capabilities", True, facts)


def _no_new_privs(status: dict[str, str]) -> Layer:
    if status["NoNewPrivs"] != "1":
        raise LayerError("no_new_privs", "the payload could gain privileges by execve")
    return Layer("no_new_privs", True, {"NoNewPrivs": "1"})


def _seccomp(status: dict[str, str], expected: Filter) -> Layer:
    if status["Seccomp"] != "2":
        raise LayerError("seccomp", "no filter is in force")
    facts = {"mode": "filter", "filters": status.get("Seccomp_filters", "unknown"), "sha256": expected.sha256}
    return Layer("seccomp", True, facts)


def _rlimits(base: str, plan: Plan) -> Layer:
    rows = {line[:26].strip(): line[26:].split()[:2] for line in read_text(f"{base}/limits").splitlines()}
    wanted = {"Max core file size": NO_CORE_DUMP, "Max open files": plan.open_files, "Max file size": plan.file_bytes}
    for name, most in wanted.items():
        if any(value == "unlimited" or int(value) > most for value in rows[name]):
            raise LayerError("rlimits", f"{name} is {rows[name]}, not {most}")
    return Layer("rlimits", True, {name: rows[name][1] for name in wanted})


def _cgroup(base: str, bounded_by: dict[str, str]) -> Layer:
    inside = [line.rpartition(":")[2] for line in read_text(f"{base}/cgroup").splitlines()]
    for path in set(bounded_by.values()):
        if not any(line.endswith("/" + os.path.basename(path)) for line in inside):
            raise LayerError("cgroup", f"the payload is not inside {path}")
    return Layer("cgroup", bool(bounded_by), dict(bounded_by))

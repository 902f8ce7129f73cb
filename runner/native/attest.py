"""Measures a built sandbox from outside, while its payload still waits for the word to start.

What the payload's own set-up claims counts for nothing here, except for Landlock, which the kernel shows to
nobody: that layer's facts say so.

A payload that waits for its run before the root is finished is measured in two parts. What it can never get back or
leave again is measured when it begins to wait (`Ahead`); what changes with the run, and that it is still the same
process, when the run has come.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Mapping
from functools import cache

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.process import lives_since
from skillkeep.kernel.procfs import (
    KINDS,
    namespaces_of,
    read_record,
    read_record_again,
    read_text,
    started_at,
    status_of,
    write_text,
)
from skillkeep.kernel.rlimits import NO_CORE_DUMP
from skillkeep.kernel.seccomp import Filter
from skillkeep.runner.interface import Assurance, AssuranceLevel, Layer
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.filters import payload_filter
from skillkeep.runner.native.identity import Identity
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.seen_root import SeenRoot, root_of

__all__ = ["Ahead", "mark_as_first_to_go", "measure"]

_CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
_BOUNDED = {"memory", "pids", "cpu"}
_ENDED = "the waiting payload has ended"
_ORDER = ("identity", "namespaces", "root", "capabilities", "no_new_privs", "seccomp", "rlimits", "cgroup")
_CHANGING = ("root", "cgroup")
_STATUS = ("Uid", "Gid", "Groups", *_CAPABILITY_SETS, "NoNewPrivs", "Seccomp", "Seccomp_filters")
_LIMIT_COLUMN = 26
"""Where the values begin in a line of /proc/PID/limits."""


class Ahead:
    """What was measured of a payload that waits for its run, and the ways to measure the rest.

    Which layers, and why nothing takes them from it: `slots`. The files stay open: what they show is of this very
    process, whatever its number means later. `rooted` says that its root is finished, and is to be measured as well;
    `root` is that layer as of `measure`, and then its mounts are not looked at.
    Raises LayerError for the first layer that does not hold.
    """

    def __init__(
        self,
        plan: Plan,
        payload: int,
        identity: Identity,
        bounded_by: Mapping[str, str],
        noticed: bool,
        *,
        rooted: bool = False,
        root: Layer | None = None,
    ) -> None:
        self._open: list[int] = []
        self._payload = payload
        self._given_root = root
        self._seen_root: SeenRoot | None = None
        self._seen_group: tuple[str, Layer] | None = None
        try:
            self._process = self._kept(os.pidfd_open(payload))
            self._groups = self._kept(os.open(f"/proc/{payload}/cgroup", os.O_RDONLY | os.O_CLOEXEC))
            checks = _lasting(plan, payload, identity, bounded_by, noticed)
            self.layers = {name: check() for name, check in checks.items()}
            if root is None:
                self._seen_root = SeenRoot(payload)
                if rooted:
                    self._seen_root.layer()
        except (OSError, KeyError, ValueError) as error:
            self.close()
            raise _unmeasured(error) from error
        except LayerError:
            self.close()
            raise
        self._end = select.poll()
        self._end.register(self._process, select.POLLIN)

    def _kept(self, fd: int) -> int:
        self._open.append(fd)
        return fd

    @property
    def shown_by(self) -> tuple[int, int]:
        """The pidfd, and the file of its control groups, for whoever is to look at it later."""
        return self._process, self._groups

    def completed(self, bounded_by: Mapping[str, str]) -> dict[str, Layer]:
        """All layers, those that change with the run as they are now. Raises LayerError: first, that it has ended."""
        try:
            found = {**self.layers, "root": self._root(), "cgroup": self._cgroup(bounded_by)}
        except LayerError:
            self._require_life()
            _require_that_it_is_not_ending(self._payload)
            raise
        self._require_life()
        return found

    def still_holds(self, assurance: Assurance, bounded_by: Mapping[str, str]) -> bool:
        """Whether all is as it was found to be, of this process, by `measure`. Raises as `completed`; OSError."""
        now = self.completed(bounded_by)
        return all(now[name] is assurance.layer(name) for name in _CHANGING)

    def _root(self) -> Layer:
        if self._given_root is not None:
            return self._given_root
        assert self._seen_root is not None
        return self._seen_root.layer()

    def _cgroup(self, bounded_by: Mapping[str, str]) -> Layer:
        membership = read_record_again(self._groups)
        if self._seen_group is None or self._seen_group[0] != membership:
            self._seen_group = membership, _cgroup(membership, bounded_by)
        return self._seen_group[1]

    def _require_life(self) -> None:
        """Raise LayerError when the process has ended; it has not become another one else."""
        if self._end.poll(0):
            raise LayerError("attestation", _ENDED)

    def close(self) -> None:
        """Let go of it."""
        if self._seen_root is not None:
            self._seen_root.close()
        while self._open:
            os.close(self._open.pop())


def measure(
    plan: Plan,
    payload: int,
    landlock: int,
    identity: Identity,
    bounded_by: Mapping[str, str],
    noticed: bool = False,
    *,
    root: Layer | SeenRoot | None = None,
    ahead: Ahead | None = None,
) -> Assurance:
    """The assurance of the waiting process `payload`.

    `landlock` is the version its set-up used, 0 for none; `bounded_by` gives the control group's path by controller;
    `noticed` whether refused calls are told to a listener; `root` is its root if that was looked at, or that layer of
    another process in the same mount namespace, where nobody may mount; `ahead` is what was measured of this process
    when it began to wait.
    Raises LayerError for the first layer that does not hold, or when the whole is below `plan.min_level`.
    """
    try:
        if ahead is not None:
            found = ahead.completed(bounded_by)
        else:
            checks = _lasting(plan, payload, identity, bounded_by, noticed)
            checks["root"] = lambda: _known_root(payload, root) or root_of(payload)
            checks["cgroup"] = lambda: _cgroup(read_record(f"/proc/{payload}/cgroup"), bounded_by)
            found = {name: checks[name]() for name in _ORDER}
    except LayerError:
        _require_that_it_is_not_ending(payload)
        raise
    except (OSError, KeyError, ValueError) as error:
        raise _unmeasured(error) from error
    layers = [found[name] for name in _ORDER]
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
    losses = [*_losses(bounded_by, landlock, identity), *_core_loss(found["rlimits"])]
    return Assurance(level, tuple(layers), payload_host_uid=identity.host_uid, losses=tuple(losses))


def _lasting(
    plan: Plan, payload: int, identity: Identity, bounded_by: Mapping[str, str], noticed: bool
) -> dict[str, Callable[[], Layer]]:
    """The checks of what a payload that waits has laid down for good."""
    status = _status(payload)
    filter_held = payload_filter(bool(plan.egress), "memory" in bounded_by, noticed, "cpu" not in bounded_by)
    return {
        "identity": lambda: _identity(status, identity),
        "namespaces": lambda: _namespaces(payload),
        "capabilities": lambda: _capabilities(status),
        "no_new_privs": lambda: _no_new_privs(status),
        "seccomp": lambda: _seccomp(status, filter_held),
        "rlimits": lambda: _rlimits(payload, plan),
    }


def _require_that_it_is_not_ending(payload: int) -> None:
    """Raise LayerError when what was missed is missing because the process ends: first it is in no group any more."""
    if lives_since(payload) < 0:
        raise LayerError("attestation", _ENDED)


def _unmeasured(error: Exception) -> LayerError:
    return LayerError("attestation", f"the waiting payload could not be measured: {error}")


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


def _losses(bounded_by: Mapping[str, str], landlock: int, identity: Identity) -> list[str]:
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


def _core_loss(limits: Layer) -> list[str]:
    """A hard core limit of 0 cannot be raised to 1 by an ordinary user; with 0, a piped handler still runs.

    A handler that listens at a socket (Linux 6.16) is asked whatever the limit is.
    """
    pattern = read_text("/proc/sys/kernel/core_pattern")
    if pattern.startswith("@"):
        return ["a crash is told to the host's core dump handler, which listens at a socket"]
    if limits.facts["Max core file size"] == str(NO_CORE_DUMP):
        return []
    if pattern.startswith("|"):
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


def _known_root(payload: int, root: Layer | SeenRoot | None) -> Layer | None:
    if isinstance(root, SeenRoot):
        return root.layer() if root.pid == payload else None
    return root


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


def _rlimits(payload: int, plan: Plan) -> Layer:
    text = read_record(f"/proc/{payload}/limits")
    wanted = {"Max core file size": NO_CORE_DUMP, "Max open files": plan.open_files, "Max file size": plan.file_bytes}
    rows = {name: _limit(text, name) for name in wanted}
    for name, most in wanted.items():
        if any(value == "unlimited" or int(value) > most for value in rows[name]):
            raise LayerError("rlimits", f"{name} is {rows[name]}, not {most}")
    return Layer("rlimits", True, {name: rows[name][1] for name in wanted})


def _limit(text: str, name: str) -> list[str]:
    """Soft and hard limit of that name. Raises ValueError where there is none."""
    values = text.index("\n" + name.ljust(_LIMIT_COLUMN)) + 1 + _LIMIT_COLUMN
    return text[values : text.index("\n", values)].split()[:2]


def _cgroup(membership: str, bounded_by: Mapping[str, str]) -> Layer:
    inside = [line.rpartition(":")[2] for line in membership.splitlines()]
    for path in set(bounded_by.values()):
        if not any(line.endswith("/" + os.path.basename(path)) for line in inside):
            raise LayerError("cgroup", f"the payload is not inside {path}")
    return Layer("cgroup", bool(bounded_by), dict(bounded_by))

"""Which mechanisms of Linux work on this machine, why not, and what would mend it: for `runner doctor`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from skillkeep.errors import SkillkeepError

__all__ = ["Mechanism", "look_at_mechanisms"]

_TRY_NAMESPACE = (
    "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); "
    "raise SystemExit(ctypes.get_errno() if libc.unshare(0x10000000) else 0)"
)
_SECONDS = 20


@dataclass(frozen=True)
class Mechanism:
    """One mechanism: whether it works, what was seen, and how to mend it (empty when there is nothing to mend)."""

    name: str
    works: bool
    seen: str
    mend: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


def look_at_mechanisms() -> tuple[Mechanism, ...]:
    """Look at each, by trying it where that changes nothing. Empty where this is not Linux."""
    if sys.platform != "linux":
        return ()
    return tuple(_guarded(look) for look in (_namespaces, _groups, _landlock, _seccomp, _notices, _core_dumps))


def _guarded(look: Callable[[], Mechanism]) -> Mechanism:
    try:
        return look()
    except (OSError, SkillkeepError, subprocess.SubprocessError) as error:
        return Mechanism(look.__name__.strip("_").replace("_", " "), False, str(error))


def _namespaces() -> Mechanism:
    name = "user namespaces"
    command = [sys.executable, "-I", "-S", "-c", _TRY_NAMESPACE]
    number = subprocess.run(command, timeout=_SECONDS, check=False).returncode
    if not number:
        return Mechanism(name, True, "one could be made")
    switches = (
        ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
        ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            (
                "allow this Python by an AppArmor profile with `userns,`; without an administrator use a container, or "
                "set sandbox.landlock = true in config.toml"
            ),
        ),
    )
    mend = next((words for path, bad, words in switches if _read(f"/proc/sys/{path}") == bad), "")
    outside = "a surrounding container forbids them: allow them there, or set sandbox.landlock = true in config.toml"
    return Mechanism(name, False, os.strerror(number), mend or outside)


def _groups() -> Mechanism:
    from skillkeep.kernel.cgroup_choice import make_group
    from skillkeep.kernel.cgroups import GroupLimits
    from skillkeep.runner.interface import AssuranceLevel, new_run_id
    from skillkeep.runner.native import NativeBackend

    group = make_group(GroupLimits(64 << 20, 16, 1.0), new_run_id())
    try:
        held = tuple(group.enforces)
    finally:
        group.close()
    works = {"memory", "pids", "cpu"} <= set(held)
    if not works and NativeBackend().probe().level is AssuranceLevel.BOUNDED:
        seen = "all are bound for runs, in a scope that systemd gives; not for environments and warm interpreters"
        return Mechanism("control groups", True, seen)
    mend = "" if works else "run as root, or in a systemd user session with delegated control groups"
    return Mechanism("control groups", works, f"bound here: {', '.join(sorted(held)) or 'nothing'}", mend)


def _landlock() -> Mechanism:
    from skillkeep.kernel.landlock import abi_or_none

    version = abi_or_none()
    mend = "" if version else "boot a kernel with landlock in its lsm= list"
    return Mechanism("Landlock", bool(version), f"version {version}" if version else "the kernel has none", mend)


def _seccomp() -> Mechanism:
    actions = _read("/proc/sys/kernel/seccomp/actions_avail")
    works = "errno" in actions.split()
    return Mechanism("seccomp", works, actions or "no filter", "" if works else "a kernel with CONFIG_SECCOMP_FILTER")


def _notices() -> Mechanism:
    from skillkeep.runner.native.notices import can_be_noticed

    works = can_be_noticed()
    seen = "each is named in the result" if works else "this process runs under a filter of somebody else"
    return Mechanism("refused calls are told", works, seen, "" if works else "start it outside of that sandbox")


def _core_dumps() -> Mechanism:
    import resource

    pattern, hard = _read("/proc/sys/kernel/core_pattern"), resource.getrlimit(resource.RLIMIT_CORE)[1]
    works = not pattern.startswith("|") or hard != 0 or os.geteuid() == 0
    mend = "" if works else "raise the hard core limit from 0 (ulimit -Hc): 1 keeps the host's handler from running"
    seen = f"a crash leaves none (core_pattern {pattern!r})" if works else f"a crash starts the host's {pattern!r}"
    return Mechanism("no core dumps", works, seen, mend)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""

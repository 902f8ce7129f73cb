"""The policy of one run: defaults, then settings, then what was granted to the tool, then what the call asks.

Limits are the caller's to set. Rights are not: a run never has an environment variable or a host folder that was
not granted to the tool by name, and `check_granted` says so again right before every run.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
from collections.abc import Iterable, Mapping

from skillkeep.grants import check_path
from skillkeep.home import Home
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, SandboxPolicy
from skillkeep.settings import SandboxSettings
from skillkeep.text import printable_path
from skillkeep.value import Value, replace
from skillkeep.vault.interface import VaultedTool

__all__ = [
    "TOOL_MOUNT",
    "Limits",
    "build_policy",
    "check_granted",
    "folders_of_strangers",
    "pass_environment",
    "unheld_grants",
]

TOOL_MOUNT = "/work"
_OPTIONS = {
    "wall_seconds": "--timeout",
    "memory_bytes": "--memory",
    "cpus": "--cpus",
    "processes": "--processes",
    "output_bytes": "--output-limit",
}


class Limits(Value):
    """What a call wants otherwise than the settings; None keeps the setting. Seconds and bytes."""

    wall_seconds: float | None = None
    memory_bytes: int | None = None
    cpus: float | None = None
    processes: int | None = None
    output_bytes: int | None = None


_AS_SET = Limits()


def build_policy(tool: VaultedTool, settings: SandboxSettings, home: Home, limits: Limits = _AS_SET) -> SandboxPolicy:
    """The policy for `tool`, without environment variables. Raises `RunnerError` (`bad_policy`) for a bad limit
    or a granted path that cannot be shown.
    """
    binds = tuple(_writable(home, path) for path in _granted(tool.grants, "write"))
    policy = SandboxPolicy(
        cpus=settings.cpus,
        memory_bytes=settings.memory_bytes,
        processes=settings.processes,
        wall_seconds=settings.wall_seconds,
        output_bytes=settings.output_bytes,
        tmp_bytes=settings.tmp_bytes,
        binds=binds,
        tool_mount=TOOL_MOUNT,
        egress=_granted(tool.grants, "net"),
    )
    wanted = {name: value for name, value in vars(limits).items() if value is not None}
    for name, value in wanted.items():
        if not 0 < value < math.inf:
            option = _OPTIONS[name]
            hint = f"Give {option} a number above zero, or leave it out."
            raise RunnerError("bad_policy", f"{option} is not above zero", hint)
    return replace(policy, **wanted)


def pass_environment(
    policy: SandboxPolicy,
    tool: VaultedTool,
    environment: Mapping[str, str],
    names: Iterable[str] = (),
) -> SandboxPolicy:
    """`policy` with the granted variables that are set in `environment`; with `names`, with just those.

    Raises `RunnerError`: `not_granted` for a name without a grant, `bad_policy` for one that is not set.
    """
    granted = _granted(tool.grants, "env")
    asked = tuple(dict.fromkeys(names))
    for name in asked:
        if name not in granted:
            raise _not_granted(tool, f"env:{name}")
        if name not in environment:
            raise RunnerError(
                "bad_policy",
                f"the environment variable {printable_path(name)} is not set",
                "Set it before the run, or leave --env out.",
            )
    chosen = asked or tuple(name for name in granted if name in environment)
    return replace(policy, env=tuple((name, environment[name]) for name in chosen))


def check_granted(policy: SandboxPolicy, tool: VaultedTool) -> None:
    """Raise `RunnerError` (`not_granted`) when `policy` gives `tool` more than was granted to it."""
    names = _granted(tool.grants, "env")
    paths = {os.path.normpath(path) for path in _granted(tool.grants, "write")}
    for name, _ in policy.env:
        if name not in names:
            raise _not_granted(tool, f"env:{name}")
    for place in policy.egress:
        if place not in _granted(tool.grants, "net"):
            raise _not_granted(tool, f"net:{place}")
    for bind in policy.binds:
        if bind.source not in paths:
            raise _not_granted(tool, f"write:{bind.source}")


def unheld_grants(tool: VaultedTool, backend: str) -> tuple[str, ...]:
    """Grants that were given but that `backend` does not honour: the run has less than it may have."""
    held = ("env", "write", "net") if backend in ("native", "docker", "lima", "local") else ("env", "write")
    return tuple(grant for grant in tool.grants if grant.partition(":")[0] not in held)


def folders_of_strangers(policy: SandboxPolicy) -> tuple[str, ...]:
    """Folders in which what a run writes belongs, for a runner that is root, to an id that no other run has then."""
    if os.geteuid() != 0:
        return ()
    found = []
    for bind in policy.binds:
        with contextlib.suppress(OSError):  # a tool may have removed it
            state = os.lstat(bind.source)
            if bind.writable and not bind.overlay_bytes and stat.S_ISDIR(state.st_mode) and state.st_uid == 0:
                found.append(bind.source)
    return tuple(found)


def _granted(grants: Iterable[str], kind: str) -> tuple[str, ...]:
    return tuple(grant.partition(":")[2] for grant in grants if grant.partition(":")[0] == kind)


def _writable(home: Home, path: str) -> Bind:
    """A granted folder or file at its own path."""
    try:
        real = check_path(path, home.root)
    except ValueError as error:
        raise _unusable(path, str(error)) from error
    return Bind(str(real), str(real), writable=True)


def _unusable(path: str, why: str) -> RunnerError:
    return RunnerError(
        "bad_policy",
        f"the granted path {printable_path(path)} cannot be shown to the tool: {why}",
        "Grant the real path of an existing folder that is yours to give away.",
    )


def _not_granted(tool: VaultedTool, grant: str) -> RunnerError:
    return RunnerError(
        "not_granted",
        f"{tool.name} was not granted {printable_path(grant)}",
        f"`vault show {tool.name}` lists what it has; at confirmation it is given by --grant {printable_path(grant)}",
    )

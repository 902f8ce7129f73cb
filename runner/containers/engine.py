"""Which container engine there is, and whether it can hold every limit that a run asks for."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["START_AN_ENGINE", "Capabilities", "UnusableError", "capabilities", "check_reachable", "local_socket"]

START_AN_ENGINE = "Install Docker or Podman, start its daemon (rootless works), and check DOCKER_HOST."

_GREETING_SECONDS = 10


class UnusableError(Exception):
    """Why an engine cannot be used, and what would mend it. Never leaves the backend."""

    def __init__(self, reason: str, mend: str) -> None:
        super().__init__(reason)
        self.mend = mend


@dataclass(frozen=True)
class Capabilities:
    """What an engine says about itself, where it holds less than the best, whether it maps user ids, its processors."""

    facts: Mapping[str, str]
    losses: tuple[str, ...]
    user_ids_mapped: bool
    processors: int


def local_socket(environment: Mapping[str, str]) -> str:
    """The engine's socket on this machine: DOCKER_HOST, else the usual places. Raises `UnusableError`.

    An engine on another machine is refused: the tool's path would name that machine's files there.
    """
    named = environment.get("DOCKER_HOST", "")
    if named:
        if not named.startswith("unix://"):
            raise UnusableError(
                "DOCKER_HOST is not a socket of this machine, and the vault's copy could not be shown to it",
                "Set DOCKER_HOST to unix:///path/to/docker.sock, or unset it.",
            )
        return named.removeprefix("unix://")
    home, runtime = environment.get("HOME", ""), environment.get("XDG_RUNTIME_DIR", "")
    places = [
        "/var/run/docker.sock",
        *([f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock"] if runtime else []),
        *([f"{home}/.docker/run/docker.sock"] if home else []),
        "/run/podman/podman.sock",
    ]
    for place in places:
        if Path(place).is_socket():
            return place
    raise UnusableError("no Docker or Podman socket was found", START_AN_ENGINE)


def check_reachable(place: str) -> None:
    """Raise `UnusableError` unless something listens at the socket `place`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_GREETING_SECONDS)
        try:
            connection.connect(place)
        except PermissionError as error:
            mend = "Join the group that owns the socket (often docker), or use a rootless engine."
            raise UnusableError(f"you may not use the socket {place}", mend) from error
        except OSError as error:
            reason = f"no container engine answers at {place}: {error.strerror or error}"
            raise UnusableError(reason, START_AN_ENGINE) from error


def capabilities(about: Mapping[str, Any], runtime: str) -> Capabilities:
    """Read the engine's own description (`/info`). Raises `UnusableError` when a limit of ours would not hold."""
    if about.get("OSType") != "linux":
        raise UnusableError("the engine does not run Linux containers", "Switch the engine to Linux containers.")
    missing = [name for name in ("MemoryLimit", "PidsLimit", "CpuCfsQuota") if not about.get(name)]
    if missing:
        raise UnusableError(
            f"the engine cannot enforce {', '.join(missing)}",
            "Give it control groups: cgroup v2 with delegation for a rootless engine, or run it as root.",
        )
    options = [str(option) for option in about.get("SecurityOptions") or ()]
    seccomp = next((option for option in options if "name=seccomp" in option), "")
    if not seccomp or "unconfined" in seccomp:
        raise UnusableError("the engine runs containers without seccomp", "Remove the unconfined seccomp profile.")
    if runtime and runtime not in (about.get("Runtimes") or {}):
        raise UnusableError(f"the engine has no runtime {runtime!r}", "Install it, or change sandbox.docker_runtime.")
    mapped = any("name=rootless" in option or "name=userns" in option for option in options)
    losses = [
        "Landlock is not laid over the container's mounts",
        "processor time, peak memory and a death by signal (seen as 128 + n) are not measured",
    ]
    if not runtime and "runsc" in (about.get("Runtimes") or {}):
        losses.append(
            'gVisor is offered and not used: sandbox.docker_runtime = "runsc" puts a second kernel in between'
        )
    if not mapped:
        losses.append("the container engine runs as root without user namespaces")
    facts = {
        "name": str(about.get("Name", "")),
        "version": str(about.get("ServerVersion", "")),
        "kernel": str(about.get("KernelVersion", "")),
        "cgroups": str(about.get("CgroupVersion", "")),
        "runtime": runtime or str(about.get("DefaultRuntime", "")),
        "seccomp": seccomp,
        "user_ids_mapped": str(mapped).lower(),
    }
    return Capabilities(facts, tuple(losses), mapped, int(about.get("NCPU") or 1))

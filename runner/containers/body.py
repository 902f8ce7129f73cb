"""A sandbox policy as the container engine understands it, and the check that the engine took it as asked.

Field names are those of the Docker Engine API 1.41 ("Create a container"), which Podman's socket speaks too.
`docs/runner.md` shows the same as command-line flags.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillkeep.runner.containers.policy_file import NAME, PLACE, named
from skillkeep.runner.egress.place import VARIABLES
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, Layer, RunRequest, SandboxPolicy
from skillkeep.runner.native.plan import POLICY_FILE
from skillkeep.text import printable_path

__all__ = ["USER", "Image", "Target", "container_body", "layers_in_force", "shown_binds"]

USER = 65534
_HOME = "/tmp"  # noqa: S108 - the sandbox's own /tmp, never the host's
_SHM_BYTES = 64 << 20
_USER_PROCESSES = 20_000  # of the container's user on the whole host; Podman's own default is more than some allow
_POLICY_PLACES = [place.split("/")[1:] for place in (PLACE, f"/var{PLACE}")]
_LEAST_CPUS = 0.01  # an engine takes no less, and no more than it has


@dataclass(frozen=True)
class Image:
    """The image a run is pinned to: the configured name, the content id, the registry digests known for it."""

    name: str
    id: str
    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """What a container is made of and on: image, runtime ("" is the engine's own), number of processors."""

    image: Image
    runtime: str = ""
    processors: int = 1024
    seccomp: str = ""
    """Our profile as the engine takes it, text or a path; "" leaves the engine's own in force."""
    network: str = "none"
    policy_folder: str = ""
    """Where the policy of the run lies, as `policy_file.shown` has it; "" shows none."""


def container_body(request: RunRequest, target: Target, labels: Mapping[str, str]) -> dict[str, Any]:
    """The create call for `request`. Raises `RunnerError` (`bad_policy`) for text the engine cannot take."""
    policy = request.policy
    takes_input = request.stdin is not None
    body = {
        "Image": target.image.id,
        "Entrypoint": [request.argv[0]],
        "Cmd": list(request.argv[1:]),
        "User": f"{USER}:{USER}",
        "WorkingDir": policy.workdir or (policy.tool_mount if request.tool else _HOME),
        "Env": [f"{name}={value}" for name, value in _environment(policy, target)],
        "Labels": dict(labels),
        "Tty": False,
        "OpenStdin": takes_input,
        "StdinOnce": takes_input,
        "AttachStdin": takes_input,
        "AttachStdout": True,
        "AttachStderr": True,
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host_config(policy, request, target),
    }
    if target.network == "none":
        body |= {"NetworkDisabled": True, "Hostname": "sandbox"}
    _check_text(body)
    return body


def _host_config(policy: SandboxPolicy, request: RunRequest, target: Target) -> dict[str, Any]:
    config: dict[str, Any] = {
        "NetworkMode": target.network,
        "NanoCpus": round(min(max(policy.cpus, _LEAST_CPUS), target.processors) * 1e9),
        "Memory": policy.memory_bytes,
        "MemorySwap": policy.memory_bytes,
        "PidsLimit": policy.processes,
        "OomScoreAdj": 500,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", *([f"seccomp={target.seccomp}"] if target.seccomp else [])],
        "Privileged": False,
        "ReadonlyRootfs": True,
        "Init": True,
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ShmSize": min(policy.tmp_bytes, _SHM_BYTES),
        "Tmpfs": {_HOME: f"rw,noexec,nosuid,nodev,size={policy.tmp_bytes},mode=1777"},
        "Ulimits": [
            _ulimit("core", 0),
            _ulimit("nproc", _USER_PROCESSES),
            _ulimit("nofile", policy.open_files),
            _ulimit("fsize", policy.file_bytes),
        ],
        "Mounts": [_mount(bind) for bind in (*shown_binds(request), *_policy_bind(target))],
        "LogConfig": {"Type": "none"},
        "AutoRemove": False,
        "RestartPolicy": {"Name": "no"},
    }
    return {**config, "Runtime": target.runtime} if target.runtime else config


def shown_binds(request: RunRequest) -> tuple[Bind, ...]:
    """The tool and what was granted. None may hold the policy's place: the engine would make its folder in there."""
    tool = (Bind(str(request.tool.path), request.policy.tool_mount),) if request.tool else ()
    for bind in (shown := (*tool, *request.policy.binds)):
        target = [part for part in bind.target.split("/") if part not in ("", ".")]
        if any(place[: len(target)] == target[: len(place)] for place in _POLICY_PLACES):
            raise RunnerError(
                "bad_policy",
                f"the bind target {printable_path(bind.target)} meets {PLACE}, where the policy of the run stands",
                "Choose a target of its own, such as /data.",
            )
    return shown


def _policy_bind(target: Target) -> tuple[Bind, ...]:
    """The file by itself: a container that waits still has it when its folder outside is gone."""
    return (Bind(os.path.join(target.policy_folder, NAME), POLICY_FILE),) if target.policy_folder else ()


def _mount(bind: Bind) -> dict[str, Any]:
    """A bind as an object and not as ``-v`` text, which a colon in a name would break apart."""
    return {
        "Type": "bind",
        "Source": _existing(bind.source),
        "Target": bind.target,
        "ReadOnly": not bind.writable,
        "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
    }


def _existing(source: str) -> str:
    """`source`, which has to be there: Podman makes a missing one, as root, where Docker refuses."""
    if not os.path.lexists(source):
        raise RunnerError(
            "bad_policy",
            f"there is nothing at {printable_path(source)} to show to the tool",
            "Make it first, or withdraw the grant.",
        )
    return source


def _ulimit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}


def _environment(policy: SandboxPolicy, target: Target) -> tuple[tuple[str, str], ...]:
    """Ours, then what was granted, then where the policy stands. PATH is the image's own."""
    proxy = tuple(VARIABLES.items()) if policy.egress else ()
    env = (("HOME", _HOME), ("TMPDIR", _HOME), ("LANG", "C.UTF-8"), *proxy, *policy.env)
    return named(env) if target.policy_folder else env


def _check_text(value: Any) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _check_text(item)
    elif isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        raise RunnerError(
            "bad_policy",
            "an argument, path or environment value is not UTF-8, which a container engine cannot be given",
            "Use the native backend, or names and values in UTF-8.",
        )


def layers_in_force(created: Mapping[str, Any], body: Mapping[str, Any]) -> tuple[Layer, ...]:
    """What the engine recorded for the created container, measured against what was asked, a layer each.

    `created` is the engine's own description (inspect) before the start, `body` the create call.
    """
    host, asked = created["HostConfig"], body["HostConfig"]
    mounts = {mount["Destination"]: mount for mount in created.get("Mounts") or ()}
    read_only = [mount for mount in asked["Mounts"] if mount["ReadOnly"]]
    dropped = set(host.get("CapDrop") or ())
    return (
        _layer("network", host.get("NetworkMode") == asked["NetworkMode"], mode=host.get("NetworkMode")),
        _layer("root", host.get("ReadonlyRootfs") is True, read_only=host.get("ReadonlyRootfs")),
        _layer(
            "tool_mount",
            all(mount["Target"] in mounts and mounts[mount["Target"]].get("RW") is False for mount in read_only),
            read_only=",".join(mount["Target"] for mount in read_only),
        ),
        _layer(
            "capabilities",
            ("ALL" in dropped or len(dropped) >= _DEFAULT_CAPABILITIES)
            and not host.get("CapAdd")
            and host.get("Privileged") is False,
            dropped="all",
        ),
        _layer("no_new_privs", any("no-new-privileges" in text for text in host.get("SecurityOpt") or ())),
        _layer("seccomp", _filters(host) == _filters(asked), profile="ours" if _filters(asked) else "the engine's"),
        _layer("identity", created["Config"].get("User") == body["User"], user=created["Config"].get("User")),
        _layer("memory", host.get("Memory") == asked["Memory"], bytes=host.get("Memory")),
        _layer("swap", host.get("MemorySwap") == asked["MemorySwap"], bytes=host.get("MemorySwap")),
        _layer("cpu", host.get("NanoCpus") == asked["NanoCpus"], nano_cpus=host.get("NanoCpus")),
        _layer("processes", host.get("PidsLimit") == asked["PidsLimit"], limit=host.get("PidsLimit")),
    )


def _filters(config: Mapping[str, Any]) -> list[str]:
    return [text for text in config.get("SecurityOpt") or () if text.startswith("seccomp=")]


_DEFAULT_CAPABILITIES = 11  # Podman lists each capability it dropped from its default set instead of "ALL"


def _layer(name: str, in_force: bool, **facts: Any) -> Layer:
    return Layer(name, in_force, {key: str(value) for key, value in facts.items()})

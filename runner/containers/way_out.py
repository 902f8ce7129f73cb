"""A way out of a container for granted hosts alone: its network has no interface but a loopback.

On that loopback a second container listens, which shares nothing but the network with the first, and hands each
connection through a UNIX socket to the same confined proxy that the native sandbox uses. No route, no address and no
name server is in the container's reach; a program that does not use the proxy reaches nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skillkeep.files import FileLock
from skillkeep.grants import grant_of_place
from skillkeep.kernel.errors import KernelError
from skillkeep.runner.containers import forward
from skillkeep.runner.containers.api import attached, engine_errors, remove
from skillkeep.runner.containers.attach import read_until
from skillkeep.runner.containers.body import Target, container_body
from skillkeep.runner.egress.place import PORT
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Attempt, Bind, Denial, RunRequest, SandboxPolicy
from skillkeep.runner.native.client import starter
from skillkeep.runner.native.way_out import WayOut

__all__ = ["Door", "denials", "open_door"]

_PREFIX = "skillkeep-egress-"
_INSIDE = "/skillkeep"
_START_SECONDS = 20.0
_MEMORY_BYTES, _PROCESSES = 96 << 20, 200
_BACKLOG = 128


@dataclass
class Door:
    """An open way out: the network to join, and, once it is closed, what was tried."""

    network: str
    attempts: list[Attempt] = field(default_factory=list)


@contextlib.contextmanager
def open_door(api: Any, request: RunRequest, target: Target, labels: Mapping[str, str]) -> Iterator[Door]:
    """A way out for `request.policy.egress` while the block lasts. Raises `RunnerError` (`sandbox_layer_failed`)."""
    if target.runtime:
        raise _failed(f"the runtime {target.runtime} has a network of its own", "Leave docker_runtime out.")
    with _folder() as place:
        listener = _listen(place / "proxy.sock")
        shutil.copyfile(forward.__file__, place / "forward.py")
        os.chmod(place / "forward.py", 0o444)
        try:
            proxy = WayOut(listener.detach(), request.policy.egress, starter())
        except KernelError as error:
            raise _failed(str(error), error.hint) from error
        door = Door("")
        try:
            with _forwarder(api, request, target, labels, place) as container:
                door.network = f"container:{container}"
                yield door
        finally:
            door.attempts += [Attempt(**each) for each in proxy.end()]


def denials(attempts: list[Attempt]) -> tuple[Denial, ...]:
    """What was refused, each once, with the grant that would allow it."""
    refused = dict.fromkeys((each.host, each.port, each.reason) for each in attempts if not each.allowed)
    return tuple(Denial("network", why, grant_of_place(host, port), "egress") for host, port, why in refused)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder for the socket; those that killed runs left are removed first."""
    base = Path(tempfile.gettempdir())
    for left in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = FileLock(left / "lock")
            if left.lstat().st_uid == os.geteuid() and (left / "lock").exists() and lock.acquire(wait=False):
                shutil.rmtree(left)
                lock.release()
    outer = Path(tempfile.mkdtemp(prefix=_PREFIX))
    with FileLock(outer / "lock"):
        place = outer / "way"
        place.mkdir(mode=0o755)
        os.chmod(place, 0o755)  # noqa: S103  the container's user enters it through the mount alone
        try:
            yield place
        finally:
            shutil.rmtree(outer)


def _listen(path: Path) -> socket.socket:
    """Others may connect to the socket, but only through the mount: the folder above is closed to them."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    os.chmod(path, 0o666)  # noqa: S103
    listener.listen(_BACKLOG)
    return listener


@contextlib.contextmanager
def _forwarder(api: Any, request: RunRequest, target: Target, labels: Mapping[str, str], place: Path) -> Iterator[str]:
    policy = SandboxPolicy(
        memory_bytes=_MEMORY_BYTES,
        processes=_PROCESSES,
        binds=(Bind(str(place), _INSIDE),),
        egress=request.policy.egress,
    )
    argv = ("python3", "-I", "-S", f"{_INSIDE}/forward.py", f"{_INSIDE}/proxy.sock", str(PORT))
    body = container_body(RunRequest(argv, policy), replace(target, network="none", policy_folder=""), labels)
    body["Env"] = []
    with engine_errors("create the container of the way out"):
        container = api.create_container_from_config(body)["Id"]
    try:
        try:
            with engine_errors("start the forwarder"), attached(api, container, stdin=False) as connection:
                api.start(container)
                ready = read_until(connection, b"ready", _START_SECONDS)
        except RunnerError as error:
            raise _failed(error.message, _NO_PYTHON) from error
        if not ready:
            raise _failed("its forwarder does not start", _NO_PYTHON)
        yield container
    finally:
        remove(api, container)


_NO_PYTHON = "The way out of a container needs python3 in the image; choose such an image, or the native backend."


def _failed(why: str, hint: str) -> RunnerError:
    return RunnerError(
        "sandbox_layer_failed",
        f"the container's way out to the granted hosts could not be made: {why}",
        hint,
        layer="egress",
        backend="docker",
    )

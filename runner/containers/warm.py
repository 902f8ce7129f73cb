"""Containers started ahead, each for one run of one tool under one policy, and then removed.

A warm container waits with nothing in it but its init and a `sleep` that ends it by itself. A run claims it by a name
that only one can take, starts the payload in it, and removes it: no second payload ever enters, so no run can affect
another. It fits only a run that would make the very same container: image, limits, mounts, policy, and the same folders
behind the mounts, by device and inode.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillkeep.clock import Clock
from skillkeep.runner.containers.api import CALL_SECONDS, Engine, client, engine_errors, remove, rename
from skillkeep.runner.containers.body import USER
from skillkeep.runner.containers.owner import EXPIRES_LABEL, OWNER_LABEL, RUN_LABEL
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import RunRequest
from skillkeep.runner.native.plan import POLICY_FILE

__all__ = ["KEY_LABEL", "Started", "claim", "refilling", "start_in", "warm_key", "with_waiting_process"]

KEY_LABEL = "skillkeep.warm"
_USED = "skillkeep-used-"
_GRACE_SECONDS = 300
_LOOK_SECONDS = 0.02
_OF_THE_RUN = ("Entrypoint", "Cmd", "Env", "WorkingDir", "Labels", "OpenStdin", "StdinOnce", "AttachStdin")


def warm_key(body: Mapping[str, Any]) -> str:
    """What a container has to be like to serve a run that would be made by the create call `body`."""
    kept = {name: value for name, value in body.items() if name not in _OF_THE_RUN}
    behind: list[object] = []
    mounts = []
    for mount in body["HostConfig"]["Mounts"]:
        if mount["Target"] == POLICY_FILE:  # each run has a file of its own; what it says is what counts
            behind.append(Path(mount["Source"]).read_text(encoding="ascii"))
            continue
        state = os.stat(mount["Source"])
        behind.append((state.st_dev, state.st_ino))
        mounts.append(mount)
    kept["HostConfig"] = {**body["HostConfig"], "Mounts": mounts}
    text = json.dumps([kept, behind], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def warm_body(body: Mapping[str, Any], now: float, wall_seconds: float, idle_seconds: float) -> dict[str, Any]:
    """The create call of a container that waits for a run of `body`, and ends by itself when none has come."""
    lives = int(idle_seconds + wall_seconds + _GRACE_SECONDS)
    labels = {
        KEY_LABEL: warm_key(body),
        RUN_LABEL: "warm",
        OWNER_LABEL: "nobody",
        EXPIRES_LABEL: str(int(now) + lives),
    }
    waits = {"Entrypoint": ["sleep"], "Cmd": [str(lives)], "Env": [], "WorkingDir": "/", "Labels": labels}
    closed = {"OpenStdin": False, "StdinOnce": False, "AttachStdin": False}
    return {**with_waiting_process(body), **waits, **closed}


def with_waiting_process(body: Mapping[str, Any]) -> dict[str, Any]:
    """The create call with room for the process that waits beside the payload."""
    host = body["HostConfig"]
    return {**body, "HostConfig": {**host, "PidsLimit": host["PidsLimit"] + 1}}


def claim(api: Any, body: Mapping[str, Any], now: float, wall_seconds: float) -> str | None:
    """The id of a warm container that is now this run's alone, or None."""
    for container in _waiting(api, body, now, wall_seconds):
        if rename(api, container, _used(container)):
            return container
    return None


def _waiting(api: Any, body: Mapping[str, Any], now: float, wall_seconds: float) -> list[str]:
    """Containers that nobody has claimed and that live long enough for a run."""
    found = api.containers(filters={"label": f"{KEY_LABEL}={warm_key(body)}", "status": "running"})
    return [
        each["Id"]
        for each in found
        if now + wall_seconds + _GRACE_SECONDS < int((each.get("Labels") or {}).get(EXPIRES_LABEL, "0"))
        and not any(name.startswith(f"/{_USED}") for name in each["Names"])
    ]


def _used(container: str) -> str:
    """The name of a container that has been claimed: each has one, so that only one claim of it succeeds."""
    return f"{_USED}{container[:16]}"


@contextlib.contextmanager
def refilling(engine: Engine, body: Mapping[str, Any], clock: Clock, seconds: tuple[float, float]) -> Iterator[None]:
    """While the block runs, start the container of the next run; `seconds`: what a run may take, how long it waits.

    That it could not be started is no failure of this run: the next one then makes its own.
    """

    def work() -> None:
        with contextlib.suppress(RunnerError):
            _refill(engine, body, clock, *seconds)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _refill(engine: Engine, body: Mapping[str, Any], clock: Clock, wall_seconds: float, idle_seconds: float) -> None:
    with client(engine.socket, engine.version, CALL_SECONDS) as api, engine_errors("start a container ahead"):
        now = clock.now().timestamp()
        if _waiting(api, body, now, wall_seconds):
            return
        made = api.create_container_from_config(warm_body(body, now, wall_seconds, idle_seconds))
        try:
            api.start(made["Id"])
        except BaseException:
            with contextlib.suppress(RunnerError):
                remove(api, made["Id"])
            raise


@dataclass(frozen=True)
class Started:
    """A payload in a claimed container: its stream, and the id that tells how it ended."""

    connection: Any
    payload: str


@contextlib.contextmanager
def start_in(
    engine: Engine, api: Any, container: str, request: RunRequest, body: Mapping[str, Any]
) -> Iterator[Started]:
    """Start the payload in `container`. When it ends, the container is killed, and with it all that it left."""
    made = api.exec_create(
        container,
        [*body["Entrypoint"], *body["Cmd"]],
        stdin=request.stdin is not None,
        user=f"{USER}:{USER}",
        workdir=body["WorkingDir"],
        environment=body["Env"],
    )
    payload = made["Id"]
    stream = api.exec_start(payload, socket=True)
    over = threading.Event()
    watcher = threading.Thread(target=_end_with, args=(engine, container, payload, over), daemon=True)
    try:
        with contextlib.closing(stream), contextlib.closing(stream._sock) as connection:
            watcher.start()
            yield Started(connection, payload)
    finally:
        over.set()
        if watcher.ident is not None:
            watcher.join()


def _end_with(engine: Engine, container: str, payload: str, over: threading.Event) -> None:
    """Kill the container once the payload has ended: what it left running holds its output open no longer."""
    with (
        contextlib.suppress(RunnerError),
        client(engine.socket, engine.version, CALL_SECONDS) as api,
        engine_errors("watch a payload"),
    ):
        while not over.wait(_LOOK_SECONDS):
            if not api.exec_inspect(payload)["Running"]:
                api.kill(container, "SIGKILL")
                return

"""The container backend: Docker, or Podman through the same API socket.

Every container is created, checked, attached, started, watched and removed by this process; `owner` says how one
that was left behind by a killed run is found. The engine never pulls: the image has to be there, and a run is
pinned to its content id.
"""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.runner.containers.api import (
    CALL_SECONDS,
    Engine,
    attached,
    await_end,
    client,
    connect,
    engine_errors,
    kill,
    remove,
    sweep,
)
from skillkeep.runner.containers.attach import Streams, pump
from skillkeep.runner.containers.body import Image, Target, container_body, layers_in_force
from skillkeep.runner.containers.engine import UnusableError
from skillkeep.runner.containers.owner import labels_for
from skillkeep.runner.containers.policy_file import shown
from skillkeep.runner.containers.results import unmeasured
from skillkeep.runner.containers.seccomp import as_taken
from skillkeep.runner.containers.warm import claim, refilling, start_in, with_waiting_process
from skillkeep.runner.containers.way_out import denials, open_door
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import (
    Assurance,
    AssuranceLevel,
    Availability,
    Backend,
    Cause,
    Denial,
    Layer,
    RunRequest,
    RunResult,
)

__all__ = ["DEFAULT_IMAGE", "DockerBackend"]

DEFAULT_IMAGE = "python:3.12-slim"
_SIGKILL = 9
_UNSTARTED = re.compile(rb"ERROR \(catatonit:\d+\): failed to exec pid1: (.+)\n")
"""What Podman's init says, and then ends with 1; Docker's ends with 127 or 126 like a shell."""
_MAY_BE_MISSING = frozenset({"swap"})


@dataclass(frozen=True)
class _Seen:
    """A payload that is dead: its streams, why it ended, after how many seconds, its last state."""

    streams: Streams
    ended: Cause
    seconds: float
    state: Mapping[str, Any]


class DockerBackend(Backend):
    """Runs each request in a container of its own. `image` and `runtime` come from the settings, "" is the default.

    With `warm_seconds` a container for the next run of the same kind is started ahead, and waits that long.
    """

    name: ClassVar[str] = "docker"

    def __init__(
        self,
        image: str = "",
        runtime: str = "",
        environment: Mapping[str, str] | None = None,
        clock: Clock = SYSTEM_CLOCK,
        warm_seconds: float = 0.0,
    ) -> None:
        self._image = image or DEFAULT_IMAGE
        self._runtime = runtime
        self._environment = os.environ if environment is None else environment
        self._clock = clock
        self._warm_seconds = warm_seconds
        self._engine: Engine | None = None
        self._refusal: Availability | None = None

    def probe(self) -> Availability:
        if self._refusal:
            return self._refusal
        try:
            engine = self._engine or connect(self._environment, self._image, self._runtime)
        except UnusableError as error:
            self._refusal = Availability(self.name, False, str(error), error.mend)
            return self._refusal
        self._engine = engine
        return Availability(self.name, True, level=AssuranceLevel.BOUNDED, losses=engine.losses)

    def _run(self, request: RunRequest) -> RunResult:
        engine = self._engine
        if engine is None:  # `run` has probed: only a direct call gets here
            raise RunnerError("sandbox_unavailable", "the engine was not probed", "Call `run`, not `_run`.")
        if self._runtime and request.stdin is None:
            # gVisor gives the host's /dev/null to the container's user when that is a stream of its own (seen in 2022).
            request = replace(request, stdin=b"")
        now = self._clock.now().timestamp()
        labels = labels_for(request.run_id, now, request.policy.wall_seconds)
        with (
            client(engine.socket, engine.version, CALL_SECONDS) as api,
            as_taken(engine.profile_form, bool(request.policy.egress)) as seccomp,
            shown(request.policy) as folder,
        ):
            target = Target(engine.image, self._runtime, engine.processors, seccomp, policy_folder=folder)
            with engine_errors("look for containers that were left"):
                sweep(api, now)
            if not request.policy.egress:
                body = container_body(request, target, labels)
                # Podman is given its profile as a file of this very process, which no later run can name again.
                warm = self._warm_seconds and engine.profile_form != "file"
                return (self._warmed if warm else self._contained)(api, engine, request, body)
            with open_door(api, request, target, labels) as door:
                body = container_body(request, replace(target, network=door.network), labels)
                result = self._contained(api, engine, request, body)
            return replace(result, attempts=tuple(door.attempts), denials=(*result.denials, *denials(door.attempts)))

    def _contained(self, api: Any, engine: Engine, request: RunRequest, body: Mapping[str, Any]) -> RunResult:
        """The run in one container, made and removed here."""
        with engine_errors("create the container"):
            created = api.create_container_from_config(body)
        container = created["Id"]
        try:
            layers, losses = _checked(api, container, body)
            seen = self._watched(api, container, request)
        finally:
            remove(api, container)
        return _result(request, seen, _assurance(engine, layers, (*losses, *(created.get("Warnings") or ()))))

    def _warmed(self, api: Any, engine: Engine, request: RunRequest, body: Mapping[str, Any]) -> RunResult:
        """The run in a container that was started ahead, if there is one; meanwhile the next one is started."""
        wall = request.policy.wall_seconds
        with engine_errors("look for a container that waits"):
            container = claim(api, body, self._clock.now().timestamp(), wall)
        with refilling(engine, body, self._clock, (wall, self._warm_seconds)):
            if container is None:
                return self._contained(api, engine, request, body)
            try:
                layers, losses = _checked(api, container, with_waiting_process(body))
                seen = self._watched_in(api, engine, (container, body), request)
            finally:
                remove(api, container)
        layers = (*layers, Layer("warm", True, {"container": container[:12], "used": "once, by this run"}))
        return _result(request, seen, _assurance(engine, layers, losses))

    def _watched_in(self, api: Any, engine: Engine, place: tuple[str, Mapping[str, Any]], request: RunRequest) -> _Seen:
        """Like `_watched`, of a payload in the claimed container of `place`, for a run of that create call."""
        container, body = place
        monotonic = self._clock.monotonic
        with engine_errors("run in a container"), start_in(engine, api, container, request, body) as started:
            began = monotonic()
            deadline = began + request.policy.wall_seconds
            streams = pump(started.connection, request.stdin, request.policy.output_bytes, deadline, monotonic)
            ended = streams.ended
            if ended is Cause.EXIT:
                ended = await_end(api, container, deadline - monotonic())
            if ended is not Cause.EXIT:
                started.connection.shutdown(socket.SHUT_RDWR)
                kill(api, container)
            oom = api.inspect_container(container)["State"].get("OOMKilled")
            code = api.exec_inspect(started.payload)["ExitCode"]
            return _Seen(streams, ended, monotonic() - began, {"ExitCode": code or 0, "OOMKilled": oom})

    def _watched(self, api: Any, container: str, request: RunRequest) -> _Seen:
        """Start the container and stay until it is dead."""
        monotonic = self._clock.monotonic
        with engine_errors("run the container"), attached(api, container, request.stdin is not None) as connection:
            api.start(container)
            began = monotonic()
            deadline = began + request.policy.wall_seconds
            streams = pump(connection, request.stdin, request.policy.output_bytes, deadline, monotonic)
            ended = streams.ended
            if ended is Cause.EXIT:
                ended = await_end(api, container, deadline - monotonic())
            if ended is not Cause.EXIT:
                connection.shutdown(
                    socket.SHUT_RDWR
                )  # no container is buried while it waits for its output to be taken
                kill(api, container)
            return _Seen(streams, ended, monotonic() - began, api.inspect_container(container)["State"])


def _ending(seen: _Seen) -> tuple[Cause, int | None, int | None]:
    """Cause, exit code and signal. The engine reports a death by signal as 128 + n, like a shell."""
    if seen.ended is not Cause.EXIT:
        return seen.ended, None, _SIGKILL
    code = int(seen.state["ExitCode"])
    if seen.state.get("OOMKilled") and code:
        return (Cause.OOM, None, _SIGKILL) if code == 128 + _SIGKILL else (Cause.OOM, code, None)
    if code == 1 and (said := _UNSTARTED.fullmatch(seen.streams.stderr.data)):
        code = 127 if said[1] == os.strerror(errno.ENOENT).encode() else 126
    return Cause.EXIT, code, None


def _assurance(engine: Engine, layers: tuple[Layer, ...], losses: tuple[str, ...]) -> Assurance:
    shown = (*layers, _image_layer(engine.image), Layer("engine", True, engine.facts))
    return Assurance(AssuranceLevel.BOUNDED, shown, engine.host_uid, (*engine.losses, *losses))


def _result(request: RunRequest, seen: _Seen, assurance: Assurance) -> RunResult:
    ending, outputs = _ending(seen), (seen.streams.stdout, seen.streams.stderr)
    result = unmeasured(DockerBackend.name, request, ending, outputs, seen.seconds, assurance)
    return replace(result, denials=_memory_denials(result.cause, request.policy.memory_bytes))


def _memory_denials(cause: Cause, limit: int) -> tuple[Denial, ...]:
    return (Denial("memory", f"killed at {limit} bytes", "memory_bytes", "cgroup"),) if cause is Cause.OOM else ()


def _image_layer(image: Image) -> Layer:
    return Layer("image", True, {"name": image.name, "id": image.id, "digests": " ".join(image.digests)})


def _checked(api: Any, container: str, body: Mapping[str, Any]) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
    """What the engine took of the sandbox, and the losses among it, before the start.

    Raises `RunnerError` (`sandbox_layer_failed`) for a missing layer that no run goes without.
    """
    with engine_errors("describe the container"):
        layers = layers_in_force(api.inspect_container(container), body)
    absent = [layer.name for layer in layers if not layer.in_force]
    failed = [name for name in absent if name not in _MAY_BE_MISSING]
    if failed:
        raise RunnerError(
            "sandbox_layer_failed",
            f"the container engine did not take the sandbox as asked: {', '.join(failed)}",
            "Update the engine, or use the native backend; nothing was run.",
            layer=failed[0],
            backend=DockerBackend.name,
        )
    return layers, tuple(f"the engine does not enforce: {name}" for name in absent)

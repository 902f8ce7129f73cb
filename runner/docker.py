"""The container backend: Docker, or Podman through the same API socket. The only importer of the docker SDK.

Every container is created, checked, attached, started, watched and removed by this process; `owner` says how one
that was left behind by a killed run is found. The engine never pulls: the image has to be there, and a run is
pinned to its content id.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.runner.attach import Streams, pump
from skillkeep.runner.container import USER, Image, Target, container_body, layers_in_force
from skillkeep.runner.engine import START_AN_ENGINE, UnusableError, capabilities, check_reachable, local_socket
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import (
    Assurance,
    AssuranceLevel,
    Availability,
    Backend,
    Cause,
    Layer,
    RunRequest,
    RunResult,
)
from skillkeep.runner.owner import OWNER_LABEL, is_orphan, labels_for
from skillkeep.runner.seccomp_profile import seccomp_profile

__all__ = ["DEFAULT_IMAGE", "DockerBackend"]

DEFAULT_IMAGE = "python:3.12-slim"
_OLDEST_API = "1.41"
_CALL_SECONDS = 30
_GREETING_SECONDS = 10
_SIGKILL = 9
_MAY_BE_MISSING = frozenset({"swap"})


@dataclass(frozen=True)
class _Engine:
    """A daemon that was asked what it can do, and the image that runs use."""

    socket: str
    version: str
    image: Image
    processors: int
    facts: Mapping[str, str]
    losses: tuple[str, ...]
    host_uid: int | None
    seccomp: str


class DockerBackend(Backend):
    """Runs each request in a container of its own. `image` and `runtime` come from the settings, "" is the default."""

    name: ClassVar[str] = "docker"

    def __init__(
        self,
        image: str = "",
        runtime: str = "",
        environment: Mapping[str, str] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._image = image or DEFAULT_IMAGE
        self._runtime = runtime
        self._environment = os.environ if environment is None else environment
        self._clock = clock
        self._engine: _Engine | None = None
        self._refusal: Availability | None = None

    def probe(self) -> Availability:
        if self._refusal:
            return self._refusal
        try:
            engine = self._engine or _connect(self._environment, self._image, self._runtime)
        except UnusableError as error:
            self._refusal = Availability(self.name, False, str(error), error.mend)
            return self._refusal
        self._engine = engine
        return Availability(self.name, True, level=AssuranceLevel.BOUNDED, losses=engine.losses)

    def _run(self, request: RunRequest) -> RunResult:
        engine = self._engine
        if engine is None:  # `run` has probed: only a direct call gets here
            raise RunnerError("sandbox_unavailable", "the engine was not probed", "Call `run`, not `_run`.")
        now = self._clock.now().timestamp()
        labels = labels_for(request.run_id, now, request.policy.wall_seconds)
        body = container_body(request, Target(engine.image, self._runtime, engine.processors, engine.seccomp), labels)
        with _client(engine.socket, engine.version, _CALL_SECONDS) as api:
            with _engine_errors("create the container"):
                _sweep(api, now)
                created = api.create_container_from_config(body)
            container = created["Id"]
            try:
                layers, losses = _checked(api, container, body)
                streams, ended, wall, state = self._watched(api, container, request)
            finally:
                _remove(api, container)
        shown = (*layers, _image_layer(engine.image), Layer("engine", True, engine.facts))
        lost = (*engine.losses, *losses, *(created.get("Warnings") or ()))
        assurance = Assurance(AssuranceLevel.BOUNDED, shown, engine.host_uid, lost)
        return _result(request, streams, _ending(ended, state), wall, assurance)

    def _watched(
        self, api: Any, container: str, request: RunRequest
    ) -> tuple[Streams, Cause, float, Mapping[str, Any]]:
        """Start the container and stay until it is dead: its streams, why it ended, seconds, its last state."""
        monotonic = self._clock.monotonic
        with _engine_errors("run the container"), _attached(api, container, request) as connection:
            api.start(container)
            began = monotonic()
            deadline = began + request.policy.wall_seconds
            streams = pump(connection, request.stdin, request.policy.output_bytes, deadline, monotonic)
            ended = streams.ended
            if ended is Cause.EXIT:
                ended = _await_end(api, container, deadline - monotonic())
            if ended is not Cause.EXIT:
                connection.shutdown(
                    socket.SHUT_RDWR
                )  # no container is buried while it waits for its output to be taken
                _kill(api, container)
            return streams, ended, monotonic() - began, api.inspect_container(container)["State"]


@contextlib.contextmanager
def _attached(api: Any, container: str, request: RunRequest) -> Iterator[socket.socket]:
    wanted = {"stdin": int(request.stdin is not None), "stdout": 1, "stderr": 1, "stream": 1}
    stream = api.attach_socket(container, params=wanted)
    with contextlib.closing(stream), contextlib.closing(stream._sock) as connection:
        yield connection


@contextlib.contextmanager
def _client(place: str, version: str, seconds: int) -> Iterator[Any]:
    """A `docker.APIClient` of the given API version, for one piece of work."""
    import docker

    api = docker.APIClient(base_url=f"unix://{place}", version=version, timeout=seconds)
    try:
        yield api
    finally:
        api.close()


def _ending(ended: Cause, state: Mapping[str, Any]) -> tuple[Cause, int | None, int | None]:
    """Cause, exit code and signal. The engine reports a death by signal as 128 + n, like a shell."""
    if ended is not Cause.EXIT:
        return ended, None, _SIGKILL
    code = int(state["ExitCode"])
    if state.get("OOMKilled") and code:
        return (Cause.OOM, None, _SIGKILL) if code == 128 + _SIGKILL else (Cause.OOM, code, None)
    return Cause.EXIT, code, None


def _result(
    request: RunRequest,
    streams: Streams,
    ending: tuple[Cause, int | None, int | None],
    wall: float,
    assurance: Assurance,
) -> RunResult:
    cause, code, signal = ending
    return RunResult(
        backend=DockerBackend.name,
        run_id=request.run_id,
        exit_code=code,
        signal=signal,
        cause=cause,
        stdout=streams.stdout.data,
        stderr=streams.stderr.data,
        stdout_truncated=streams.stdout.truncated,
        stderr_truncated=streams.stderr.truncated,
        wall_seconds=wall,
        user_seconds=None,
        system_seconds=None,
        peak_memory_bytes=None,
        peak_processes=None,
        assurance=assurance,
        policy_digest=request.policy.digest,
        tool_digest=request.tool.digest if request.tool else None,
    )


def _connect(environment: Mapping[str, str], image: str, runtime: str) -> _Engine:
    place = local_socket(environment)
    try:
        from docker.errors import DockerException
    except ImportError as error:
        raise UnusableError(f"the docker package cannot be imported: {error}", "Run: pip install docker") from error
    check_reachable(place)
    try:
        with _client(place, _OLDEST_API, _GREETING_SECONDS) as api:
            about = api.version(api_version=False)
            version = about["ApiVersion"]
        with _client(place, version, _GREETING_SECONDS) as api:
            able = capabilities(api.info(), runtime)
            found = _find_image(api, image)
    except (DockerException, OSError, KeyError, ValueError) as error:
        reason = f"no container engine answers at {place}: {_first_line(error)}"
        raise UnusableError(reason, START_AN_ENGINE) from error
    host_uid = None if able.user_ids_mapped else USER
    facts = {**able.facts, "socket": place}
    # Podman takes a profile as a file on its own machine only; a runtime with a kernel of its own takes none.
    own = not runtime and "podman" not in str(about.get("Components", "")).lower()
    losses = able.losses if own else ("seccomp is the container engine's own profile", *able.losses)
    return _Engine(place, version, found, able.processors, facts, losses, host_uid, seccomp_profile() if own else "")


def _find_image(api: Any, name: str) -> Image:
    from docker.errors import ImageNotFound

    try:
        found = api.inspect_image(name)
    except ImageNotFound as error:
        raise UnusableError(
            f"the image {name} is not on this machine",
            f"Run `docker pull {name}` (Skillkeep never pulls), or set sandbox.docker_image to one you have.",
        ) from error
    if (found.get("Config") or {}).get("Volumes"):
        raise UnusableError(
            f"the image {name} declares volumes, which would be writable and without a limit",
            "Choose an image without a VOLUME line for sandbox.docker_image.",
        )
    return Image(name, found["Id"], tuple(found.get("RepoDigests") or ()))


def _image_layer(image: Image) -> Layer:
    return Layer("image", True, {"name": image.name, "id": image.id, "digests": " ".join(image.digests)})


def _checked(api: Any, container: str, body: Mapping[str, Any]) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
    """What the engine took of the sandbox, and the losses among it, before the start.

    Raises `RunnerError` (`sandbox_layer_failed`) for a missing layer that no run goes without.
    """
    with _engine_errors("describe the container"):
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


def _sweep(api: Any, now: float) -> None:
    """Remove containers of ours whose run is over: the caller was killed before it could.

    Another start may be removing the same ones at this moment; what is left is tried again at the next start.
    """
    for container in api.containers(all=True, filters={"label": OWNER_LABEL}):
        if is_orphan(container.get("Labels") or {}, now):
            with contextlib.suppress(RunnerError):
                _remove(api, container["Id"])


def _await_end(api: Any, container: str, left: float) -> Cause:
    """The output has ended; the payload may still run with its streams closed."""
    try:
        api.wait(container, timeout=max(left, 0.001))
    except OSError:  # the SDK lets its HTTP library's time-out through
        return Cause.TIMEOUT
    return Cause.EXIT


def _kill(api: Any, container: str) -> None:
    from docker.errors import APIError

    with contextlib.suppress(APIError):  # it may have ended by itself meanwhile
        api.kill(container, _SIGKILL)
    api.wait(container, timeout=_CALL_SECONDS)


def _remove(api: Any, container: str) -> None:
    """Remove the container with its anonymous volumes, running or not. Raises unless it is really dead."""
    from docker.errors import APIError, NotFound

    try:
        api.remove_container(container, force=True, v=True)
    except NotFound:
        return
    except (APIError, OSError) as error:
        with _engine_errors(f"remove the container {container[:12]}"), contextlib.suppress(NotFound):
            if api.inspect_container(container)["State"].get("Running"):
                raise error


@contextlib.contextmanager
def _engine_errors(doing: str) -> Iterator[None]:
    from docker.errors import DockerException

    try:
        yield
    except (DockerException, OSError) as error:
        raise RunnerError(
            "backend_failed",
            f"the container engine could not {doing}: {_first_line(error)}",
            "Look at the engine's log (`docker info` shows whether it answers) and run the command again.",
            backend=DockerBackend.name,
        ) from error


def _first_line(error: BaseException) -> str:
    explained = getattr(error, "explanation", None)
    text = explained.decode("utf-8", "replace") if isinstance(explained, bytes) else str(explained or error)
    return (text.strip().splitlines() or [type(error).__name__])[0][:300]

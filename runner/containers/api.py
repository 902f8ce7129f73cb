"""The calls to a container engine's API, each with its failures put in words. The only importer of the docker SDK."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skillkeep.runner.containers.body import USER, Image
from skillkeep.runner.containers.engine import (
    START_AN_ENGINE,
    UnusableError,
    capabilities,
    check_reachable,
    local_socket,
)
from skillkeep.runner.containers.owner import OWNER_LABEL, is_orphan
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Cause

__all__ = [
    "CALL_SECONDS", "Engine", "attached", "await_end", "client", "connect", "engine_errors", "kill", "remove", "rename",
    "sweep",
]  # fmt: skip

CALL_SECONDS = 30
_OLDEST_API = "1.41"
_GREETING_SECONDS = 10
_SIGKILL = 9


@dataclass(frozen=True)
class Engine:
    """A daemon that was asked what it can do, and the image that runs use. `profile_form`: as for `as_taken`."""

    socket: str
    version: str
    image: Image
    processors: int
    facts: Mapping[str, str]
    losses: tuple[str, ...]
    host_uid: int | None
    profile_form: str


@contextlib.contextmanager
def attached(api: Any, container: str, stdin: bool) -> Iterator[socket.socket]:
    """The connection that carries a container's streams."""
    wanted = {"stdin": int(stdin), "stdout": 1, "stderr": 1, "stream": 1}
    stream = api.attach_socket(container, params=wanted)
    with contextlib.closing(stream), contextlib.closing(stream._sock) as connection:
        yield connection


@contextlib.contextmanager
def client(place: str, version: str, seconds: int) -> Iterator[Any]:
    """A `docker.APIClient` of the given API version, for one piece of work."""
    import docker

    api = docker.APIClient(base_url=f"unix://{place}", version=version, timeout=seconds)
    try:
        yield api
    finally:
        api.close()


def connect(environment: Mapping[str, str], image: str, runtime: str) -> Engine:
    """Ask the engine of this machine. Raises `UnusableError`."""
    place = local_socket(environment)
    try:
        from docker.errors import DockerException
    except ImportError as error:
        raise UnusableError(f"the docker package cannot be imported: {error}", "Run: pip install docker") from error
    check_reachable(place)
    try:
        with client(place, _OLDEST_API, _GREETING_SECONDS) as api:
            about = api.version(api_version=False)
            version = about["ApiVersion"]
        with client(place, version, _GREETING_SECONDS) as api:
            able = capabilities(api.info(), runtime)
            found = _find_image(api, image)
    except (DockerException, OSError, KeyError, ValueError) as error:
        reason = f"no container engine answers at {place}: {_first_line(error)}"
        raise UnusableError(reason, START_AN_ENGINE) from error
    host_uid = None if able.user_ids_mapped else USER
    facts = {**able.facts, "socket": place}
    podman = "podman" in str(about.get("Components", "")).lower()
    form, losses = "file" if podman else "text", able.losses
    if podman and able.facts["cgroups"] == "1":
        losses = (*losses, "an end by the memory limit looks like any other kill (137)")
    if runtime:
        form, losses = "", ("seccomp is the container engine's own profile, or the runtime's", *losses)
    return Engine(place, version, found, able.processors, facts, losses, host_uid, form)


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


def sweep(api: Any, now: float) -> None:
    """Remove containers of ours whose run is over: the caller was killed before it could.

    Another start may be removing the same ones at this moment; what is left is tried again at the next start.
    """
    for container in api.containers(all=True, filters={"label": OWNER_LABEL}):
        if is_orphan(container.get("Labels") or {}, now):
            with contextlib.suppress(RunnerError):
                remove(api, container["Id"])


def await_end(api: Any, container: str, left: float) -> Cause:
    """The output has ended; the payload may still run with its streams closed."""
    try:
        api.wait(container, timeout=max(left, 0.001))
    except OSError:  # the SDK lets its HTTP library's time-out through
        return Cause.TIMEOUT
    return Cause.EXIT


def kill(api: Any, container: str) -> None:
    """Kill it, and return when it is dead."""
    from docker.errors import APIError

    with contextlib.suppress(APIError):  # it may have ended by itself meanwhile
        api.kill(container, _SIGKILL)
    api.wait(container, timeout=CALL_SECONDS)


def rename(api: Any, container: str, name: str) -> bool:
    """Give a container a name; False when it cannot have it, because it or another has it already."""
    from docker.errors import APIError

    try:
        api.rename(container, name)
    except APIError:
        return False
    return True


def remove(api: Any, container: str) -> None:
    """Remove the container with its anonymous volumes, running or not. Raises unless it is really dead."""
    from docker.errors import APIError, NotFound

    try:
        api.remove_container(container, force=True, v=True)
    except NotFound:
        return
    except (APIError, OSError) as error:
        with engine_errors(f"remove the container {container[:12]}"), contextlib.suppress(NotFound):
            if api.inspect_container(container)["State"].get("Running"):
                raise error


@contextlib.contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn the SDK's errors into RunnerError("backend_failed"); `doing` completes "could not"."""
    from docker.errors import DockerException

    try:
        yield
    except (DockerException, OSError) as error:
        raise RunnerError(
            "backend_failed",
            f"the container engine could not {doing}: {_first_line(error)}",
            "Look at the engine's log (`docker info` shows whether it answers) and run the command again.",
            backend="docker",
        ) from error


def _first_line(error: BaseException) -> str:
    explained = getattr(error, "explanation", None)
    text = explained.decode("utf-8", "replace") if isinstance(explained, bytes) else str(explained or error)
    return (text.strip().splitlines() or [type(error).__name__])[0][:300]

"""Which container engine is good enough, and what a user is told about one that is not."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillkeep.runner.containers.docker import DEFAULT_IMAGE, DockerBackend
from skillkeep.runner.containers.engine import UnusableError, capabilities, local_socket
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import RunRequest

GOOD: dict[str, Any] = {
    "OSType": "linux",
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=seccomp,profile=default"],
    "Runtimes": {"runc": {}, "runsc": {}},
    "DefaultRuntime": "runc",
}


def test_an_engine_that_holds_every_limit_is_taken() -> None:
    able = capabilities(GOOD, "")
    assert able.facts["runtime"] == "runc"
    assert not able.user_ids_mapped
    assert any("root" in loss for loss in able.losses)


def test_a_rootless_engine_loses_less() -> None:
    able = capabilities({**GOOD, "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"]}, "runsc")
    assert able.user_ids_mapped
    assert able.facts["runtime"] == "runsc"
    assert not any("root without" in loss for loss in able.losses)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"OSType": "windows"}, "Linux"),
        ({"MemoryLimit": False}, "MemoryLimit"),
        ({"PidsLimit": None}, "PidsLimit"),
        ({"CpuCfsQuota": False}, "CpuCfsQuota"),
        ({"SecurityOptions": None}, "seccomp"),
        ({"SecurityOptions": ["name=seccomp,profile=unconfined"]}, "seccomp"),
        ({"Runtimes": {"runc": {}}}, "runsc"),
    ],
)
def test_an_engine_that_cannot_hold_a_limit_is_not_used(change: dict[str, Any], named: str) -> None:
    with pytest.raises(UnusableError, match=named) as caught:
        capabilities({**GOOD, **change}, "runsc")
    assert caught.value.mend


@pytest.mark.parametrize(
    "host", ["tcp://127.0.0.1:2375", "ssh://host.example.invalid", "http://h", "npipe:////./pipe/x"]
)
def test_an_engine_on_another_machine_is_refused_before_it_is_asked(host: str) -> None:
    state = DockerBackend(environment={"DOCKER_HOST": host}).probe()
    assert not state.available
    assert "unix://" in state.mend


def test_a_named_socket_is_the_only_one_tried() -> None:
    assert local_socket({"DOCKER_HOST": "unix:///nowhere/docker.sock", "HOME": "/"}) == "/nowhere/docker.sock"


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room: a socket's address ends at 108 bytes, and pytest's folders may lie deep."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="sk-") as folder:
        yield Path(folder)


def test_the_users_own_engine_is_found(short_path: Path) -> None:
    place = short_path / "podman" / "podman.sock"
    place.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        found = local_socket({"XDG_RUNTIME_DIR": str(short_path)})
    assert found in {str(place), "/var/run/docker.sock"}


def test_no_engine_is_a_reason_and_a_way_to_mend_and_nothing_runs(tmp_path: Path) -> None:
    backend = DockerBackend(environment={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    state = backend.probe()
    assert (state.available, bool(state.reason), bool(state.mend)) == (False, True, True)
    with pytest.raises(RunnerError) as caught:
        backend.run(RunRequest(("true",)))
    assert (caught.value.code, caught.value.exit_code) == ("sandbox_unavailable", 126)


def test_a_socket_that_speaks_something_else_is_no_engine(short_path: Path) -> None:
    place = short_path / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()

        def babble() -> None:
            asked = b""
            while not asked:  # the first connection only looks whether somebody is there
                connection, _ = server.accept()
                with connection:
                    asked = connection.recv(4096)
                    if asked:
                        connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        state = DockerBackend(environment={"DOCKER_HOST": f"unix://{place}"}).probe()
        thread.join(10)
    assert not state.available
    assert str(place) in state.reason


def test_the_default_image_is_named_where_none_is_set() -> None:
    assert DEFAULT_IMAGE.startswith("python:3")

"""What has to hold on Podman by itself: its init's words, and nothing is left of a caller that was killed.

Its own service, images and state. Everything else of `test_docker` can be run against Podman with DOCKER_HOST, but what
waits for an event: its service tells of none where there is no journal.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.docker import root_archive
from support.waiting import until

from skillkeep.runner.containers.docker import DockerBackend
from skillkeep.runner.containers.engine import UnusableError, check_reachable
from skillkeep.runner.containers.owner import RUN_LABEL
from skillkeep.runner.interface import RunRequest, SandboxPolicy

pytestmark = [
    pytest.mark.skipif(shutil.which("podman") is None, reason="no podman here: apt-get install podman catatonit"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the service is started by root"),
    pytest.mark.timeout(600),
]

RUNS = (
    "import sys\nfrom skillkeep.runner.containers.docker import DockerBackend\n"
    "from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy\n"
    "policy = SandboxPolicy(binds=(Bind(sys.argv[3], '/data', writable=True),))\n"
    "backend = DockerBackend(sys.argv[1], environment={'DOCKER_HOST': sys.argv[2]})\n"
    "backend.run(RunRequest(('sh', '-c', 'touch /data/began; sleep 600'), policy))"
)


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    """The address of a Podman service of the tests' own; it, its containers and its images are gone afterwards."""
    folder = tempfile.mkdtemp(prefix="skillkeep-podman-", dir="/tmp")
    place = f"{folder}/podman.sock"
    own = ["podman", "--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]
    own += ["--cgroup-manager", "cgroupfs", "--tmpdir", f"{folder}/tmp", *_other_runtime()]
    service = subprocess.Popen(
        [*own, "system", "service", "--time", "0", f"unix://{place}"], stderr=subprocess.PIPE, cwd=folder
    )

    def answers() -> bool:
        try:
            check_reachable(place)
        except UnusableError:
            return service.poll() is not None
        return True

    try:
        assert until(answers)
        if service.poll() is not None:
            assert service.stderr is not None
            pytest.skip(f"podman's service does not start: {service.stderr.read().decode(errors='replace')[-300:]}")
        yield f"unix://{place}"
    finally:
        subprocess.run([*own, "rm", "--all", "--force", "--time", "0"], capture_output=True, check=False)
        service.kill()
        service.communicate()
        shutil.rmtree(folder, ignore_errors=True)


def _other_runtime() -> list[str]:
    """Where some controllers are left to the second version of control groups, crun starts nothing and runc does."""
    left = Path("/sys/fs/cgroup/unified/cgroup.controllers")
    return ["--runtime", "runc"] if left.is_file() and left.read_text().split() and shutil.which("runc") else []


@pytest.fixture(scope="module")
def client(host: str) -> Iterator[Any]:
    import docker

    engine = docker.APIClient(base_url=host, version="auto", timeout=120)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def image(client: Any) -> str:
    answer = client.import_image_from_data(root_archive(), repository="skillkeep-test", tag="podman")
    found: str = [json.loads(line) for line in answer.splitlines()][-1]["status"].strip()
    return found


@pytest.fixture
def backend(image: str, host: str) -> DockerBackend:
    made = DockerBackend(image, environment={"DOCKER_HOST": host})
    if not (state := made.probe()).available:
        pytest.skip(f"this podman cannot bound a run: {state.reason}")
    return made


def left(client: Any) -> list[str]:
    return [each["Id"] for each in client.containers(all=True, filters={"label": RUN_LABEL})]


def test_a_run_holds_and_leaves_nothing(backend: DockerBackend, client: Any) -> None:
    result = backend.run(RunRequest(("sh", "-c", "id -u; echo x > /etc/new"), SandboxPolicy()))
    assert (result.stdout, result.ok) == (b"65534\n", False)
    assert left(client) == []


def test_a_program_that_is_not_there_or_may_not_be_run_ends_like_in_a_shell(backend: DockerBackend) -> None:
    for program, code in (("no-such-program", 127), ("/etc/hostname", 126)):
        assert backend.run(RunRequest((program,), SandboxPolicy())).exit_code == code


def test_a_container_of_a_killed_caller_is_removed_by_the_next_start_and_no_other(
    backend: DockerBackend, client: Any, image: str, host: str, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    foreign = client.create_container(image, ["sleep", "600"], labels={"com.example": "keep"})["Id"]
    child = subprocess.Popen([sys.executable, "-c", RUNS, image, host, str(shared)])
    try:
        assert until((shared / "began").exists, 120)
        (orphan,) = left(client)
        backend.run(RunRequest(("true",), SandboxPolicy()))
        assert left(client) == [orphan], "a living caller keeps its container"
        child.send_signal(signal.SIGKILL)
        child.wait(120)
        assert left(client) == [orphan]
        backend.run(RunRequest(("true",), SandboxPolicy()))
        assert left(client) == []
        assert foreign in [each["Id"] for each in client.containers(all=True)]
    finally:
        child.kill()
        child.wait()
        client.remove_container(foreign, force=True)

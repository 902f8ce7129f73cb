"""A container started ahead serves one run of one kind, and nothing of that run is seen by the next."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.docker import NEEDS_ENGINE, engine_client, imported_image
from support.vaults import make_tool

from skillkeep.home import Home
from skillkeep.runner.containers.docker import DockerBackend
from skillkeep.runner.containers.owner import RUN_LABEL
from skillkeep.runner.containers.warm import KEY_LABEL
from skillkeep.runner.interface import Cause, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.native.plan import policy_text

pytestmark = NEEDS_ENGINE


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    yield from imported_image()


@pytest.fixture
def client() -> Iterator[Any]:
    engine = engine_client()
    if "podman" in str(engine.version().get("Components", "")).lower():
        pytest.skip("Podman has no warm containers")
    try:
        yield engine
        for container in engine.containers(all=True, filters={"label": KEY_LABEL}):
            engine.remove_container(container["Id"], force=True)
    finally:
        engine.close()


@pytest.fixture
def backend(image: str, client: Any) -> DockerBackend:
    return DockerBackend(image, warm_seconds=60)


def sh(backend: DockerBackend, code: str, stdin: bytes | None = None, **more: Any) -> RunResult:
    tool, policy = more.pop("tool", None), SandboxPolicy(**more)
    return backend.run(RunRequest(("sh", "-c", code), policy, tool, stdin))


def warm(result: RunResult) -> str:
    layer = result.assurance.layer("warm")
    return "" if layer is None else layer.facts["container"]


def waiting(client: Any) -> list[str]:
    return [each["Id"] for each in client.containers(filters={"label": KEY_LABEL})]


def test_the_second_run_is_served_by_a_container_that_waited_and_the_third_by_another(
    backend: DockerBackend, client: Any
) -> None:
    results = [sh(backend, 'cat; echo "$0 $HOME"; exit 3', stdin=b"in\n") for _ in range(3)]
    assert [(each.stdout, each.exit_code) for each in results] == [(b"in\nsh /tmp\n", 3)] * 3
    first, second, third = map(warm, results)
    assert first == ""
    assert len({second, third, ""}) == 3
    assert len(waiting(client)) == 1


def test_nothing_of_one_run_is_there_for_the_next(backend: DockerBackend) -> None:
    look = "ls -A /tmp; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls /dev/shm"
    clean = sh(backend, look)
    dirty = sh(backend, "echo x > /tmp/left; echo y > /dev/shm/left; (sleep 500 > /dev/null 2>&1 &) ; exit 0")
    after = sh(backend, look)
    assert (warm(dirty) != "", warm(after) != "") == (True, True)
    assert b"left" not in after.stdout
    assert b"sleep 500" not in after.stdout
    assert clean.exit_code == after.exit_code == 0


def test_it_has_the_same_walls_as_any_container(backend: DockerBackend) -> None:
    results = [sh(backend, "head -60 /proc/self/status; touch /x") for _ in range(2)]
    assert warm(results[1]) != ""
    lines = [
        dict(line.split(":\t", 1) for line in each.stdout.decode().splitlines() if ":\t" in line) for each in results
    ]
    for name in ("Uid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters"):
        assert lines[0].get(name) == lines[1].get(name), name
    assert b"Read-only" in results[1].stderr
    assert [layer.name for layer in results[1].assurance.layers if not layer.in_force] == []


def test_another_tool_or_another_limit_never_gets_it(backend: DockerBackend, home: Home, client: Any) -> None:
    one = make_tool(home, "one", {"SKILL.md": "# one\n"})
    two = make_tool(home, "two", {"SKILL.md": "# two\n"})
    assert sh(backend, "cat SKILL.md", tool=one, tool_mount="/work").stdout == b"# one\n"
    other = sh(backend, "cat SKILL.md", tool=two, tool_mount="/work")
    limit = sh(backend, "cat SKILL.md", tool=one, tool_mount="/work", memory_bytes=100 << 20)
    again = sh(backend, "cat SKILL.md", tool=one, tool_mount="/work")
    assert (other.stdout, warm(other), warm(limit)) == (b"# two\n", "", "")
    assert (again.stdout, warm(again) != "") == (b"# one\n", True)


def test_two_runs_at_once_never_share_one(backend: DockerBackend) -> None:
    sh(backend, "true")
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: sh(backend, "sleep 1; echo ok"), range(3)))
    assert [each.stdout for each in results] == [b"ok\n"] * 3
    taken = [warm(each) for each in results if warm(each)]
    assert len(taken) == len(set(taken))


def test_limits_and_ends_are_told_as_ever(backend: DockerBackend, client: Any) -> None:
    sh(backend, "true", wall_seconds=1.5)
    late = sh(backend, "sleep 100", wall_seconds=1.5)
    assert (late.cause, warm(late) != "") == (Cause.TIMEOUT, True)
    sh(backend, "true", output_bytes=1000)
    flood = sh(backend, "while :; do echo xxxxxxxxxxxxxxxxxxxx; done", output_bytes=1000)
    assert (flood.cause, len(flood.stdout), warm(flood) != "") == (Cause.OUTPUT_CAP, 1000, True)
    held = sh(backend, "sleep 100 & echo done")
    held = sh(backend, "sleep 100 & echo done")
    assert (held.stdout, held.cause, warm(held) != "") == (b"done\n", Cause.EXIT, True)
    names = client.containers(all=True, filters={"label": RUN_LABEL})
    assert all("/skillkeep-used" not in name for each in names for name in each["Names"])


def test_a_waiting_container_has_the_policy_of_its_run_and_serves_no_other_policy(backend: DockerBackend) -> None:
    """It is started from a file that is gone when its run comes."""
    policy = SandboxPolicy(env=(("A", "1"),))
    results = [backend.run(RunRequest(("sh", "-c", 'cat "$SKILLKEEP_POLICY"'), policy)) for _ in range(2)]
    assert [each.stdout.decode() for each in results] == [policy_text(policy)] * 2
    assert warm(results[1]) != ""
    other = SandboxPolicy(env=(("A", "1"), ("B", "2")))
    result = backend.run(RunRequest(("sh", "-c", 'cat "$SKILLKEEP_POLICY"'), other))
    assert (result.stdout.decode(), warm(result)) == (policy_text(other), "")

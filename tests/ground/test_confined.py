"""A confined worker has its job's rights and no others; whatever it does, the parent gets one typed answer."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.waiting import until

from skillkeep.confined import Confinement, WorkerError, run_confined
from skillkeep.confined_check import attempt
from skillkeep.errors import SkillkeepError

JOB = "skillkeep.confined_check:attempt"


def outcomes(attempts: list[list[Any]], **rules: Any) -> list[str]:
    result: list[str] = run_confined(JOB, {"attempts": attempts}, Confinement(**rules))["outcomes"]
    return result


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_files_outside_the_grant_cannot_be_read_listed_or_written(tmp_path: Path) -> None:
    home, granted, other = os.path.expanduser("~"), tmp_path / "granted", tmp_path / "other"
    for folder in (granted, other):
        folder.mkdir()
        (folder / "file").write_bytes(b"x")
    attempts: list[list[Any]] = [
        ["read", str(granted / "file")],
        ["list", str(granted)],
        ["read", str(other / "file")],
        ["list", str(other)],
        ["write", str(granted / "new")],
        ["write", str(other / "new")],
        ["read", "/etc/shadow"],
        ["list", home if os.path.isdir(home) else "/"],
        ["read", f"/proc/{os.getpid()}/environ"],
    ]
    assert set(attempt({"attempts": attempts[:6]})["outcomes"]) == {"done"}
    (granted / "new").unlink()
    (other / "new").unlink()
    assert outcomes(attempts, read=(str(granted),)) == ["done", "done", *["EACCES"] * 7]
    assert not (granted / "new").exists()


def test_a_write_grant_covers_its_folder_only(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    attempts = [["write", str(tmp_path / "box" / "new")], ["write", str(tmp_path / "new")]]
    assert outcomes(attempts, write=(str(tmp_path / "box"),)) == ["done", "EACCES"]


def test_a_link_does_not_widen_a_grant(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "box" / "link").symlink_to("../secret")
    assert outcomes([["read", str(tmp_path / "box" / "link")]], read=(str(tmp_path / "box"),)) == ["EACCES"]


def test_without_ports_there_is_no_network_at_all(port: int) -> None:
    attempts: list[list[Any]] = [["connect", port], ["udp", port], ["unix", "\0skillkeep-test"]]
    assert attempt({"attempts": attempts[:2]})["outcomes"] == ["done", "done"]
    assert "done" not in outcomes(attempts)


def test_a_granted_port_can_be_reached_and_no_other(port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        attempts: list[list[Any]] = [["connect", port], ["connect", other.getsockname()[1]]]
        assert attempt({"attempts": attempts})["outcomes"] == ["done", "done"]
        assert outcomes(attempts, tcp_ports=(port,)) == ["done", "EACCES"]


def test_programs_run_only_when_granted() -> None:
    assert "done" not in outcomes([["run", "/bin/true"], ["fork", None]])
    assert outcomes([["run", "/bin/true"], ["thread", None]], programs=True) == ["done", "done"]


def test_a_worker_cannot_leave_its_process_group() -> None:
    assert outcomes([["run", "/bin/true"], ["leave", None]], programs=True) == ["done", "EPERM"]


def test_too_much_memory_is_refused() -> None:
    assert outcomes([["memory", 600 << 20]], memory_bytes=400 << 20) == ["ENOMEM"]


@pytest.mark.parametrize(
    ("attempts", "rules", "cause"),
    [
        ([["spin", None]], {"wall_seconds": 1.0}, "timeout"),
        ([["spin", None]], {"cpu_seconds": 1}, "crash"),
        ([["die", signal.SIGKILL]], {}, "crash"),
        ([["die", signal.SIGSEGV]], {}, "crash"),
        ([["no such attempt", 0]], {}, "crash"),
    ],
)
def test_a_worker_that_fails_is_one_typed_error(attempts: list[list[Any]], rules: dict[str, Any], cause: str) -> None:
    with pytest.raises(WorkerError) as caught:
        outcomes(attempts, **rules)
    assert (caught.value.code, caught.value.context["cause"]) == ("worker_failed", cause)


def test_what_a_parser_prints_is_not_taken_for_the_reply() -> None:
    assert outcomes([["babble", 1 << 20]]) == ["done"]


def test_a_typed_error_of_the_job_arrives_as_itself(tmp_path: Path) -> None:
    with pytest.raises(SkillkeepError) as caught:
        run_confined("skillkeep.manifest:Manifest.from_text", {}, Confinement())
    assert caught.value.code == "worker_failed"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "io_error", "message": "m", "hint": "h", "context": {"code": 1, "self": 2, "hint": 3}}, "io_error"),
        ({"code": "kernel_refused", "message": "m", "hint": "h", "context": {}}, "worker_failed"),
        ({"code": "no such code", "message": "m", "hint": "h", "context": {}}, "worker_failed"),
        ({"code": "io_error", "message": "m", "hint": "", "context": {}}, "worker_failed"),
        ({"code": ["io_error"], "message": None}, "worker_failed"),
    ],
)
def test_whatever_error_a_worker_claims_is_one_typed_error(error: dict[str, Any], code: str) -> None:
    from skillkeep.confined import _rebuilt

    assert _rebuilt(error, "skillkeep.x:y").code == code


def test_environment_and_descriptors_of_the_parent_do_not_reach_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    fd = os.open(secret, os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        attempts = [["read", f"/dev/fd/{fd}"], ["read", f"/proc/self/fd/{fd}"], ["env", "AWS_SECRET_ACCESS_KEY"]]
        assert attempt({"attempts": attempts})["outcomes"] == ["done", "done", "done"]
        assert "done" not in outcomes(attempts)
    finally:
        os.close(fd)


def test_a_worker_dies_with_its_parent(tmp_path: Path) -> None:
    script = (
        "from skillkeep.confined import Confinement, run_confined\n"
        "print('go', flush=True)\n"
        f"run_confined({JOB!r}, {{'attempts': [['run', {str(tmp_path / 'wait.sh')!r}]]}},\n"
        f"    Confinement(programs=True, read=({str(tmp_path)!r},)))\n"
    )
    seconds = f"54321.{os.getpid()}"  # no other run of the tests has this one
    (tmp_path / "wait.sh").write_text(f"#!/bin/sh\nexec sleep {seconds}\n")
    (tmp_path / "wait.sh").chmod(0o755)
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout
    assert parent.stdout.readline() == b"go\n"
    assert until(lambda: _sleepers(seconds) != [])
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert until(lambda: _sleepers(seconds) == [])


def _sleepers(seconds: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if f"sleep\0{seconds}".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found

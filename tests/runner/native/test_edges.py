"""Odd requests end in a result or in an error with a code, and several runs do not disturb each other."""

from __future__ import annotations

import os
import resource
import threading
from typing import Any

import pytest

from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel, Bind, Cause, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.native import NativeBackend


def _run(*argv: str, stdin: bytes | int | None = None, **policy: Any) -> RunResult:
    return NativeBackend()._run(RunRequest(argv, SandboxPolicy(**policy), stdin=stdin))


def test_runs_side_by_side_each_get_their_own_answer() -> None:
    answers: dict[int, bytes] = {}

    def run(number: int) -> None:
        answers[number] = _run("sh", "-c", f"sleep 0.1; echo {number}").stdout

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: b"%d\n" % number for number in range(6)}


@pytest.mark.parametrize(
    "policy",
    [
        {"wall_seconds": 1e300},
        {"cpus": 1e9},
        {"cpus": 1e-9},
        {"memory_bytes": 2**61},
        {"processes": 2**40},
        {"processes": 1},
        {"tmp_bytes": 1},
        {"file_bytes": 1},
    ],
    ids=str,
)
def test_limits_at_the_edge_are_enforceable(policy: dict[str, Any]) -> None:
    assert _run("true", **policy).exit_code == 0


def test_too_little_memory_to_build_in_is_said_so() -> None:
    if NativeBackend().probe().level < AssuranceLevel.BOUNDED:
        # Without a control group the limit bites only once the program allocates.
        assert _run("python3", "-c", "pass", memory_bytes=1 << 20).exit_code != 0
        return
    with pytest.raises(RunnerError) as caught:
        _run("true", memory_bytes=1 << 16)
    assert (caught.value.code, caught.value.context["layer"]) == ("sandbox_layer_failed", "cgroup")


def test_words_that_are_no_text_are_passed_on_as_bytes() -> None:
    result = _run("sh", "-c", 'printf %s "$1$A"', "sh", "\udcff", env=(("A", "\udcfe"),))
    assert result.stdout == b"\xff\xfe"


def test_a_given_path_variable_decides_where_programs_are_found() -> None:
    with pytest.raises(RunnerError) as caught:
        _run("env", env=(("PATH", ""),))
    assert caught.value.code == "program_not_found"


def test_arguments_the_kernel_refuses_are_no_crash_of_the_runner() -> None:
    with pytest.raises(RunnerError) as caught:
        _run("true", "x" * 200_000)
    assert caught.value.code == "program_not_runnable"


def test_a_single_file_can_be_bound() -> None:
    assert _run("cat", "/data", binds=(Bind("/proc/sys/kernel/ostype", "/data"),)).stdout == b"Linux\n"


def test_a_bind_whose_source_is_missing_is_named() -> None:
    with pytest.raises(RunnerError) as caught:
        _run("true", binds=(Bind("/no/such/folder", "/data"),))
    assert (caught.value.code, caught.value.context["layer"]) == ("sandbox_layer_failed", "bind")


def test_a_closed_descriptor_as_stdin_is_a_usage_error() -> None:
    with pytest.raises(RunnerError) as caught:
        _run("cat", stdin=resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1)
    assert caught.value.code == "bad_policy"


def test_a_descriptor_is_read_from_where_it_stands(tmp_path: Any) -> None:
    path = tmp_path / "input"
    data = b"0123456789" * 20_000
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        os.lseek(fd, 5, os.SEEK_SET)
        assert _run("cat", stdin=fd).stdout == data[5:]
    finally:
        os.close(fd)


def test_a_payload_that_reads_nothing_ends_all_the_same() -> None:
    assert _run("true", stdin=b"x" * 3_000_000).cause is Cause.EXIT


def test_a_payload_that_closes_its_streams_is_waited_for() -> None:
    assert _run("sh", "-c", "exec <&- >&- 2>&-; sleep 0.2; exit 4").exit_code == 4


STEALS = """
import os, sys, time
try:
    mine = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
except OSError:
    sys.exit(3)  # a payload of root's runner has other ids
for _ in range(3):
    if os.fork() == 0:
        break
end = time.monotonic() + 1
while time.monotonic() < end:
    os.write(1, b"x")
    try:
        os.read(mine, 10)
    except BlockingIOError:
        pass
"""


def test_a_payload_that_reads_its_own_output_first_keeps_nobody() -> None:
    result = _run("python3", "-c", STEALS, wall_seconds=20.0)
    assert result.exit_code in (0, 3)
    assert result.wall_seconds < 20

"""The host as the last rung: for one's own tools only, bounded, cleaned, and never called a sandbox."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import BIN, environment, run_command
from support.vaults import make_tool
from support.waiting import later, until

from skillkeep.home import Home
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel, Cause, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.local import LocalBackend
from skillkeep.vault.interface import Tier


def run(home: Home, *argv: str, tier: Tier = Tier.LOCAL, stdin: bytes | int | None = None, **policy: Any) -> RunResult:
    tool = make_tool(home, "tool", {"run.py": "print('hello')\n", "run.sh": "echo hello\n"}, tier)
    request = RunRequest(argv, SandboxPolicy(**policy), tool, stdin, AssuranceLevel.NONE)
    return LocalBackend().run(request)


def test_the_result_says_plainly_that_there_was_no_sandbox(home: Home) -> None:
    result = run(home, "sh", "./run.sh")
    assert (result.stdout, result.exit_code, result.cause, result.backend) == (b"hello\n", 0, Cause.EXIT, "local")
    assert result.assurance.level is AssuranceLevel.NONE
    assert "no sandbox" in result.assurance.losses[0]


@pytest.mark.parametrize("tier", [Tier.TRUSTED, Tier.UNKNOWN])
def test_a_strangers_tool_is_refused_whatever_the_caller_accepts(home: Home, tier: Tier) -> None:
    canary = home.root.parent / "canary"
    with pytest.raises(RunnerError) as caught:
        run(home, "touch", str(canary), tier=tier)
    assert (caught.value.code, caught.value.exit_code) == ("tier_needs_sandbox", 126)
    assert not canary.exists()


def test_a_host_command_without_a_tool_is_refused() -> None:
    with pytest.raises(RunnerError) as caught:
        LocalBackend().run(RunRequest(("true",), min_assurance=AssuranceLevel.NONE))
    assert caught.value.code == "tier_needs_sandbox"


def test_a_run_that_demands_a_sandbox_is_refused(home: Home) -> None:
    tool = make_tool(home, "tool", {"run.sh": "echo\n"}, Tier.LOCAL)
    with pytest.raises(RunnerError) as caught:
        LocalBackend().run(RunRequest(("sh", "./run.sh"), tool=tool))
    assert caught.value.code == "assurance_too_low"


def test_the_callers_environment_does_not_come_along(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "canary")
    seen = run(home, "env", env=(("GIVEN", "1"),)).stdout.decode()
    assert "canary" not in seen
    assert "GIVEN=1" in seen
    assert f"HOME={os.environ['HOME']}\n" not in seen


def test_its_private_home_is_gone_afterwards_whatever_was_left_in_it(home: Home) -> None:
    script = 'mkdir -p "$HOME/a/b" && touch "$HOME/a/b/c" && chmod 0 "$HOME/a" && echo "$HOME"'
    place = Path(run(home, "sh", "-c", script).stdout.decode().strip())
    assert place.name.startswith("skillkeep-run-")
    assert not place.exists()


def test_exit_codes_and_signals_come_through(home: Home) -> None:
    assert run(home, "sh", "-c", "exit 41").exit_code == 41
    killed = run(home, "sh", "-c", "kill -TERM $$")
    assert (killed.cause, killed.signal, killed.exit_code) == (Cause.SIGNAL, 15, None)
    assert run(home, "no-such-program").exit_code == 127


def test_the_time_limit_kills_the_whole_group_and_does_not_wait_for_held_pipes(home: Home) -> None:
    pid_file = home.root.parent / "pid"
    script = f'trap "" TERM; sleep 300 & echo $! > {pid_file}; echo early; wait'
    result = run(home, "sh", "-c", script, wall_seconds=3.0)
    assert (result.cause, result.signal, result.stdout) == (Cause.TIMEOUT, 9, b"early\n")
    assert result.wall_seconds < 100  # it would go on for 300
    assert until(lambda: not is_running(int(pid_file.read_text())))


def test_a_background_process_does_not_hold_the_result(home: Home) -> None:
    pid_file = home.root.parent / "pid"
    result = run(home, "sh", "-c", f"sleep 300 & echo $! > {pid_file}; echo done", wall_seconds=60)
    assert (result.cause, result.stdout) == (Cause.EXIT, b"done\n")
    assert result.wall_seconds < 50  # it would go on for 300
    assert until(lambda: not is_running(int(pid_file.read_text())))


def test_a_flood_is_cut_and_stopped(home: Home) -> None:
    result = run(home, "cat", "/dev/zero", output_bytes=10_000)
    assert (result.cause, len(result.stdout), result.stdout_truncated) == (Cause.OUTPUT_CAP, 10_000, True)


def test_both_streams_are_kept_apart_and_whole(home: Home) -> None:
    script = "i=0; while [ $i -lt 2000 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done"
    result = run(home, "sh", "-c", script)
    assert result.stdout.count(b"\n") == result.stderr.count(b"\n") == 2000
    assert b"err" not in result.stdout


@pytest.mark.parametrize("size", [0, 1, 1_000_000])
def test_input_arrives_whole(home: Home, size: int) -> None:
    result = run(home, "cat", stdin=b"x" * size)
    assert result.stdout == b"x" * size


def test_input_that_nobody_reads_is_no_error(home: Home) -> None:
    assert run(home, "true", stdin=b"x" * 1_000_000).exit_code == 0


def test_input_can_be_a_descriptor(home: Home) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"typed")
    os.close(writer)
    assert run(home, "cat", stdin=reader).stdout == b"typed"
    os.close(reader)


@pytest.mark.parametrize(
    ("limit", "script"),
    [
        ({"file_bytes": 4096}, "head -c 1000000 /dev/zero > $HOME/f"),
        ({"memory_bytes": 64 << 20}, f"{sys.executable} -c 'bytearray(300 * 2**20)'"),
        ({"open_files": 20}, f"{sys.executable} -c 'f = [open(\"/dev/null\") for _ in range(50)]'"),
    ],
)
def test_each_limit_bites(home: Home, limit: dict[str, Any], script: str) -> None:
    assert run(home, "sh", "-c", script).ok
    stopped = run(home, "sh", "-c", script, **limit)
    assert not stopped.ok
    assert stopped.cause is not Cause.TIMEOUT


def test_processor_time_is_bounded_too(home: Home) -> None:
    spun = run(home, "sh", "-c", "while :; do :; done", wall_seconds=60.0, cpus=0.01)
    assert (spun.cause, spun.exit_code) == (Cause.SIGNAL, None)
    assert spun.wall_seconds < 50


@contextlib.contextmanager
def under_way(home: Home, room: Path, *before: str) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """`skill run` of a tool that stays, with a child of its own: the runner, and both of the tool's pids."""
    make_tool(home, "tool", {"stay.sh": "sleep 900 & echo $$ $! >$1/new; mv $1/new $1/pids; wait\n"}, Tier.LOCAL)
    temporary, told = room / "tmp", room / "pids"
    temporary.mkdir()
    words = [*before, str(BIN / "skill"), "run", "--backend", "local", "tool", "stay", str(room)]
    env = environment(home.root, {"TMPDIR": str(temporary)})
    with subprocess.Popen(words, env=env, stdin=-3, stdout=-3, stderr=-3, start_new_session=True) as runner:
        try:
            assert until(told.exists)
            yield runner, [int(pid) for pid in told.read_text().split()]
        finally:
            runner.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_with_a_runner_that_is_told_to_end_and_leaves_nothing(home: Home, tmp_path: Path, number: int) -> None:
    with under_way(home, tmp_path) as (runner, pids):
        assert len(list((tmp_path / "tmp").glob("skillkeep-run-*"))) == 1
        runner.send_signal(number)
        assert runner.wait(60) == 128 + number
        assert until(lambda: not any(map(is_running, pids)))
        assert list((tmp_path / "tmp").iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored(home: Home, tmp_path: Path) -> None:
    with under_way(home, tmp_path, "nohup") as (runner, pids):
        runner.send_signal(signal.SIGHUP)
        later(0.5)
        assert runner.poll() is None
        assert all(map(is_running, pids))


def test_it_ends_with_a_runner_that_is_killed_and_the_next_run_removes_its_home(home: Home, tmp_path: Path) -> None:
    with under_way(home, tmp_path) as (runner, pids):
        runner.kill()
        assert until(lambda: not any(map(is_running, pids)))
        (left,) = (tmp_path / "tmp").iterdir()
        words = ("skill", "run", "--backend", "local", "tool", "--", "true")
        assert run_command(*words, home=home.root, env={"TMPDIR": str(tmp_path / "tmp")}).code == 0
        assert not left.exists()


def test_a_runner_that_is_killed_before_it_says_go_has_started_nothing(home: Home, tmp_path: Path) -> None:
    tool = make_tool(home, "tool", {"run.sh": "echo\n"}, Tier.LOCAL)
    request = RunRequest(("touch", str(tmp_path / "ran")), tool=tool, min_assurance=AssuranceLevel.NONE)
    with contextlib.ExitStack() as held:
        launched = LocalBackend()._launch(request, str(tmp_path), held)
    with launched.process:
        assert launched.process.wait(60) == 125
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("taken", [0, 20])
def test_no_descriptor_of_ours_that_can_be_written_is_inside(home: Home, taken: int) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(taken):
            held.callback(os.close, os.open("/", os.O_RDONLY))
        result = run(home, "ls", "-l", "/proc/self/fd")  # a shell has pipes of its own while it starts others
    rows = [line.split() for line in result.stdout.decode().splitlines() if " -> " in line]
    assert [row[-3] for row in rows if row[0][2] == "w"] == ["0", "1", "2"]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False

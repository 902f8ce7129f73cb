"""A selftest leaves nothing behind, however it ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import BIN, environment, run_command
from support.waiting import until

from skillkeep.runner.selftest.bait import _remove_left, laid_out

LAYS_OUT = """
import sys
import tempfile
from collections.abc import Iterator
from skillkeep.runner.selftest.bait import _remove_left, laid_out
with laid_out() as bait:
    print(bait.folder, "/dev/shm/" + bait.facts["shm_name"], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def room() -> Iterator[Path]:
    """A place for temporary files whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_what_a_killed_one_left_is_removed_by_the_next_and_nothing_of_a_living_one(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(room))
    env = {**os.environ, "TMPDIR": str(room)}
    command = [sys.executable, "-c", LAYS_OUT]
    with (
        subprocess.Popen(command, stdin=-1, stdout=-1, env=env, cwd="/") as killed,
        subprocess.Popen(command, stdin=-1, stdout=-1, env=env, cwd="/") as living,
    ):
        assert killed.stdout is not None
        assert living.stdout is not None
        left = [Path(each) for each in killed.stdout.readline().decode().split()]
        kept = [Path(each) for each in living.stdout.readline().decode().split()]
        killed.kill()
        killed.wait()
        assert all(path.exists() for path in left)
        with laid_out():
            assert not any(path.exists() for path in left)
            assert all(path.exists() for path in kept)
        living.communicate()
    assert not any(path.exists() for path in kept)
    assert list(room.iterdir()) == []


def test_who_is_told_to_end_while_it_is_laid_out_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[threading.Thread] = []
    start = threading.Thread.start

    def told_to_end(thread: threading.Thread) -> None:
        begun.append(thread)
        start(thread)
        raise SystemExit(143)

    monkeypatch.setattr(threading.Thread, "start", told_to_end)
    with pytest.raises(SystemExit), laid_out():
        pass
    assert [thread.is_alive() for thread in begun] == [False]


def test_who_is_told_to_end_while_the_shared_file_is_made_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    locks = fcntl.flock

    def told_to_end(fd: int, kind: int) -> None:
        locks(fd, kind)
        if (path := os.readlink(f"/proc/self/fd/{fd}")).startswith("/dev/shm/"):
            made.append(path)
            raise SystemExit(143)

    monkeypatch.setattr(fcntl, "flock", told_to_end)
    with pytest.raises(SystemExit), laid_out():
        pass
    assert made
    assert not os.path.exists(made[-1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_one_that_is_told_to_end_leaves_nothing(tmp_path: Path, room: Path, number: int) -> None:
    words = [str(BIN / "runner"), "selftest", "--backend", "native"]
    shared = set(os.listdir("/dev/shm"))
    env = environment(tmp_path / "home", {"TMPDIR": str(room)})
    with subprocess.Popen(words, env=env, stdin=-3, stdout=-3, stderr=-1) as child:
        assert until(lambda: any(room.glob("skillkeep-selftest-*/socket")))
        child.send_signal(number)
        said = child.communicate(timeout=120)[1]
    assert child.returncode == 128 + number, said
    assert list(room.iterdir()) == []
    ours = "skillkeep-selftest-"
    assert [name for name in os.listdir("/dev/shm") if name.startswith(ours) and name not in shared] == []


def test_a_sandbox_that_was_asked_for_and_is_not_there_is_not_all_there_are(tmp_path: Path) -> None:
    env = {"DOCKER_HOST": f"unix://{tmp_path}/none"}
    done = run_command("runner", "selftest", "--backend", "docker", home=tmp_path / "home", env=env)
    assert (done.code, "none that was asked for works here" in done.err) == (1, True)


@pytest.mark.parametrize("removals", [1, 3])
def test_a_sweep_between_the_making_and_the_lock_of_a_file_takes_nothing_from_a_living_one(
    room: Path, monkeypatch: pytest.MonkeyPatch, removals: int
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(room))
    left = removals
    lock = fcntl.flock

    def late(fd: int, how: int) -> None:
        nonlocal left
        path = os.readlink(f"/proc/self/fd/{fd}")
        if path.startswith("/dev/shm/") and left and how == fcntl.LOCK_EX:
            left -= 1
            os.unlink(path)  # as another selftest does that sees the file before it is held
        lock(fd, how)

    monkeypatch.setattr("skillkeep.runner.selftest.bait.fcntl.flock", late)
    with laid_out() as bait:
        shared = Path("/dev/shm", bait.facts["shm_name"])
        assert (left, shared.exists()) == (0, True)
    assert not shared.exists()


def test_a_second_sweep_removes_no_file_that_came_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("/dev/shm", f"skillkeep-selftest-{os.getpid():016x}")
    path.write_text("old")
    lock = fcntl.flock

    def late(fd: int, how: int) -> None:
        if os.readlink(f"/proc/self/fd/{fd}") == str(path):
            path.rename(path.with_suffix(".gone"))
            path.write_text("new")
        lock(fd, how)

    monkeypatch.setattr("skillkeep.runner.selftest.bait.fcntl.flock", late)
    try:
        with contextlib.suppress(OSError):
            _remove_left(path)
        assert path.read_text() == "new"
    finally:
        for each in (path, path.with_suffix(".gone")):
            each.unlink(missing_ok=True)

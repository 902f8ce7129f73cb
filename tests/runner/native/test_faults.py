"""What breaks in a fork server or its callers ends one run and no more, and is told."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.sandbox import Bench, staged_packages
from support.slots import at_rest, groups, life
from support.waiting import kill, until

from skillkeep.kernel.cgroup_choice import sweep_groups
from skillkeep.kernel.errors import KernelError
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.native import NativeBackend, asking, client, lent, messages
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.plan import make_plan
from skillkeep.runner.native.server import Server
from skillkeep.runner.native.session import Session
from skillkeep.runner.native.waiting import Waiting


def _serving() -> tuple[socket.socket, Server]:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    listener.bind("")  # a name that the kernel chooses
    listener.listen()
    return listener, Server(listener)


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """What takes longer is stopped with TimeoutError, also when it waits in the kernel."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Odd(Waiting):
    """A sandbox that stands, of which nobody knows why it cannot be lent."""

    def lend(self) -> tuple[bytes, list[int]]:
        super().lend()
        raise ValueError("nobody expected that")


@pytest.fixture(name="stands")
def _stands() -> Iterator[Odd]:
    """It, furnished."""
    plan = make_plan(RunRequest(("true",)), DEFAULT_ID_BASE)
    sandbox = Odd(plan)
    for goal in ("ready", "furnished"):
        while not getattr(sandbox, goal):
            assert sandbox.socket is not None
            assert select.select([sandbox.socket], [], [], 60)[0]
            sandbox.heard()
            assert sandbox.failure is None
        if goal == "ready":
            sandbox.furnish(plan)
    inits = sandbox.pids
    try:
        yield sandbox
    finally:
        sandbox.drop()
        for pid in inits:
            os.waitpid(pid, 0)
        sandbox.group.close()


def test_a_sandbox_that_cannot_be_lent_for_a_reason_unknown_is_dropped_and_logged(
    stands: Odd, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if not stands.counted:
        pytest.skip("no control group can be made by this user here")
    listener, serving = _serving()
    monkeypatch.setattr(serving.slots, "take_furnished", lambda _: SimpleNamespace(sandbox=stands))
    monkeypatch.setattr(serving.slots, "are_stale", lambda _: False)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with listener, ours, theirs:
        session = Session(serving, theirs)
        ours.send(asking.ROOM + b"x")
        session.begin()
        assert ours.recv(99) == b"none"
    assert (stands.pidfd, stands.socket, stands.lent) == (-1, None, None)
    assert "nobody expected that\n" in capfd.readouterr().err


def test_a_caller_that_does_not_listen_is_dropped_with_what_it_was_lent(
    stands: Odd, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not stands.counted:
        pytest.skip("no control group can be made by this user here")
    listener, serving = _serving()
    monkeypatch.setattr(stands, "lend", lambda: Waiting.lend(stands))
    monkeypatch.setattr(serving.slots, "take_furnished", lambda _: SimpleNamespace(sandbox=stands))
    monkeypatch.setattr(serving.slots, "are_stale", lambda _: False)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with listener, ours, theirs:
        session = Session(serving, theirs)
        ours.send(asking.ROOM + b"x")
        with contextlib.suppress(BlockingIOError):
            while True:
                theirs.send(b"x" * 1000)
        session.begin()
        assert isinstance(stands.failure, Exception)
        assert stands.lent is None


def test_who_does_not_listen_is_not_waited_for() -> None:
    ours, theirs = messages.pair()
    with ours, theirs, within(20):
        with contextlib.suppress(BlockingIOError):
            while True:
                ours.send(b"x" * 1000, socket.MSG_DONTWAIT)
        with pytest.raises(KernelError) as caught:
            messages.tell(ours, messages.GO)
        assert caught.value.layer == "setup"


def test_a_descriptor_that_a_caller_has_made_wait_does_not_make_the_server_wait(stands: Odd) -> None:
    assert stands.socket is not None
    os.set_blocking(stands.socket.fileno(), True)  # what whoever it was lent to can do
    stands.socket.settimeout(None)
    with within(20):
        stands.heard()
    assert stands.furnished


def test_a_plan_is_taken_from_a_memory_file_alone(own: Bench, tmp_path: Path) -> None:
    plan = make_plan(RunRequest(("true",)), DEFAULT_ID_BASE).to_text()
    with client.connected() as connection, open(tmp_path / "plan", "w+b") as file:
        file.write(plan.encode())
        file.flush()
        socket.send_fds(connection, [asking.RUN], [file.fileno()] * 4)
        assert json.loads(connection.recv(4096))["kind"] == "nonsense"


def run(**policy: float) -> RunResult:
    return NativeBackend()._run(RunRequest(("true",), SandboxPolicy(**policy)))  # type: ignore[arg-type]


def skip_without_groups(policy: SandboxPolicy) -> None:
    """A sandbox is lent only where control groups hold what runs in it; the run leaves one ready that can be."""
    if NativeBackend()._run(RunRequest(("true",), policy)).assurance.level.name != "BOUNDED":
        pytest.skip("no control group can be made by this user here")


def is_lent(own: Bench, policy: SandboxPolicy) -> tuple[socket.socket, list[int]] | None:
    """A connection and what came along, when a sandbox was lent on it."""
    room = make_plan(RunRequest(("true",), policy), DEFAULT_ID_BASE).room
    assert until(lambda: at_rest(own.server()))
    connection = client._reached(client._right_server())
    connection.send(asking.ROOM + room.encode())
    data, fds, _, _ = socket.recv_fds(connection, 1 << 16, 32)
    if data.startswith(asking.LENT):
        return connection, fds
    connection.close()
    run(wall_seconds=policy.wall_seconds)
    return None


@pytest.mark.parametrize("began", [math.nan, math.inf, -math.inf, 1e300, -1.0])
def test_no_number_on_the_board_of_a_lent_sandbox_takes_its_time_limit_away(own: Bench, began: float) -> None:
    policy = SandboxPolicy(wall_seconds=0.5)
    skip_without_groups(policy)
    found: list[tuple[socket.socket, list[int]]] = []
    assert until(lambda: bool(found.extend([got] if (got := is_lent(own, policy)) else []) or found))
    ((connection, (inside, board, *others)),) = found
    os.pwrite(board, struct.pack("=d", began), 0)
    for fd in (board, *others):
        os.close(fd)
    with connection, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=inside) as talk:
        assert select.select([talk], [], [], 20)[0], "it still lives"
        connection.send(asking.TELL)
        assert asking.receive(connection, [])["stopped_for"] == "timeout"


def test_a_run_whose_counters_were_swept_is_an_error_and_not_one_that_used_nothing(
    own: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_groups(SandboxPolicy())
    told: list[RunnerError] = []

    class Swept(lent.Lent):
        """The server dies when the last words have been heard, and the next one sweeps."""

        def _outcome(self, last: messages.Last) -> dict[str, object]:
            maker = life(own.server())
            kill(maker[0])
            assert until(lambda: sweep_groups() >= 0 and groups(maker) == [])
            return super()._outcome(last)

    monkeypatch.setattr(lent, "Lent", Swept)

    def refused() -> bool:
        assert until(lambda: at_rest(own.server()))
        try:
            run()
        except RunnerError as error:
            told.append(error)
        return bool(told)

    assert until(refused)
    assert told[0].code == "sandbox_died"
    assert "control groups were removed" in told[0].message


MOUNTED = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from skillkeep.runner.native.layout import look_at_host
from skillkeep.runner.native.standing import Mounts
mounts, host = Mounts(), look_at_host()
before = mounts.shown(host)
subprocess.run(["mount", "-t", "tmpfs", "own", "/usr/share"], check=True)
mounts.all_of_them()
assert mounts.shown(host) != before
"""
UNREAD = """
import sys
sys.path.insert(0, sys.argv[1])
from skillkeep.runner.native import standing
mounts = standing.Mounts()
read = standing.read_text
before = mounts.all_of_them()
import subprocess
subprocess.run(["mount", "-t", "tmpfs", "own", "/usr/share"], check=True)
def fails(path):
    raise OSError(24, "too many open files")
standing.read_text = fails
try:
    mounts.all_of_them()
except OSError:
    standing.read_text = read
assert mounts.all_of_them() != before
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("code", [MOUNTED, UNREAD], ids=["asked twice", "unread"])
def test_a_mount_that_was_heard_of_once_is_never_forgotten(code: str) -> None:
    words = ["unshare", "--mount", sys.executable, "-I", "-c", code, str(staged_packages())]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_error_while_a_sandbox_is_built_ahead_is_logged_and_the_server_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    listener, serving = _serving()

    def broken() -> None:
        raise RuntimeError("nobody expected that")

    monkeypatch.setattr(serving.slots, "refill", broken)
    serving.slots.due = 0.0
    with listener:
        serving.serve(str(tmp_path / "server"), 0.3)
    assert capfd.readouterr().err.count("nobody expected that\n") == 1
    assert serving.slots.due > time.monotonic() + 1


def test_what_killed_servers_left_is_looked_for_often_at_first_and_again_when_it_could_not_be_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener, serving = _serving()
    found: list[int | KernelError] = []

    def sweep_groups() -> int:
        if isinstance(answer := found.pop(0), KernelError):
            raise answer
        return answer

    monkeypatch.setattr("skillkeep.runner.native.server.sweep_groups", sweep_groups)

    def pause_after(answer: int | KernelError, age: float) -> float:
        found.append(answer)
        now = time.monotonic() + age
        serving._sweep(now)
        return round(serving._sweep_at - now, 3)

    error = KernelError("cgroup", 5, "read")
    with listener:
        assert [pause_after(answer, 0.0) for answer in (0, 1, error)] == [0.2, 0.2, 0.2]
        assert [pause_after(answer, 9.0) for answer in (1, error, 0, 1)] == [0.4, 0.8, 60.0, 60.0]

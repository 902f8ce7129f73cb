"""A run after others like it is let go in a sandbox that its caller holds ahead: only while all is as it was."""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.callers import CASES, FORKS, FURNISHED, Caller, at_rest, calling, is_filtered, kill_during_a_run, steady
from support.sandbox import Bench, Who, marked_processes, staged_packages
from support.sandbox import bench as make_bench
from support.slots import KEPT, children, groups, life
from support.waiting import kill, later, until

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.inotify import watch_folder
from skillkeep.kernel.process import lives_since
from skillkeep.kernel.timers import open_timer, set_timer
from skillkeep.runner.interface import RunRequest
from skillkeep.runner.native import NativeBackend, asking, client, host_watch, leases, leftover
from skillkeep.runner.native.board import Board
from skillkeep.runner.native.host_watch import HostWatch
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.plan import make_plan
from skillkeep.runner.native.terms import Terms

NICER = min(os.nice(0) + 5, 19)
"""Another niceness than the tests themselves run with, which a sandbox has from whoever made it."""
NO_GROUPS = "no control group can be made by this user here"
HELD = {name: case for name, case in CASES.items() if "workdir" not in case[1]}


@pytest.mark.parametrize("case", HELD)
def test_the_outcome_is_that_of_a_run_that_the_server_lets_go(bench: Bench, case: str) -> None:
    argv, policy = HELD[case]
    with calling(bench) as caller:
        first = caller.run(*argv, **policy)
        if not caller.holds(**policy):
            pytest.skip(NO_GROUPS)
        again = caller.run(*argv, **policy)
        assert again["held"]
        assert steady(again) == steady(first)
        assert until(lambda: at_rest(bench.server()))


def test_a_time_limit_of_less_than_the_first_moments_holds(bench: Bench) -> None:
    with calling(bench) as caller:
        causes = [caller.run("sleep", "60", wall_seconds=0.002)["cause"] for _ in range(5)]
    assert causes == ["timeout"] * 5


def replaced_folder(bench: Bench) -> None:
    os.rename(bench.folder / "now", bench.folder / "old")
    os.rename(bench.folder / "later", bench.folder / "now")


def no_limit_of_processes(bench: Bench) -> None:
    for place in groups(life(bench.server())):
        if os.path.exists(knob := f"{place}/pids.max"):
            Path(knob).write_text("max", encoding="ascii")


def killed_payloads(bench: Bench) -> None:
    for init in children(bench.server()):
        for payload in children(init):
            with contextlib.suppress(ProcessLookupError):
                kill(payload)


def bounded_server(bench: Bench) -> None:
    code = "import resource, sys; resource.prlimit(int(sys.argv[1]), resource.RLIMIT_MSGQUEUE, (500, 500))"
    assert bench.outside(code, bench.server()).returncode == 0


def nice_server(bench: Bench) -> None:
    code = "import os, sys; os.setpriority(os.PRIO_PROCESS, int(sys.argv[1]), int(sys.argv[2]))"
    assert bench.outside(code, bench.server(), NICER).returncode == 0


def server_on_one_core(bench: Bench) -> None:
    if len(cores := os.sched_getaffinity(bench.server())) < 2:
        pytest.skip("there is one core")
    code = "import os, sys; os.sched_setaffinity(int(sys.argv[1]), {int(sys.argv[2])})"
    assert bench.outside(code, bench.server(), min(cores)).returncode == 0


def killed_server(bench: Bench) -> None:
    kill(bench.server())


STALE: dict[str, Callable[[Bench], None]] = {
    change.__name__.replace("_", " "): change
    for change in (
        *(replaced_folder, no_limit_of_processes, killed_payloads, bounded_server, nice_server, server_on_one_core),
        killed_server,
    )
}


@pytest.mark.parametrize("change", STALE)
def test_what_has_changed_since_it_was_lent_makes_it_stale(bench: Bench, change: str) -> None:
    for name in ("now", "later"):
        (bench.folder / name).mkdir()
        (bench.folder / name / "name").write_text(name)
    shown: dict[str, Any] = {"binds": [[str(bench.folder / "now"), "/data"]], "processes": 5}
    with calling(bench) as caller:
        if not caller.holds(**shown):
            pytest.skip(NO_GROUPS)
        assert caller.run("cat", "/data/name", **shown)["held"]
        assert until(lambda: at_rest(bench.server()))
        STALE[change](bench)
        answer = caller.run("sh", "-c", "cat /data/name; nice", **shown)
        assert not answer["held"]
        expected = "later" if change == "replaced folder" else "now"
        assert answer["stdout"] == f"{expected}{NICER if change == 'nice server' else os.nice(0)}\n"
        if change == "no limit of processes":
            stderr = caller.run("python3", "-c", FORKS, **shown)["stderr"]
            assert "Resource temporarily unavailable" in stderr


def test_a_caller_that_has_changed_uses_nothing_that_it_held_before(bench: Bench) -> None:
    with calling(bench) as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        resource.prlimit(caller.process.pid, resource.RLIMIT_NOFILE, (500, 500))
        answer = caller.run("sh", "-c", "ulimit -n")
        assert (answer["stdout"], answer["held"], answer["lent"]) == ("500\n", False, False)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("change", ["mount", "replaced"])
def test_a_folder_of_the_system_that_has_changed_is_shown_as_it_is_now(change: str) -> None:
    own = 'mount -t tmpfs own /etc/ssl && mkdir /etc/ssl/certs && echo now > /etc/ssl/certs/name && exec "$@"'
    changes = {
        "mount": "mount -t tmpfs other /etc/ssl/certs && echo later > /etc/ssl/certs/name",
        "replaced": "mv /etc/ssl/certs /etc/ssl/old && mkdir /etc/ssl/certs && echo later > /etc/ssl/certs/name",
    }
    with make_bench(Who("root", None)) as bench, calling(bench, "unshare", "--mount", "sh", "-c", own, "sh") as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        answer = caller.run("cat", "/etc/ssl/certs/name")
        assert (answer["stdout"], answer["held"]) == ("now\n", True)
        assert until(lambda: at_rest(bench.server()))
        enter = ["nsenter", "-t", str(caller.process.pid), "--mount"]
        subprocess.run([*enter, "sh", "-c", changes[change]], check=True)
        answer = caller.run("cat", "/etc/ssl/certs/name")
        assert (answer["stdout"], answer["held"]) == ("later\n", False)
        assert until(lambda: caller.run("cat", "/etc/ssl/certs/name")["held"])


def test_a_caller_that_is_killed_when_it_has_said_that_it_begins_takes_all_along(bench: Bench) -> None:
    with calling(bench) as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        mark = secrets.token_hex(8)
        caller.send("sh", "-c", f"sleep 60 # {mark}", signal=signal.SIGKILL)
        assert caller.process.wait(60) == -signal.SIGKILL
        assert until(lambda: at_rest(bench.server()))
        assert marked_processes(mark) == []


def test_a_caller_that_is_stopped_when_it_has_said_that_it_begins_is_not_waited_for(bench: Bench) -> None:
    policy = {"wall_seconds": 3.0}
    with calling(bench) as caller:
        if not caller.holds(**policy):
            pytest.skip(NO_GROUPS)
        waiting = children(bench.server())
        caller.send("echo", "well", signal=signal.SIGSTOP, **policy)
        over = time.monotonic() + 2 * policy["wall_seconds"]  # others that wait may end at any time
        assert until(lambda: time.monotonic() > over and any(lives_since(init) < 0 for init in waiting))
        os.kill(caller.process.pid, signal.SIGCONT)
        answer = caller.answer()
        assert (answer["stdout"], answer["held"], answer["cause"]) == ("well\n", False, "exit")


def test_runs_without_a_pause_each_get_their_own_answer(bench: Bench) -> None:
    with calling(bench) as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        for number in range(40):
            assert caller.run("echo", str(number))["stdout"] == f"{number}\n"
        assert until(lambda: at_rest(bench.server()))


def test_a_used_sandbox_ends_though_its_caller_asks_for_nothing_more(bench: Bench) -> None:
    with calling(bench) as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        before = set(children(bench.server()))
        assert caller.run("true")["held"]
        assert until(lambda: at_rest(bench.server()))
        assert len(before - set(children(bench.server()))) == 1


@pytest.mark.parametrize("end", ["handed back", "killed caller"])
def test_in_the_place_of_one_that_is_lent_no_more_another_is_built(bench: Bench, end: str) -> None:
    with calling(bench) as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        later(2.0)  # a server that missed nothing by now looks for nothing more
        if end == "handed back":
            assert caller.run(*CASES["refused call"][0])["held"]
        else:
            kill(caller.process.pid)
        assert until(lambda: at_rest(bench.server()))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_what_a_mount_during_a_run_has_made_stale_is_built_anew_for_the_caller_that_waits() -> None:
    with make_bench(Who("root", None)) as bench, calling(bench, "unshare", "--mount") as caller:
        (shown := bench.folder / "shown").mkdir()
        policy: dict[str, Any] = {"binds": [[str(shown), "/data"]]}
        if not caller.holds(**policy):
            pytest.skip(NO_GROUPS)
        caller.send("sh", "-c", "until [ -e /data/go ]; do sleep 0.01; done", **policy)
        assert until(lambda: len(children(bench.server())) > KEPT)
        assert until(lambda: sum(map(is_filtered, children(bench.server()))) > FURNISHED)
        later(2.0)  # it has built all that it keeps beside the run, and looks for nothing more
        enter = ["nsenter", "-t", str(caller.process.pid), "--mount"]
        subprocess.run([*enter, "mount", "-t", "tmpfs", "other", str(bench.home)], check=True)
        (shown / "go").touch()
        assert caller.answer()["held"]
        assert until(lambda: at_rest(bench.server()))
        assert caller.run("true", **policy)["held"]


@pytest.mark.parametrize("victim", ["caller", "server", "init"])
def test_whoever_is_killed_during_a_run_nothing_of_it_stays(bench: Bench, victim: str) -> None:
    with calling(bench) as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        server = bench.server()
        kill_during_a_run(caller, server, victim)
        if victim == "server":
            assert caller.answer()["error_code"] == "sandbox_died"
        if victim == "init":
            answer = caller.answer()
            assert (answer["cause"], answer["signal"], answer["held"]) == ("signal", signal.SIGKILL, True)
        if victim != "caller":
            assert caller.run("true")["exit_code"] == 0


def test_a_fork_uses_nothing_that_its_parent_holds(bench: Bench) -> None:
    with calling(bench) as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        forked = caller.run("echo", "child", fork=True)
        assert (forked["stdout"], forked["held"]) == ("child\n", False)
        assert until(lambda: at_rest(bench.server()))
        own = caller.run("echo", "parent")
        assert (own["stdout"], own["held"]) == ("parent\n", True)


def test_what_is_held_for_a_run_of_another_kind_is_given_back(bench: Bench) -> None:
    with calling(bench) as caller:
        if not caller.holds():
            pytest.skip(NO_GROUPS)
        usual = caller.run("sh", "-c", "ulimit -n")["stdout"]  # less than the policy's where the caller may have few
        answer = caller.run("sh", "-c", "ulimit -n", open_files=77)
        assert (answer["stdout"], answer["held"]) == ("77\n", False)
        assert caller.run("sh", "-c", "ulimit -n")["stdout"] == usual != "77\n"


def test_no_more_callers_hold_one_than_are_to(bench: Bench) -> None:
    with contextlib.ExitStack() as stack:
        callers: list[Caller] = []
        for _ in range(leases.MOST):
            callers.append(stack.enter_context(calling(bench)))
            callers[-1].run("true")
        if callers[0].run("true")["assurance"]["level"] != "bounded":
            pytest.skip(NO_GROUPS)
        for caller in callers:
            assert until(lambda caller=caller: caller.run("true")["held"])
        late = stack.enter_context(calling(bench))
        for _ in range(10):
            answer = late.run("echo", "well")
            assert (answer["stdout"], answer["held"]) == ("well\n", False)
        assert until(lambda: late.run("true")["lent"] and late.run("true")["lent"])
        callers[0].process.kill()
        callers[0].process.wait(60)
        assert until(lambda: late.run("true")["held"])


SHORT = """
import sys
sys.path.insert(0, sys.argv[1])
from skillkeep.runner.native import server, session
session.SECONDS = 3.0
sys.exit(server.main(sys.argv[2], sys.argv[3], float(sys.argv[4])))
"""


@pytest.mark.parametrize("idle_seconds", [60.0, 1.0])
def test_what_nobody_uses_is_wanted_back_and_the_next_run_is_served(
    own: Bench, monkeypatch: pytest.MonkeyPatch, idle_seconds: float
) -> None:
    def short(folder: str, name: str, *_: object) -> None:
        words = [sys.executable, "-I", "-c", SHORT, str(staged_packages()), folder, name, str(idle_seconds)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, cwd="/")
        servers.append(process)
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"

    servers: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(client, "_start", short)
    try:
        with lent_ahead() as (connection, words):
            if not words:
                pytest.skip(NO_GROUPS)
            inside, *_ = words
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=inside) as talk:
                words.remove(inside)
                assert connection.recv(4096) == asking.BACK
                talk.settimeout(60)
                assert talk.recv(64) == b""
                assert connection.recv(4096) == b""
        assert NativeBackend()._run(RunRequest(("true",))).exit_code == 0
    finally:
        client.Line.give_back()
        for process in servers:
            process.kill()
            process.communicate()


def test_what_is_made_ahead_and_what_a_run_left_do_not_add_up() -> None:
    client.Line.give_back()
    before, most = len(os.listdir("/proc/self/fd")), 0
    for _ in range(20):
        assert NativeBackend()._run(RunRequest(("true",))).exit_code == 0
        most = max(most, len(os.listdir("/proc/self/fd")))
    assert most < before + 24 + leftover.MANY
    client.Line.give_back()
    assert len(os.listdir("/proc/self/fd")) == before


@contextlib.contextmanager
def lent_ahead() -> Any:
    """A connection on which a sandbox has been lent ahead of its run, and its descriptors; none where none is."""
    client.Line.give_back()
    room = make_plan(RunRequest(("true",)), DEFAULT_ID_BASE).room
    if NativeBackend()._run(RunRequest(("true",))).assurance.level.name != "BOUNDED":
        yield None, []
        return
    fds: list[int] = []
    with contextlib.ExitStack() as stack:

        def is_lent() -> bool:
            connection = stack.enter_context(client.connected())
            connection.send(asking.ROOM + room.encode())
            words, found, _, _ = socket.recv_fds(connection, 1 << 16, 64)
            if words.startswith(asking.LENT):
                Board(found[1]).end()
            for fd in found:
                os.close(fd)
            if not words.startswith(asking.LENT):
                connection.close()
                return False
            connection.send(asking.NEXT + room.encode())
            words = asking.LATER
            while words == asking.LATER:
                words, fds[:], _, _ = socket.recv_fds(connection, 1 << 16, 64)
            if not words.startswith(asking.AHEAD):  # it gave up before the next one stood: another server is asked
                connection.close()
                return False
            connections.append(connection)
            return True

        connections: list[socket.socket] = []
        assert until(is_lent)
        try:
            yield connections[0], fds
        finally:
            for fd in fds:
                os.close(fd)


@pytest.mark.parametrize("words", [b"", b"\xff" * 7, b"\xff" * 8, bytes(8)], ids=repr)
def test_terms_that_are_none_are_refused(words: bytes) -> None:
    with pytest.raises(ValueError, match="terms"):
        Terms.of(words, [])


def test_a_watch_hears_of_each_folder_on_the_way_of_a_link(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "way").mkdir()
    (tmp_path / "goal").write_text("")
    (tmp_path / "way" / "link").symlink_to("../goal")

    def watch_own(notices: int, path: str) -> bool:
        """Other tests make and remove names in the folders above."""
        return not path.startswith(str(tmp_path)) or watch_folder(notices, path)

    for name, value in {"SYSTEM": (), "DEVICE_PATHS": (), "ETC_FROM_HOST": (str(tmp_path / "way" / "link"),)}.items():
        monkeypatch.setattr(host_watch, name, value)
    monkeypatch.setattr(host_watch, "watch_folder", watch_own)
    for change in (
        lambda: (tmp_path / "way" / "new").write_text(""),
        lambda: os.rename(tmp_path / "goal", tmp_path / "elsewhere"),
        lambda: (tmp_path / "goal").write_text(""),
        lambda: (tmp_path / "way" / "link").unlink(),
    ):
        watch = HostWatch()
        if watch.fd < 0:
            pytest.skip("the file system of the temporary folder does not tell of every change")
        assert watch.quiet
        change()
        assert not watch.quiet
        watch.close()
        assert not watch.quiet


def test_a_timer_is_heard_by_all_who_hold_it() -> None:
    timer = open_timer()
    other = os.dup(timer)
    set_timer(timer, 0.01)

    def is_over() -> bool:
        with contextlib.suppress(BlockingIOError):
            return bool(os.read(other, 8))
        return False

    try:
        assert until(is_over)
    finally:
        os.close(timer)
        os.close(other)


@pytest.mark.parametrize("seconds", [1e-12, 0.999999999999, 60.0, 1e300])
def test_a_timer_takes_any_time(seconds: float) -> None:
    timer = open_timer()
    set_timer(timer, seconds)
    os.close(timer)


def test_a_timer_that_is_none_is_refused() -> None:
    with open(os.devnull, "rb") as file, pytest.raises(KernelError, match="timerfd_settime"):
        set_timer(file.fileno(), 1.0)

"""A run like the last one is let go by its caller in a sandbox that the fork server lends: with the same outcome."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from support.callers import CASES, FORKS, at_rest, calling, kill_during_a_run, steady
from support.sandbox import Bench, Who
from support.sandbox import bench as make_bench
from support.slots import children, groups, life
from support.waiting import kill, until

from skillkeep.runner.interface import RunRequest
from skillkeep.runner.native import NativeBackend, asking, client
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.offer import Offer
from skillkeep.runner.native.plan import make_plan


@pytest.mark.parametrize("case", CASES)
def test_the_outcome_is_that_of_a_run_that_the_server_lets_go(bench: Bench, case: str) -> None:
    argv, policy = CASES[case]
    with calling(bench) as caller:
        first = caller.run(*argv, **policy)
        assert not first["lent"]
        kept = {key: value for key, value in policy.items() if key not in ("wall_seconds", "workdir")}
        if case == "no such folder" or "wall_seconds" in policy:
            assert until(lambda: at_rest(bench.server()))
            borrows = caller.borrows(**kept)
            # The room is another one until a run has asked for it.
            again = caller.run(*argv, **policy)
            assert until(lambda: at_rest(bench.server()))
            if borrows:
                assert until(lambda: at_rest(bench.server()) and caller.run(*argv, **policy)["lent"])
                assert until(lambda: at_rest(bench.server()))
        else:
            borrows = caller.borrows(**policy)
        again = caller.run(*argv, **policy)
        if again["lent"] != borrows:  # what has just ended looked like one at rest
            assert until(lambda: at_rest(bench.server()))
            again = caller.run(*argv, **policy)
    assert again["lent"] == borrows
    assert steady(again) == steady(first)


def test_what_was_used_is_measured(bench: Bench) -> None:
    code = "import time; held = bytearray(1 << 25); t = time.process_time()\nwhile time.process_time() < t + .2: pass"
    with calling(bench) as caller:
        borrows = caller.borrows()
        answer = caller.run("python3", "-c", code)
    assert answer["lent"] == borrows
    assert 0.15 < answer["user_seconds"] + answer["system_seconds"] < 30
    assert answer["wall_seconds"] > 0.15
    assert answer["peak_memory_bytes"] > 1 << 25
    assert answer["peak_processes"] >= 1


def test_runs_in_turns_under_two_policies_are_lent_as_well(bench: Bench) -> None:
    (bench.tool / "who").write_text("tool")
    shown = {"binds": [[str(bench.tool), "/tool"]]}
    with calling(bench) as caller:
        if not caller.borrows() or not caller.borrows(**shown):
            pytest.skip("no control group can be made by this user here")
        # Only a server at rest is asked: each run takes a sandbox, and whoever asks at once never sees it rest.
        for _ in range(2):
            assert until(lambda: at_rest(bench.server()) and caller.run("true")["lent"])
            assert until(lambda: at_rest(bench.server()) and caller.run("cat", "/tool/who", **shown)["lent"])
        assert caller.run("cat", "/tool/who", **shown)["stdout"] == "tool"
        assert caller.run("ls", "/tool")["exit_code"] != 0


def test_a_command_too_long_to_be_sent_is_run_or_refused_each_time_and_the_server_lives(bench: Bench) -> None:
    words = ["x" * 10_000] * 40
    with calling(bench) as caller:
        caller.borrows()
        first, second = (caller.run("echo", *words) for _ in range(2))
        assert first.get("exit_code") == second.get("exit_code") == 0
        assert caller.run("echo", "still here")["stdout"] == "still here\n"


def test_a_folder_that_was_replaced_is_shown_as_it_is_now(bench: Bench) -> None:
    now, later = bench.folder / "now", bench.folder / "later"
    for folder in (now, later):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    shown = {"binds": [[str(now), "/data"]]}
    with calling(bench) as caller:
        caller.borrows(**shown)
        assert caller.run("cat", "/data/name", **shown)["stdout"] == "now"
        assert until(lambda: at_rest(bench.server()))
        caller.run("true", **shown)
        assert until(lambda: at_rest(bench.server()))
        os.rename(now, bench.folder / "old")
        os.rename(later, now)
        assert caller.run("cat", "/data/name", **shown)["stdout"] == "later"


def test_a_folder_that_may_not_be_entered_any_more_is_not_shown(bench: Bench) -> None:
    outer = bench.folder / "outer"
    (outer / "inner").mkdir(parents=True)
    shown = {"binds": [[str(outer / "inner"), "/data"]]}
    if bench.who.uid is None and os.geteuid() == 0:
        os.chown(outer, 65534, 65534)
    with calling(bench) as caller:
        caller.borrows(**shown)
        outer.chmod(0)
        answer = caller.run("ls", "/data", **shown)
        outer.chmod(0o755)
    assert answer.get("error_code") == "sandbox_layer_failed", answer
    assert "layer bind failed" in answer["error_message"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_mount_below_a_shown_folder_is_seen_in_the_next_run() -> None:
    with make_bench(Who("root", None)) as bench:
        (bench.tool / "below").mkdir()
        other = bench.folder / "other"
        other.mkdir()
        (other / "only-this").write_text("")
        shown = {"binds": [[str(bench.tool), "/tool"]]}
        with calling(bench, "unshare", "--mount") as caller:
            assert caller.borrows(**shown)
            mount = ["mount", "--bind", str(other), str(bench.tool / "below")]
            subprocess.run(["nsenter", "-t", str(caller.process.pid), "--mount", *mount], check=True)
            assert caller.run("ls", "/tool/below", **shown)["stdout"] == "only-this\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_folder_of_the_system_that_was_replaced_is_shown_as_it_is_now() -> None:
    own = 'mount -t tmpfs own /etc/ssl && mkdir /etc/ssl/certs && echo now > /etc/ssl/certs/name && exec "$@"'
    replace = "mv /etc/ssl/certs /etc/ssl/old && mkdir /etc/ssl/certs && echo later > /etc/ssl/certs/name"
    with make_bench(Who("root", None)) as bench, calling(bench, "unshare", "--mount", "sh", "-c", own, "sh") as caller:
        borrows = caller.borrows()
        assert caller.run("cat", "/etc/ssl/certs/name")["stdout"] == "now\n"
        assert until(lambda: at_rest(bench.server()))
        assert caller.run("true")["lent"] == borrows
        assert until(lambda: at_rest(bench.server()))
        enter = ["nsenter", "-t", str(caller.process.pid), "--mount"]
        subprocess.run([*enter, "sh", "-c", replace], check=True)
        answer = caller.run("cat", "/etc/ssl/certs/name")
        assert (answer["stdout"], answer["lent"]) == ("later\n", False)


def test_a_lent_sandbox_whose_control_group_was_changed_is_not_used(bench: Bench) -> None:
    with calling(bench) as caller:
        if not caller.borrows(processes=5):
            pytest.skip("no control group can be made by this user here")
        for place in groups(life(bench.server())):
            if os.path.exists(knob := f"{place}/pids.max"):
                Path(knob).write_text("max", encoding="ascii")
        answer = caller.run("python3", "-c", FORKS, processes=5)
    assert not answer["lent"]
    assert "Resource temporarily unavailable" in answer["stderr"]


def test_sandboxes_that_were_killed_while_they_waited_do_no_harm(bench: Bench) -> None:
    with calling(bench) as caller:
        caller.borrows()
        for init in children(bench.server()):
            for payload in children(init):
                with contextlib.suppress(ProcessLookupError):
                    kill(payload)
        assert caller.run("echo", "well")["stdout"] == "well\n"


@pytest.mark.parametrize("victim", ["caller", "server", "init"])
def test_whoever_is_killed_during_a_lent_run_nothing_of_it_stays(bench: Bench, victim: str) -> None:
    with calling(bench) as caller:
        caller.borrows()
        server = bench.server()
        kill_during_a_run(caller, server, victim)
        if victim == "server":
            assert caller.answer()["error_code"] == "sandbox_died"
        if victim == "init":
            answer = caller.answer()
            assert (answer["cause"], answer["signal"]) == ("signal", signal.SIGKILL)
        if victim != "caller":
            assert caller.run("true")["exit_code"] == 0
        if victim != "server":
            assert until(lambda: at_rest(server))


def borrow(connection: socket.socket) -> tuple[bytes, list[int]]:
    """Ask for a sandbox furnished for a run of no tool."""
    room = make_plan(RunRequest(("true",)), DEFAULT_ID_BASE).room
    connection.send(asking.ROOM + room.encode())
    data, fds, _, _ = socket.recv_fds(connection, 1 << 16, 32)
    return data, fds


def lends(own: Bench) -> bool:
    """Whether the server lends here, once it has something to lend."""
    if NativeBackend()._run(RunRequest(("true",))).assurance.level.name != "BOUNDED":
        return False

    def lent() -> bool:
        assert until(lambda: at_rest(own.server()))
        with client.connected() as connection:
            data, fds = borrow(connection)
            for fd in fds:
                os.close(fd)
        return data.startswith(asking.LENT)

    assert until(lent)
    assert until(lambda: at_rest(own.server()))
    return True


@pytest.mark.parametrize("words", [b"room ", b"room \xff", b"room " + b"0" * 64, b"tell ", b"tell x", b"lent {}"])
def test_nonsense_about_rooms_is_refused_and_the_server_goes_on(own: Bench, words: bytes) -> None:
    NativeBackend()._run(RunRequest(("true",)))
    pid = own.server()
    with client.connected() as connection:
        connection.send(words)
        assert not connection.recv(4096).startswith(asking.LENT)
    assert NativeBackend()._run(RunRequest(("true",))).exit_code == 0
    assert own.server() == pid


@pytest.mark.parametrize("words", [b"", b"x", b"\x04" + bytes(7), bytes(8), b"\xff" * 312], ids=repr)
def test_a_lent_sandbox_that_is_handed_back_with_nonsense_is_ended(own: Bench, words: bytes) -> None:
    if not lends(own):
        pytest.skip("no control group can be made by this user here")
    pid = own.server()
    with client.connected() as connection:
        data, fds = borrow(connection)
        for fd in fds:
            os.close(fd)
        assert data.startswith(asking.LENT)
        init = Offer.of(data[len(asking.LENT) :]).init
        if words:
            connection.send(asking.TELL + words)
            assert asking.receive(connection, [])["kind"] == "layer"
    assert until(lambda: init not in children(pid))
    assert until(lambda: at_rest(pid))


def test_a_lent_sandbox_that_is_never_used_ends_at_its_time_limit(own: Bench) -> None:
    if not lends(own):
        pytest.skip("no control group can be made by this user here")
    with client.connected() as connection:
        data, fds = borrow(connection)
        assert data.startswith(asking.LENT)
        inside, *others = fds
        for fd in others:
            os.close(fd)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=inside) as talk:
            connection.send(b"output_cap")  # any reason to stop it
            talk.settimeout(20)
            assert talk.recv(64) == b""
        connection.send(asking.TELL)
        assert asking.receive(connection, [])["stopped_for"] == "output_cap"


def test_a_word_about_the_run_before_does_not_end_the_one_under_way(own: Bench) -> None:
    if not lends(own):
        pytest.skip("no control group can be made by this user here")
    with client.connected() as connection:
        data, (inside, board, *others) = borrow(connection)
        assert data.startswith(asking.LENT)
        for fd in others:
            os.close(fd)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=inside) as talk:
            connection.send(asking.NEXT + b"0" * 64)
            connection.send(asking.NEXT + b"0" * 64)
            assert not select.select([talk, connection], [], [], 0.3)[0], "it is ended only when its caller says so"
            os.pwrite(board, b"\1", 16)
            connection.send(asking.NEXT + b"0" * 64)
            talk.settimeout(20)
            assert talk.recv(64) == b""
            assert connection.recv(64) in (asking.LATER, b"")
        os.close(board)


def test_threads_of_one_caller_each_get_a_sandbox_of_their_own(own: Bench) -> None:
    lends(own)
    outputs: dict[int, bytes] = {}

    def one(number: int) -> None:
        outputs[number] = NativeBackend()._run(RunRequest(("echo", str(number)))).stdout

    for _ in range(3):
        threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outputs == {number: f"{number}\n".encode() for number in range(6)}

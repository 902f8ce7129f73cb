"""Whoever is killed on the way, nothing of a run stays: no process, and no control group after the next start."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator

import pytest
from support.sandbox import Bench, marked_processes
from support.slots import at_rest, groups, life
from support.waiting import kill, later, until

from skillkeep.kernel.syscalls import number


@pytest.fixture(autouse=True)
def _own_server(bench: Bench) -> None:
    bench.own_server()


@contextlib.contextmanager
def _calling(bench: Bench, *argv: str, **policy: float) -> Iterator[subprocess.Popen[bytes]]:
    """A caller that has been told what to run."""
    with subprocess.Popen(bench.driver(), stdin=-1, stdout=-1, stderr=-1, **bench.identity()) as caller:
        assert caller.stdin
        caller.stdin.write(bench.request(argv, None, 2, policy))
        caller.stdin.close()
        caller.stdin = None
        try:
            yield caller
        finally:
            caller.kill()


@contextlib.contextmanager
def _running(bench: Bench, mark: str, **policy: float) -> Iterator[subprocess.Popen[bytes]]:
    """A caller whose payload, with a daemon, is running for sure."""
    code = f"import os, time\nif os.fork() == 0:\n  os.setsid()\ntime.sleep(60)  # {mark}"
    with _calling(bench, "python3", "-c", code, **policy) as caller:
        assert until(lambda: len(marked_processes(mark)) == 2)
        yield caller


def _works(bench: Bench) -> bool:
    """Whether the next run does. Not `bench.run`: where that stays in this process, it has another server."""
    with _calling(bench, "true") as caller:
        return bool(json.loads(caller.communicate()[0])["exit_code"] == 0)


def _server(bench: Bench) -> int:
    return bench.server()


def _parent(pid: int) -> int:
    """Its parent's pid; 0 when it is gone, as processes of other tests may be."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def test_killing_the_caller_ends_the_payload_and_leaves_the_server_ready(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark) as caller:
        server = _server(bench)
        caller.send_signal(signal.SIGKILL)
        assert until(lambda: marked_processes(mark) == [])
        assert until(lambda: at_rest(server))
    assert _works(bench)
    assert _server(bench) == server


def test_killing_the_server_ends_the_payload_and_is_told(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark) as caller:
        server = _server(bench)
        maker = life(server)
        kill(server)
        assert until(lambda: marked_processes(mark) == [])
        answer = json.loads(caller.communicate()[0])
    assert answer["error_code"] == "sandbox_died"
    assert _works(bench)
    assert until(lambda: groups(maker) == [])


def test_a_server_that_is_stopped_ends_with_what_it_does_not_bound_any_more(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark, wall_seconds=6.0) as caller:
        server = _server(bench)
        os.kill(server, signal.SIGSTOP)
        answer = json.loads(caller.communicate(timeout=40)[0])
        assert until(lambda: marked_processes(mark) == [])
    assert (answer["error_code"], "in time" in answer["error_message"]) == ("sandbox_died", True)
    assert _works(bench)
    assert _server(bench) != server


def test_the_end_of_the_server_by_request_ends_the_payload(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark):
        os.kill(_server(bench), signal.SIGTERM)
        assert until(lambda: marked_processes(mark) == [])
    assert _works(bench)


@pytest.mark.parametrize("victim", ["caller", "server"])
def test_killed_at_any_moment_nothing_stays(bench: Bench, victim: str) -> None:
    """Moments from the start of the server, or of the caller, to the running payload."""
    servers = set()
    for moment in range(10):
        mark = secrets.token_hex(8)
        with _calling(bench, "python3", "-c", f"import time; time.sleep(60)  # {mark}") as caller:
            if victim == "server":
                assert until(lambda: bench.servers() != [])
            later(moment * 0.03)
            servers.update(map(life, bench.servers()))
            for pid in [caller.pid] if victim == "caller" else bench.servers():
                with contextlib.suppress(ProcessLookupError):
                    kill(pid)
            caller.kill()
            caller.wait()
            assert until(lambda mark=mark: marked_processes(mark) == []), f"moment {moment}"
    assert _works(bench)
    alive = _server(bench)
    assert until(lambda: not any(map(groups, servers - {life(alive)})))
    assert until(lambda: at_rest(alive))


LEAVERS = {
    "fork": "os.fork()",
    "clone without a signal": f"ctypes.CDLL(None).syscall({number('clone')}, 0, 0, 0, 0, 0)",
}


@pytest.mark.parametrize("how", LEAVERS)
def test_nothing_of_a_run_is_left_when_its_answer_is_there(bench: Bench, how: str) -> None:
    mark = secrets.token_hex(8)
    code = f"import ctypes, os, time\nif {LEAVERS[how]} == 0:\n  os.setsid()\n  time.sleep(60)  # {mark}"
    for left in (code, f"pass  # {mark}"):
        with subprocess.Popen(bench.driver(), stdin=-1, stdout=-1, stderr=-1, **bench.identity()) as caller:
            answer = json.loads(caller.communicate(bench.request(["python3", "-c", left], None, 2, {}))[0])
            assert marked_processes(mark) == []
        assert answer["cause"] == "exit", answer


def test_killing_init_ends_the_run_as_a_signal(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark) as caller:
        payload = next(pid for pid in marked_processes(mark) if _parent(_parent(pid)) == _server(bench))
        os.kill(_parent(payload), signal.SIGKILL)
        answer = json.loads(caller.communicate()[0])
    assert (answer["cause"], answer["signal"]) == ("signal", signal.SIGKILL)
    assert until(lambda: marked_processes(mark) == [])


def test_the_payload_has_no_right_of_root_as_the_host_sees_it(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark):
        for pid in marked_processes(mark):
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
            assert "0" not in status["Uid"].split()
            assert "0" not in status["Gid"].split()
            assert int(status["CapEff"], 16) == 0

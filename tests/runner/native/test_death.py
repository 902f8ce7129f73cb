"""Whoever is killed on the way, nothing of a run stays: no process, and no control group after the next run."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator

import pytest
from support.sandbox import Bench, marked_processes
from support.waiting import later, until


@contextlib.contextmanager
def _running(bench: Bench, mark: str) -> Iterator[subprocess.Popen[bytes]]:
    """A caller whose payload, with a daemon, is running for sure."""
    code = f"import os, time\nif os.fork() == 0:\n  os.setsid()\ntime.sleep(60)  # {mark}"
    request = bench.request(["python3", "-c", code], None, 2, {})
    with subprocess.Popen(bench.driver(), stdin=-1, stdout=-1, stderr=-1, **bench.identity()) as caller:
        assert caller.stdin
        caller.stdin.write(request)
        caller.stdin.close()
        caller.stdin = None
        try:
            assert until(lambda: len(marked_processes(mark)) == 2)
            yield caller
        finally:
            caller.kill()


def _supervisor(caller: int) -> int:
    (found,) = [pid for pid in marked_processes("boot.py") if _parent(pid) == caller]
    return found


def _parent(pid: int) -> int:
    """Its parent's pid; 0 when it is gone, as processes of other tests may be."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _groups(pid: int) -> list[str]:
    return glob.glob(f"/sys/fs/cgroup/**/skillkeep-*-{pid}-*", recursive=True)


def test_killing_the_caller_ends_the_payload(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark) as caller:
        supervisor = _supervisor(caller.pid)
        caller.send_signal(signal.SIGKILL)
        assert until(lambda: marked_processes(mark) == [])
        assert until(lambda: not os.path.exists(f"/proc/{supervisor}") or _groups(supervisor) == [])
        assert until(lambda: _groups(supervisor) == [])


def test_killing_the_supervisor_ends_the_payload_and_is_told(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark) as caller:
        supervisor = _supervisor(caller.pid)
        os.kill(supervisor, signal.SIGKILL)
        assert until(lambda: marked_processes(mark) == [])
        answer = json.loads(caller.communicate()[0])
    assert answer["error_code"] == "sandbox_died"
    bench.run("true")
    assert _groups(supervisor) == []


@pytest.mark.parametrize("victim", ["caller", "supervisor"])
def test_killed_at_any_moment_nothing_stays(bench: Bench, victim: str) -> None:
    """Ten moments from the start of the supervisor to the running payload."""
    for moment in range(10):
        request = bench.request(["python3", "-c", "import time; time.sleep(60)"], None, 2, {})
        with subprocess.Popen(bench.driver(), stdin=-1, stdout=-1, stderr=-1, **bench.identity()) as caller:
            assert caller.stdin
            caller.stdin.write(request)
            caller.stdin.close()
            caller.stdin = None
            sandbox = f"boot.py\0{caller.pid}\0"
            assert until(lambda mark=sandbox: marked_processes(mark) != [])
            later(moment * 0.03)
            supervisors = [pid for pid in marked_processes(sandbox) if _parent(pid) == caller.pid]
            for pid in [caller.pid] if victim == "caller" else supervisors:
                os.kill(pid, signal.SIGKILL)
            assert until(lambda mark=sandbox: marked_processes(mark) == []), f"moment {moment}"
            caller.communicate()
    bench.run("true")
    assert until(lambda: not any(_groups(pid) for pid in supervisors))


def test_killing_init_ends_the_run_as_a_signal(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark) as caller:
        payload = next(pid for pid in marked_processes(mark) if _parent(_parent(pid)) == _supervisor(caller.pid))
        os.kill(_parent(payload), signal.SIGKILL)
        answer = json.loads(caller.communicate()[0])
    assert (answer["cause"], answer["signal"]) == ("signal", signal.SIGKILL)
    assert marked_processes(mark) == []


def test_a_signal_to_init_is_forwarded_to_the_payload(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark) as caller:
        payload = next(pid for pid in marked_processes(mark) if _parent(_parent(pid)) == _supervisor(caller.pid))
        os.kill(_parent(payload), signal.SIGTERM)
        answer = json.loads(caller.communicate()[0])
    assert (answer["cause"], answer["signal"]) == ("signal", signal.SIGTERM)


def test_the_payload_has_no_right_of_root_as_the_host_sees_it(bench: Bench) -> None:
    mark = secrets.token_hex(8)
    with _running(bench, mark):
        for pid in marked_processes(mark):
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
            assert "0" not in status["Uid"].split()
            assert "0" not in status["Gid"].split()
            assert int(status["CapEff"], 16) == 0

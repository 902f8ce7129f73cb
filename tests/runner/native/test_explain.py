"""A run that is explained says which files it was refused, by which layer, and which grant would show them."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import Bench, Who, refusing
from support.sandbox import bench as make_bench
from support.waiting import until

from skillkeep.kernel import landlock
from skillkeep.runner.native.denials import denials_of
from skillkeep.runner.native.path_calls import CALLS, Want, wanted
from skillkeep.runner.native.refusals import may_be_looked_at

TRY = """
import os, socket, sys
def attempt(what, *words):
    try: what(*words)
    except OSError as error: print(error.errno)
    else: print("done")
"""


@pytest.fixture
def project(bench: Bench) -> Iterator[Path]:
    """A folder of the attacker's that no run is shown, with a file in it."""
    with tempfile.TemporaryDirectory(prefix="skillkeep-explained-") as name:
        folder = Path(name).resolve()
        (folder / "notes.txt").write_text("not shown")
        for path in (folder, folder / "notes.txt"):
            os.chmod(path, 0o755)
            if bench.who.uid is not None:
                os.chown(path, bench.who.uid, bench.who.uid)
        yield folder


def _files(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What each denial of a file begins with, its layer, its hint; without what every interpreter looks for."""
    found = [each for each in result["denials"] if each["what"] == "file" and "/usr/" not in each["detail"]]
    return [(each["detail"].partition(" (")[0], each["layer"], each["hint"]) for each in found]


def test_a_file_that_is_not_shown_is_named_with_the_grant_that_would_show_it(bench: Bench, project: Path) -> None:
    code = TRY + "attempt(open, sys.argv[1]); attempt(open, sys.argv[2], 'w'); attempt(open, '/nowhere/at/all')"
    result = bench.inside(code, project / "notes.txt", project / "new.txt", explain=True)
    assert result["stdout"].split() == [str(errno.ENOENT)] * 3
    assert result["explained"]
    assert _files(result) == [
        (f"read {project}/notes.txt: ENOENT", "root", f"write:{project}/notes.txt"),
        (f"write {project}/new.txt: ENOENT", "root", f"write:{project}"),
    ]


def test_what_is_shown_for_reading_alone_is_named_and_no_grant_is_made_up_for_it(bench: Bench) -> None:
    code = TRY + "attempt(open, '/tool/x', 'w'); attempt(os.mkdir, '/etc/x'); attempt(os.unlink, '/etc/passwd')"
    result = bench.inside(code, explain=True)
    assert result["stdout"].split() == [str(errno.EROFS)] * 3
    assert _files(result) == [
        ("write /tool/x: EROFS", "root", ""),
        ("make /etc/x: EROFS", "root", ""),
        ("remove /etc/passwd: EROFS", "root", ""),
    ]


def test_owner_mode_noexec_and_limits_are_told_apart(bench: Bench) -> None:
    code = (
        TRY
        + """
open("/tmp/plain", "w").close()
open("/dev/shm/program", "w").close(); os.chmod("/dev/shm/program", 0o755)
attempt(os.execv, "/tmp/plain", ["x"])
attempt(os.execv, "/dev/shm/program", ["x"])
attempt(os.setxattr, "/tmp/plain", "trusted.x", b"")
try:
    with open("/tmp/large", "wb", buffering=0) as file:
        while True: file.write(bytes(1 << 20))
except OSError as error: print(error.errno)
"""
    )
    result = bench.inside(code, explain=True, tmp_bytes=4 << 20)
    assert result["stdout"].split() == [str(n) for n in (errno.EACCES, errno.EACCES, errno.EPERM, errno.ENOSPC)]
    assert [(text.partition(" /")[2], *rest) for text, *rest in _files(result)] == [
        ("tmp/plain: EACCES", "rights", ""),
        ("dev/shm/program: EACCES", "root", ""),
        ("tmp/plain: EPERM", "rights", ""),
        ("tmp/large: ENOSPC", "tmp", "tmp_bytes"),
    ]


@pytest.mark.skipif(not landlock.abi_or_none(), reason="this kernel has no Landlock")
def test_what_only_landlock_refuses_is_put_down_to_it(bench: Bench, project: Path) -> None:
    if bench.who.uid is None and os.geteuid() == 0:
        os.chmod(project, 0o777)  # root's run is an unprivileged user
    code = TRY + "attempt(open, '/project/new', 'w'); attempt(os.mkfifo, '/project/pipe')"
    bind = {"source": str(project), "target": "/project", "writable": True}
    result = bench.inside(code, explain=True, binds=[bind])
    assert result["stdout"].split() == ["done", str(errno.EACCES)]
    assert _files(result) == [("make /project/pipe: EACCES", "landlock", "")]


def test_threads_and_children_are_seen_relative_paths_understood_and_each_thing_told_once(
    bench: Bench, project: Path
) -> None:
    code = (
        TRY
        + """
import threading, subprocess
os.chdir("/usr")
def look(): attempt(open, ".." + sys.argv[1])
for _ in range(3):
    thread = threading.Thread(target=look); thread.start(); thread.join()
subprocess.run(["cat", sys.argv[1]], stderr=-3)
subprocess.run(["sh", "-c", 'sleep 0 & wait; cat < "$0"', sys.argv[1]], stderr=-3)
"""
    )
    result = bench.inside(code, project / "notes.txt", explain=True)
    assert _files(result) == [(f"read {project}/notes.txt: ENOENT", "root", f"write:{project}/notes.txt")]


def test_a_place_in_a_network_that_is_reached_past_the_proxy_is_named(bench: Bench) -> None:
    code = TRY + "attempt(socket.create_connection, ('192.0.2.7', 443)); attempt(socket.create_connection, ('::1', 9))"
    result = bench.inside(code, explain=True, egress=["localhost:9"])
    seen = {
        (each["detail"].partition(": ")[0], each["hint"]) for each in result["denials"] if each["what"] == "network"
    }
    assert ("connect to 192.0.2.7:443", "net:192.0.2.7:443") in seen


def test_signals_stops_exits_and_the_output_are_those_of_an_ordinary_run(bench: Bench) -> None:
    code = """
import os, signal, subprocess, sys
child = subprocess.Popen(["sh", "-c", "kill -STOP $$; exit 7"])
os.waitid(os.P_PID, child.pid, os.WSTOPPED)
os.kill(child.pid, signal.SIGCONT)
print(child.wait(), open("/proc/self/status").read().count("TracerPid"))
signal.signal(signal.SIGUSR1, lambda *_: print("heard"))
os.kill(os.getpid(), signal.SIGUSR1)
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGTERM)
"""
    result = bench.inside(code, explain=True)
    assert (result["stdout"], result["signal"], result["cause"]) == ("7 1\nheard\n", 15, "signal")


def test_the_time_limit_and_what_is_left_behind_end_as_ever(bench: Bench) -> None:
    left = bench.inside("import subprocess; subprocess.Popen(['sleep', '1000'])", explain=True)
    assert (left["cause"], left["exit_code"]) == ("exit", 0)
    late = bench.inside("import os\nos.fork()\nwhile True: os.getppid()", explain=True, wall_seconds=2.0)
    assert late["cause"] == "timeout"
    assert late["wall_seconds"] < 20


def test_a_flood_of_refusals_and_wild_pointers_harm_neither_the_run_nor_the_answer(bench: Bench) -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None)
for address in (0, 1, 2**47 - 1, 2**63, 2**64 - 1):
    libc.syscall(ctypes.c_long(257), ctypes.c_long(-100), ctypes.c_ulong(address), 0, 0)
for number in range(300):
    try: os.mkdir("/" + "\\u2028x" * 60 + str(number))
    except OSError: pass
    try: os.mkdir(b"/etc/\\xff" + str(number).encode())
    except OSError: pass
print("done")
"""
    result = bench.inside(code, explain=True)
    assert result["stdout"] == "done\n"
    assert 10 < len(_files(result)) <= 64


def test_an_ordinary_run_is_not_traced_and_says_so(bench: Bench, project: Path) -> None:
    code = "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('TracerPid')])\nopen('/etc/shadow')"
    result = bench.inside(code)
    assert (result["stdout"], result["denials"], result["explained"]) == ("['0']\n", [], False)


def test_where_nobody_may_trace_the_run_is_refused_and_the_layer_named() -> None:
    with make_bench(Who("current", None)) as made:
        request = made.request(["true"], None, 2, {"explain": True})
        done = refusing({"ptrace": errno.EPERM}, made.driver(), input=request, capture_output=True)
        answer = json.loads(done.stdout)
        assert answer["error_code"] == "sandbox_layer_failed"
        assert "layer trace failed" in answer["error_message"]


def test_no_tracer_is_left_behind(bench: Bench) -> None:
    bench.own_server()
    assert bench.run("true", explain=True)["exit_code"] == 0
    server = bench.server()

    def children() -> list[str]:
        return Path(f"/proc/{server}/task/{server}/children").read_text().split()

    def tracers() -> list[str]:
        return [pid for pid in children() if b"\0tracer\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    assert until(lambda: not tracers())


def test_what_a_call_wants_is_read_from_its_flags() -> None:
    assert wanted(CALLS["openat"], os.O_RDONLY) is Want.READ
    assert wanted(CALLS["openat"], os.O_RDWR) is Want.WRITE
    assert wanted(CALLS["open"], os.O_WRONLY | os.O_CREAT) is Want.MAKE
    assert wanted(CALLS["access"], os.W_OK) is Want.WRITE
    assert wanted(CALLS["access"], os.X_OK) is Want.RUN
    assert wanted(CALLS["execve"], 0) is Want.RUN


def test_nothing_is_looked_up_below_an_automounter_or_a_fuse_mount(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 0:20 / / rw,relatime - ext4 /dev/vda rw\n"
        "40 22 0:50 / /net rw,relatime shared:1 - autofs /etc/auto.net rw,fd=7\n"
        "41 22 0:51 / /home/a/re\\040mote rw - fuse.sshfs host: rw\n"
    )
    real = open
    monkeypatch.setattr(
        "builtins.open", lambda path, *a, **k: real(mounts if "mountinfo" in str(path) else path, *a, **k)
    )
    told = {
        path: may_be_looked_at(path) for path in ("/net", "/net/secret.example/x", "/network", "/home/a/re mote/x", "/")
    }
    assert list(told.values()) == [False, False, True, False, True]


def test_no_denials_of_files_are_read_from_an_answer_without_any() -> None:
    from skillkeep.runner.interface import Assurance, AssuranceLevel, SandboxPolicy

    answer: dict[str, Any] = {"stopped_for": "", "oom_kills": 0, "refused_forks": 0, "egress": []}
    answer |= {"refused_calls": [], "refused_files": []}
    assert denials_of(answer, SandboxPolicy(), Assurance(AssuranceLevel.BOUNDED, ())) == ()

"""The fork server: serves many at once, survives what callers send, shares nothing, ends when nobody needs it."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import secrets
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.sandbox import Bench, marked_processes, staged_packages
from support.slots import at_rest, children, mounts_change
from support.waiting import kill, later, until

from skillkeep.grants import holds_server
from skillkeep.kernel.errors import KernelError
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Availability, Bind, Cause, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.native import NativeBackend, asking, backend, client, place
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.plan import make_plan
from skillkeep.runner.native.server import _LATELY_SECONDS as LATELY_SECONDS
from skillkeep.runner.native.server import Server, listen_at


def run(*argv: str, **policy: object) -> RunResult:
    return NativeBackend()._run(RunRequest(argv, SandboxPolicy(**policy)))  # type: ignore[arg-type]


def server(own: Bench) -> int:
    return own.server()


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_one_server_serves_all_of_a_users_runs(own: Bench) -> None:
    assert run("true").exit_code == 0
    first = server(own)
    assert run("true").exit_code == 0
    assert server(own) == first
    assert Path(f"/proc/{first}/cwd").readlink() == Path("/")


def test_runs_at_the_same_time_each_get_their_own_answer(own: Bench) -> None:
    results: dict[int, RunResult] = {}

    def one(number: int) -> None:
        results[number] = run("sh", "-c", f"cat; echo {number}; exit {number}", wall_seconds=120.0)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: (result.exit_code, result.stdout) for number, result in results.items()} == {
        number: (number, f"{number}\n".encode()) for number in range(12)
    }
    assert len({result.assurance.layer("namespaces") and result.run_id for result in results.values()}) == 12


def test_many_runs_leave_no_descriptor_and_no_child(own: Bench) -> None:
    run("true")
    pid = server(own)
    for _ in range(5):  # until what this process keeps from one run to the next is there
        assert until(lambda: at_rest(pid))
        run("true")
    run("sleep", "9", wall_seconds=0.01)  # and what is held of it is not
    assert until(lambda: at_rest(pid))
    gc.collect()  # what other tests left is closed sooner or later
    before, here = descriptors(pid), descriptors(os.getpid())
    for _ in range(25):
        run("true")
        with contextlib.suppress(RunnerError):
            run("no-such-program")
        run("sleep", "9", wall_seconds=0.01)
        run("yes", output_bytes=10)
    assert descriptors(os.getpid()) == here
    assert until(lambda: descriptors(pid) <= before)
    assert until(lambda: at_rest(pid))


def test_whoever_asks_after_a_run_whether_a_sandbox_works_is_told_without_another_one(own: Bench) -> None:
    assert client.held_lately(DEFAULT_ID_BASE) is None

    def in_time(changed: Callable[[], bool]) -> bool:
        """Whether it was asked while the server remembered: for seconds, and a machine may stop for as long."""
        changed()
        began = time.monotonic()
        result = run("true")
        pid = server(own)
        assert until(lambda: at_rest(pid))
        ready = children(pid)
        said, left = NativeBackend()._try(), children(pid)
        if changed() or time.monotonic() - began > LATELY_SECONDS:
            return False
        assert said == Availability("native", True, level=result.assurance.level, losses=result.assurance.losses)
        assert left == ready
        return True

    with mounts_change() as changed:
        assert until(lambda: in_time(changed))
    assert client.held_lately(DEFAULT_ID_BASE + 2) is None


@pytest.mark.parametrize(
    "words",
    [b"", b"x", b"run", b"prepare", b"go", b"held x", b"output_cap", b"\0" * 60_000, b'{"op": "run"}'],
    ids=lambda words: repr(words[:12]),
)
def test_nonsense_is_refused_and_the_server_goes_on(own: Bench, words: bytes) -> None:
    run("true")
    pid = server(own)
    with client.connected() as connection:
        if words:
            connection.send(words)
            assert json.loads(connection.recv(4096))["kind"] == "nonsense"
    assert run("true").exit_code == 0
    assert server(own) == pid


def test_a_request_with_too_many_or_too_few_descriptors_is_refused_and_none_stays(own: Bench) -> None:
    run("true")
    pid, null = server(own), os.open("/dev/null", os.O_RDWR)
    assert until(lambda: at_rest(pid))
    before = descriptors(pid)
    for count in (1, 3, 5, 200):
        with client.connected() as connection:
            socket.send_fds(connection, [b"run"], [null] * count)
            assert json.loads(connection.recv(4096))["kind"] == "nonsense"
    os.close(null)
    assert until(lambda: descriptors(pid) <= before)


@pytest.mark.parametrize(
    "change",
    [
        {"argv": []}, {"argv": [1]}, {"argv": ["a\0b"]}, {"env": [["A", "1"]]}, {"binds": [{"source": "x"}]},
        {"memory_bytes": "1"}, {"memory_bytes": -1}, {"cpus": True}, {"wall_seconds": "9"}, {"run_id": "../../x"},
        {"id_base": -5}, {"workdir": None}, {"extra": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_plan_of_the_wrong_shape_is_refused_by_the_server(own: Bench, change: dict[str, object]) -> None:
    plan = {**json.loads(make_plan(RunRequest(("true",)), 0x7000_0000).to_text()), **change}
    if change == {"cpus": True}:  # a number to Python
        plan["cpus"] = None
    null = os.open("/dev/null", os.O_RDWR)
    with client.connected() as connection:
        asking.ask(connection, json.dumps(plan), (null, null, null))
        assert json.loads(connection.recv(4096))["kind"] == "nonsense"
    os.close(null)
    assert run("true").exit_code == 0


def test_a_descriptor_that_was_closed_is_not_taken_for_the_next_one_of_its_number() -> None:
    """Its init would be waited for, which waits for the server."""
    with socket.socket() as listener:
        serving = Server(listener)
        (first, into), (second, also), (silent, unused) = (os.pipe() for _ in range(3))
        called: list[str] = []

        def replace() -> None:
            serving.unwatch(second)
            os.dup2(silent, second)
            serving.watch(second, lambda: called.append("the next one"))
            called.append("the first one")

        serving.watch(first, replace)
        serving.watch(second, lambda: called.append("the closed one"))
        for end in (into, also):
            os.write(end, b"x")
        serving._dispatch([first, second])
        assert called == ["the first one"]
        for fd in (first, into, second, also, silent, unused):
            os.close(fd)


@pytest.fixture(name="marker")
def _marker(tmp_path: Path) -> Path:
    """A folder that a payload may write in."""
    folder = tmp_path / "marker"
    folder.mkdir()
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o777)
    return folder


@pytest.mark.parametrize("ahead", [True, False], ids=["ahead", "built"])
def test_a_run_that_was_only_prepared_is_not_let_go_before_the_word(own: Bench, marker: Path, ahead: bool) -> None:
    run("true")
    pid = server(own)
    assert until(lambda: at_rest(pid))
    policy = SandboxPolicy(binds=() if ahead else (Bind(str(marker), "/data", writable=True),))
    plan = make_plan(RunRequest(("sh", "-c", "echo went; touch /data/went"), policy), DEFAULT_ID_BASE)
    out, into = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    for word in (b"", asking.GO):
        with client.connected() as connection:
            asking.ask(connection, plan.to_text(), (null, into, null), asking.PREPARE)
            connection.settimeout(0.3)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            assert (select.select([out], [], [], 0)[0], os.listdir(marker)) == ([], [])
            if word:
                connection.send(word)
                connection.settimeout(20.0)
                assert asking.receive(connection, [])["kind"] == "outcome"
        assert until(lambda: at_rest(pid, writes=not ahead))
    assert (os.read(out, 9), os.listdir(marker)) == (b"went\n", [] if ahead else ["went"])
    for fd in (out, into, null):
        os.close(fd)


def test_a_caller_that_has_changed_since_its_last_run_is_served_by_another_server_alone(
    own: Bench, marker: Path
) -> None:
    binds = (Bind(str(marker), "/data", writable=True),)
    words = ("sh", "-c", "mktemp -p /data; ulimit -n")
    first = run(*words, binds=binds)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    try:
        for _ in range(2):
            assert run(*words, binds=binds).exit_code == first.exit_code == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert until(lambda: len(own.servers()) == 2)  # a third may show: a child that is not its own program yet
    assert len(os.listdir(marker)) == 3


def test_a_server_that_ended_while_it_prepared_a_run_is_replaced(
    own: Bench, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("true").exit_code == 0
    first, find = server(own), client._right_now
    alive = [first]

    def killed() -> client._Server:
        while alive:
            kill(alive.pop())
        return find()

    monkeypatch.setattr(client, "_right_now", killed)
    binds = (Bind(str(marker), "/data", writable=True),)
    assert run("mktemp", "-p", "/data", binds=binds).exit_code == 0
    assert len(os.listdir(marker)) == 1
    assert server(own) != first


_LEFT_LISTENING = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
listener.listen(9)
if not os.fork():
    os.close(1)
    sys.stdin.read()
"""


def test_a_socket_that_only_the_last_children_of_a_server_hold_is_nobodys(own: Bench) -> None:
    assert run("true").exit_code == 0
    right = client._right_server()
    kill(server(own))
    path = f"{right.folder}/{right.name}"
    assert until(lambda: client._connect(right.folder, right.name) is None)
    os.unlink(path)
    ends, kept = os.pipe()
    try:
        subprocess.run([sys.executable, "-c", _LEFT_LISTENING, path], stdin=ends, check=True, timeout=60)
        assert run("echo", "served").stdout == b"served\n"
    finally:
        os.close(kept)
        os.close(ends)


def test_what_a_server_said_before_it_was_told_to_go_on_is_heard(own: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("true").exit_code == 0
    find = client._right_now
    for pause in (0.0, 0.3):
        monkeypatch.setattr(client, "_right_now", lambda pause=pause: (later(pause), find())[1])
        with pytest.raises(RunnerError) as caught:
            run("true", binds=(Bind("/no/such/place", "/data"),))
        assert (caught.value.code, caught.value.context["layer"]) == ("sandbox_layer_failed", "bind")


def test_output_above_the_cap_is_the_cause_even_of_a_run_that_ended_before_it_was_killed(
    own: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_tell", lambda *_: None)  # as when the server hears the word too late
    result = run("echo", "x" * 20, output_bytes=10)
    assert (result.cause, result.stdout, result.ok) == (Cause.OUTPUT_CAP, b"x" * 10, False)
    assert run("echo", "x" * 9, output_bytes=10).ok


def test_a_server_ends_by_itself_and_leaves_no_file(own: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(client, "_ALONE_SECONDS", 0.2)
    assert run("true").exit_code == 0
    assert until(lambda: own.servers() == [])
    assert until(lambda: os.listdir(own.runtime / "skillkeep") == [])
    assert run("true").exit_code == 0


@contextlib.contextmanager
def dying(reads: int, waits: bool) -> Iterator[None]:
    """Takes the place of this process's server, which was killed, and ends when it has read `reads` of the words of its
    next caller; with `waits`, when there is one more.
    """
    found = client._right_server()
    listener = listen_at(f"{found.folder}/{found.name}")

    def end() -> None:
        with contextlib.ExitStack() as held:
            held.enter_context(listener)
            select.select([listener], [], [], 60)
            if reads:
                connection = held.enter_context(listener.accept()[0])
                for _ in range(reads):
                    connection.recv(4096)
                if waits:
                    select.select([connection], [], [], 60)
            listener.close()  # first, as in a process that ends: whoever asks again finds no server

    thread = threading.Thread(target=end)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize(("known", "reads"), [(True, 0), (True, 1), (False, 0)])
def test_a_run_asked_of_a_server_in_the_instant_of_its_end_is_asked_of_the_next_one(
    own: Bench, marker: Path, monkeypatch: pytest.MonkeyPatch, known: bool, reads: int
) -> None:
    assert run("true").exit_code == 0
    kill(server(own))
    if not known:
        monkeypatch.setattr(client.Line, "_last", None)
    binds = (Bind(str(marker), "/data", writable=True),)
    with dying(reads, waits=True):
        assert run("mktemp", "-p", "/data", binds=binds).exit_code == 0
    assert len(os.listdir(marker)) == 1


def test_a_run_that_may_have_begun_is_not_asked_for_again(own: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("true").exit_code == 0
    kill(server(own))
    monkeypatch.setattr(client.Line, "_last", None)
    with dying(1, waits=False), pytest.raises(RunnerError) as caught:
        run("true")
    assert caught.value.code == "sandbox_died"


IDLE = """
import socket, sys, threading, time
sys.path.insert(0, sys.argv[1])
from skillkeep.runner.native import server

def caller():
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(sys.argv[2])
    except OSError as error:
        return type(error).__name__
    return connection

def come_again(early):
    while isinstance(found := caller(), str):
        time.sleep(0.01)
    print("served again", flush=True)
    early.close()
    found.close()

class Late(server.Server):
    ending, ends = False, 0

    def _stop_listening(self):
        self.ends += 1
        self.ending = self.ends == 1
        early = caller() if self.ending else None
        super()._stop_listening()
        self.ending = False
        print("came:", len(self._sessions), flush=True)
        if early is not None:
            threading.Thread(target=come_again, args=(early,)).start()

    def _accept(self):
        super()._accept()
        if self.ending:
            print("too late:", caller(), flush=True)

Late(server.listen_at(sys.argv[2])).serve(sys.argv[2], 0.05)
"""


def test_whoever_comes_in_the_last_instant_is_served_or_refused_and_never_left_waiting(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-c", IDLE, str(staged_packages()), str(tmp_path / "server")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    told = ["too late: ConnectionRefusedError", "came: 1", "served again", "came: 0"]
    assert (done.returncode, done.stdout.splitlines()) == (0, told), done.stderr


def test_a_folder_that_others_could_enter_is_not_used(own: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = own.runtime / "skillkeep"
    folder.mkdir(mode=0o700)
    os.chmod(folder, 0o755)
    with pytest.raises(KernelError, match="not a folder of this user alone"):
        place.server_folder()
    with pytest.raises(RunnerError) as caught:
        run("true")
    assert (caught.value.code, caught.value.context["layer"]) == ("sandbox_layer_failed", "fork_server")


@pytest.mark.parametrize("over", [0, 1])
def test_a_folder_whose_name_leaves_no_room_for_a_socket_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: int
) -> None:
    monkeypatch.setattr(place, "_is_private", lambda path: path == base)
    monkeypatch.setattr(place, "_made", lambda path: path)
    name = place.server_name((), private=False)
    room = 107 - len(f"/skillkeep/{name}")
    base = "/" + "x" * (room - 1 + over)
    monkeypatch.setenv("XDG_RUNTIME_DIR", base)
    assert place.server_folder().startswith("/tmp/" if over else base)
    with socket.socket(socket.AF_UNIX) as longest, pytest.raises(OSError, match="too long" if over else "No such"):
        longest.connect(f"{base}/skillkeep/{name}")


def test_a_name_in_tmp_that_somebody_else_has_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    uid = secrets.randbelow(1 << 20) + (1 << 28)
    first, second = Path(f"/tmp/skillkeep-{uid}-1"), Path(f"/tmp/skillkeep-{uid}-2")
    own = os.geteuid()
    monkeypatch.setattr(place, "_is_private", lambda path: os.path.isdir(path) and path != str(first))
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    try:
        assert place.server_folder() == str(second)
        assert first.stat().st_uid == second.stat().st_uid == own
        assert second.stat().st_mode & 0o777 == 0o700
    finally:
        for made in (first, second):
            made.rmdir()


def test_nobody_can_take_every_name_in_tmp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    uid = secrets.randbelow(1 << 20) + (1 << 28)
    taken = {f"/tmp/skillkeep-{uid}-{number}" for number in (*range(1, 10), 77)}
    made = taken | {f"/tmp/skillkeep-{uid}-mine"}
    for path in made:
        os.mkdir(path, 0o700)
    monkeypatch.setattr(place, "_is_private", lambda path: os.path.isdir(path) and path not in taken)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    try:
        folder = place.server_folder()
        made.add(folder)
        assert folder not in taken
        assert holds_server(Path(folder))
        assert folder == place.server_folder()
        assert os.stat(folder).st_mode & 0o777 == 0o700
    finally:
        for path in made:
            os.rmdir(path)


def test_a_callers_control_group_limits_and_rights_make_another_server(own: Bench) -> None:
    folders = (str(Path(place.__file__).parent),)
    name = place.server_name(folders, private=False)
    assert place.server_name(folders, private=False) == name
    assert place.server_name(folders, private=True) != name
    cores = os.sched_getaffinity(0)
    if len(cores) > 1:
        os.sched_setaffinity(0, {min(cores)})
        try:
            assert place.server_name(folders, private=False) != name
        finally:
            os.sched_setaffinity(0, cores)


def test_the_payload_holds_three_descriptors_and_cannot_see_the_server(own: Bench) -> None:
    result = run("sh", "-c", "ls /proc/self/fd; ls /proc | grep -c '^[0-9]'; ls /run /tmp -a; cat /proc/1/cmdline")
    words = result.stdout.decode().split()
    assert words[:4] == ["0", "1", "2", "3"]  # 3 is the folder that ls reads
    assert "skillkeep" not in result.stdout.decode()


def test_the_callers_memory_is_not_copied_for_a_run(own: Bench) -> None:
    """No process of a run is a fork of the caller or of the server, whatever these hold."""
    mark = "held-by-the-caller-" + os.urandom(4).hex()
    held = mark.encode() * 1000
    out = run("sh", "-c", "cat /proc/*/maps 2>/dev/null | grep -c python; true").stdout
    assert out == b"0\n"
    assert marked_processes(mark) == []
    assert held

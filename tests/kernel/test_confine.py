"""A worker before and after it confined itself: what worked no longer does, and its job still works."""

from __future__ import annotations

import errno
import json
import os
import secrets
import socket
import subprocess
import sys
from typing import Any

import pytest
from support.sandbox import Bench, python_for, refusing, staged_packages

WORKER = """
import errno, json, os, socket, subprocess, sys, threading, ctypes
sys.path.insert(0, sys.argv[1])
asked = json.loads(sys.argv[2])
layers = []
if asked["confine"] is not None:
    from skillkeep.kernel.confine import apply_confinement
    from skillkeep.kernel.errors import KernelError
    limits = dict(memory_bytes=512 << 20, cpu_seconds=20, file_bytes=1 << 20, processes=8, open_files=64)
    try:
        layers = apply_confinement(**{**limits, **asked["confine"]})
    except KernelError as error:
        print(json.dumps(error.to_json()))
        sys.exit()
inside, outside, port, secret, mark = asked["inside"], asked["outside"], asked["port"], asked["secret"], asked["mark"]
attempts = {
    "read secret": lambda: open(secret).read(),
    "write outside": lambda: open(outside + "/planted", "w").close(),
    "write inside": lambda: open(inside + "/made", "w").write("x") and os.unlink(inside + "/made"),
    "link inside": lambda: (os.symlink("/etc/passwd", inside + "/l"), os.unlink(inside + "/l")),
    "through a link": lambda: (os.symlink(secret, inside + "/s"), open(inside + "/s").read()),
    "fill": lambda: open(inside + "/big", "wb").write(b"x" * (2 << 20)),
    "chmod outside": lambda: os.chmod(outside, 0o777),
    "chown": lambda: os.chown(outside, os.getuid(), os.getgid()),
    "utime": lambda: os.utime(outside),
    "connect": lambda: socket.create_connection(("127.0.0.1", port), 5).close(),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)).close(),
    "abstract": lambda: socket.socket(socket.AF_UNIX).connect("\\0" + mark),
    "unix": lambda: socket.socket(socket.AF_UNIX).close(),
    "program": lambda: subprocess.run(["/bin/true"], check=True),
    "fork": lambda: os.fork() or os._exit(0),
    "thread": lambda: threading.Thread(target=int).start(),
    "signal parent": lambda: os.kill(os.getppid(), 0),
    "memory": lambda: len(b"x" * (600 << 20)) and None,
    "many files": lambda: [os.dup(0) for _ in range(100)],
    "inherited": lambda: os.fstat(asked["fd"]),
    "unshare": lambda: ctypes.CDLL(None, use_errno=True).unshare(0) == 0 or os.abort,
}
def attempt(what):
    try:
        what()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
    except MemoryError:
        return "MemoryError"
answers = {name: attempt(attempts[name]) for name in asked["try"]}
print(json.dumps({"layers": layers, "answers": answers}))
"""


def _work(bench: Bench, confine: dict[str, Any] | None, *attempts: str, **facts: Any) -> dict[str, Any]:
    work, closed = bench.folder / "work", bench.folder / "closed"
    for path in (work, closed):
        path.mkdir(exist_ok=True)
        os.chown(path, bench.who.uid or -1, -1)
    secret = bench.home / "key"
    secret.write_text("secret")
    os.chown(secret, bench.who.uid or -1, -1)
    fd = os.open("/dev/null", os.O_RDONLY)
    granted = {"read": _readable(), "write": [str(work)], "tcp_ports": [], "programs": False}
    asked = {"confine": None if confine is None else granted | confine, "try": attempts, "inside": str(work)}
    asked |= {"outside": str(closed), "secret": str(secret), "fd": fd, "port": 1, "mark": "", **facts}
    command = [python_for(bench.who.uid), "-I", "-c", WORKER, str(staged_packages()), json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, pass_fds=[fd], **bench.identity())
    os.close(fd)
    assert done.returncode == 0, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _readable() -> list[str]:
    return ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", sys.base_prefix, str(staged_packages())]


FILES = ("read secret", "write outside", "through a link", "fill", "chmod outside", "chown", "utime")
NO_RIGHT = {"EACCES", "EPERM"}


def test_files_beyond_the_granted_folders_are_closed(bench: Bench) -> None:
    free = _work(bench, None, *FILES)["answers"]
    assert set(free.values()) == {"done"}
    os.unlink(bench.folder / "closed" / "planted")
    os.unlink(bench.folder / "work" / "s")
    held = _work(bench, {}, *FILES, "write inside", "link inside")["answers"]
    assert held.pop("fill") == "EFBIG"
    assert (held.pop("write inside"), held.pop("link inside")) == ("done", "done")
    assert set(held.values()) <= NO_RIGHT
    assert os.listdir(bench.folder / "closed") == []


def test_no_network_at_all_without_a_port(bench: Bench) -> None:
    names = ("connect", "udp", "listen", "abstract", "unix")
    mark = secrets.token_hex(8)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as hidden:
        hidden.bind("\0" + mark)
        hidden.listen()
        facts = {"port": server.getsockname()[1], "mark": mark}
        assert set(_work(bench, None, *names, **facts)["answers"].values()) == {"done"}
        assert set(_work(bench, {}, *names, **facts)["answers"].values()) == {"EAFNOSUPPORT"}


def test_a_granted_port_is_the_only_one(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        granted, closed = (one.getsockname()[1] for one in (server, other))
        reached = _work(bench, {"tcp_ports": [granted]}, "connect", "listen", "unix", port=granted)
        if "landlock_tcp" not in reached["layers"]:
            pytest.skip("this kernel's Landlock does not know TCP")
        assert reached["answers"] == {"connect": "done", "listen": "EACCES", "unix": "EAFNOSUPPORT"}
        assert _work(bench, {"tcp_ports": [granted]}, "connect", port=closed)["answers"]["connect"] in NO_RIGHT


def test_programs_and_processes_are_granted_or_not(bench: Bench) -> None:
    names = ("program", "fork", "thread")
    assert set(_work(bench, None, *names)["answers"].values()) == {"done"}
    assert _work(bench, {}, *names)["answers"] == {"program": "EPERM", "fork": "EPERM", "thread": "done"}
    assert set(_work(bench, {"programs": True}, *names)["answers"].values()) == {"done"}


def test_what_was_written_can_never_be_executed(bench: Bench) -> None:
    work = bench.folder / "work"
    work.mkdir()
    script = work / "planted"
    script.write_text("#!/bin/sh\n")
    os.chmod(script, 0o755)
    code = WORKER.replace('["/bin/true"]', f'["{script}"]')
    assert "planted" in code
    command = [python_for(bench.who.uid), "-I", "-c", code, str(staged_packages())]
    asked = {"try": ["program"], "inside": "", "outside": "", "secret": "", "fd": 0, "port": 1, "mark": ""}
    granted = {"read": _readable(), "write": [str(work)], "tcp_ports": [], "programs": True}
    for confine, answer in ((None, "done"), (granted, "EACCES")):
        text = json.dumps({**asked, "confine": confine})
        done = subprocess.run([*command, text], capture_output=True, check=True, **bench.identity())
        assert json.loads(done.stdout)["answers"] == {"program": answer}


def test_memory_descriptors_and_others_processes_are_bounded(bench: Bench) -> None:
    names = ("inherited", "memory", "many files", "signal parent")
    free = _work(bench, None, *names)["answers"]
    assert (free["memory"], free["many files"], free["inherited"]) == ("done", "done", "done")
    held = _work(bench, {}, *names)["answers"]
    assert (held["memory"], held["many files"], held["inherited"]) == ("MemoryError", "EMFILE", "EBADF")
    assert held["signal parent"] == "EPERM"


def test_the_layers_in_force_are_named(bench: Bench) -> None:
    layers = _work(bench, {})["layers"]
    assert {"no_new_privs", "descriptors", "rlimits", "landlock_files", "seccomp"} <= set(layers)
    assert ("capabilities" in layers) == (bench.who.name == "root")


@pytest.mark.parametrize(
    ("call", "number", "layer"),
    [
        ("landlock_create_ruleset", errno.ENOSYS, "landlock"),
        ("landlock_create_ruleset", errno.EOPNOTSUPP, "landlock"),
        ("landlock_restrict_self", errno.EPERM, "landlock"),
        ("seccomp", errno.EINVAL, "seccomp"),
        ("close_range", errno.ENOSYS, "descriptors"),
    ],
)
def test_a_layer_that_fails_is_named_and_the_worker_does_not_go_on(call: str, number: int, layer: str) -> None:
    confine = {"read": _readable(), "write": [], "tcp_ports": [], "programs": False}
    asked = {"confine": confine, "try": [], "inside": "", "outside": "", "secret": "", "fd": 0, "port": 1, "mark": ""}
    command = [sys.executable, "-I", "-c", WORKER, str(staged_packages()), json.dumps(asked)]
    answer = json.loads(refusing({call: number}, command, capture_output=True, check=True).stdout)
    assert (answer["error_code"], answer["context"]["layer"]) == ("kernel_refused", layer)
    assert answer["context"]["errno"] == errno.errorcode[number]


def test_a_process_with_threads_is_not_confined_by_half() -> None:
    start = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    confine = {"read": [], "write": [], "tcp_ports": [], "programs": False}
    command = [sys.executable, "-I", "-c", start + WORKER, str(staged_packages()), json.dumps({"confine": confine})]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert answer["context"]["layer"] == "threads"

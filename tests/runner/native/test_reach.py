"""What a payload could reach without the sandbox, and cannot reach inside: network, files, processes."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.callers import calling
from support.sandbox import Bench, Who
from support.sandbox import bench as make_bench

CONNECT = """
import socket, sys
family, kind, address = int(sys.argv[1]), int(sys.argv[2]), eval(sys.argv[3])
s = socket.socket(family, kind)
s.settimeout(5)
s.connect(address)
s.send(sys.argv[4].encode())
"""


def _listener(family: int, kind: int, address: object) -> socket.socket:
    server = socket.socket(family, kind)
    server.settimeout(5)
    server.bind(address)
    if kind == socket.SOCK_STREAM:
        server.listen()
    return server


def _received(server: socket.socket, kind: int) -> bytes:
    if kind == socket.SOCK_DGRAM:
        return server.recv(100)
    with server.accept()[0] as peer:
        peer.settimeout(5)
        return peer.recv(100)


@pytest.mark.parametrize(
    ("family", "kind", "host"),
    [
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        (socket.AF_UNIX, socket.SOCK_STREAM, "abstract"),
    ],
    ids=["tcp", "udp", "abstract unix"],
)
def test_a_service_on_the_hosts_loopback_is_out_of_reach(
    bench: Bench, family: int, kind: int, host: tuple[str, int] | str
) -> None:
    server = _listener(family, kind, "\0" + secrets.token_hex(8) if host == "abstract" else host)
    address = repr(server.getsockname())
    with server:
        outside = bench.outside(CONNECT, int(family), int(kind), address, "outside")
        assert (outside.returncode, _received(server, kind)) == (0, b"outside")
        inside = bench.inside(CONNECT, int(family), int(kind), address, "inside")
        assert inside["exit_code"] == 1
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            _received(server, kind)


def test_every_socket_family_but_unix_is_refused(bench: Bench) -> None:
    code = """
import errno, socket
for family in (2, 10, 16, 17, 31, 38, 40):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        print(family, "open")
    except OSError as error:
        print(family, errno.errorcode[error.errno])
"""
    assert b"2 open" in bench.outside(code).stdout
    answers = bench.inside(code)["stdout"].splitlines()
    assert [line.split()[1] for line in answers] == ["EAFNOSUPPORT"] * 7


def test_a_tool_cannot_change_its_own_files(bench: Bench) -> None:
    code = """
import os, sys
tool = sys.argv[1]
for what in (
    lambda: open(tool + "/new", "w").close(),
    lambda: open(tool + "/file", "w").close(),
    lambda: os.chmod(tool + "/file", 0o777),
    lambda: os.utime(tool + "/file"),
    lambda: os.symlink("/etc/passwd", tool + "/link"),
    lambda: os.link(tool + "/file", tool + "/hard"),
    lambda: os.rename(tool + "/file", tool + "/moved"),
    lambda: os.unlink(tool + "/moved"),
    lambda: os.close(os.open(tool, os.O_TMPFILE | os.O_RDWR)),
):
    try:
        what()
        print("done")
    except OSError as error:
        print(error.strerror)
"""
    subprocess.run(["touch", str(bench.tool / "file")], check=True, user=bench.who.uid)
    assert bench.outside(code, bench.tool).stdout.split() == [b"done"] * 9
    subprocess.run(["touch", str(bench.tool / "file")], check=True, user=bench.who.uid)
    before = sorted(os.listdir(bench.tool))
    inside = bench.inside(code, "/tool")
    assert "done" not in inside["stdout"]
    assert inside["stdout"].count("Read-only file system") >= 7
    assert sorted(os.listdir(bench.tool)) == before


def test_a_tool_cannot_write_the_hosts_files(bench: Bench, tmp_path: Path) -> None:
    code = "import sys; open(sys.argv[1] + '/planted', 'w').write('x')"
    open_to_all = bench.folder / "open"
    open_to_all.mkdir()
    os.chmod(open_to_all, 0o777)
    assert bench.outside(code, open_to_all).returncode == 0
    os.unlink(open_to_all / "planted")
    for target in (open_to_all, f"/proc/1/root{open_to_all}", f"/proc/self/root{open_to_all}", "/usr", "/etc", "/"):
        assert bench.inside(code, target)["exit_code"] == 1
    assert os.listdir(open_to_all) == []


def test_the_home_of_the_user_is_out_of_reach(bench: Bench) -> None:
    secret = secrets.token_hex(8)
    (bench.home / "key").write_text(secret)
    if bench.who.uid is not None:
        os.chown(bench.home / "key", bench.who.uid, bench.who.uid)
    code = "import os,sys; print(open(sys.argv[1]).read()); print(dict(os.environ))"
    assert secret.encode() in bench.outside(code, bench.home / "key").stdout
    for path in (bench.home / "key", f"/proc/1/root{bench.home}/key", f"/proc/self/cwd/../..{bench.home}/key"):
        inside = bench.inside(code, path)
        assert inside["exit_code"] == 1
        assert secret not in inside["stdout"] + inside["stderr"]


def test_the_environment_of_the_host_does_not_come_in(bench: Bench) -> None:
    code = "import os; print(sorted(os.environ.items()))"
    held = bench.inside(code, env=[["GRANTED", "yes"]])["stdout"]
    assert "in-the-env" not in held
    assert str(bench.home) not in held
    assert "('GRANTED', 'yes')" in held
    assert "('HOME', '/tmp/home')" in held


def test_host_processes_are_neither_seen_nor_signalled(bench: Bench) -> None:
    code = """
import os, sys
mark, pid = sys.argv[1].encode(), int(sys.argv[2])
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        try:
            if mark in open(f"/proc/{name}/cmdline", "rb").read():
                print("seen")
        except OSError:
            pass
try:
    os.kill(pid, 0)
    print("signalled")
except OSError as error:
    print(error.strerror)
"""
    mark = secrets.token_hex(8)
    victim = (
        subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()", mark], stdin=subprocess.PIPE, user=bench.who.uid
        )
        if bench.who.uid is None
        else subprocess.Popen(["/bin/sh", "-c", "read x", mark], stdin=subprocess.PIPE, user=bench.who.uid)
    )
    with victim:
        outside = bench.outside(code, mark, victim.pid).stdout.split()
        inside = bench.inside(code, mark, victim.pid)["stdout"].split()
        victim.communicate(b"\n")
    assert outside == [b"seen", b"signalled"]
    assert inside == ["No", "such", "process"]


def test_descriptors_of_the_caller_do_not_come_in(bench: Bench) -> None:
    code = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
    # The fourth is the one that lists the folder.
    assert bench.inside(code)["stdout"] == "[0, 1, 2, 3]\n"


def test_stdin_is_empty_or_what_was_given(bench: Bench) -> None:
    assert bench.run("cat")["stdout"] == ""
    assert bench.run("cat", stdin="given")["stdout"] == "given"


def test_a_descriptor_given_as_stdin_is_read_and_never_written(bench: Bench) -> None:
    given = bench.home / "input"
    given.write_text("given")
    if bench.who.uid is not None:
        os.chown(given, bench.who.uid, bench.who.uid)
    attack = """
import os, sys
print(sys.stdin.read())
for way in (lambda: os.write(0, b"x"), lambda: os.open("/proc/self/fd/0", os.O_RDWR), lambda: os.ftruncate(0, 0)):
    try:
        way()
    except OSError as error:
        print(error.strerror)
"""
    lines = bench.run("python3", "-c", attack, stdin=f"open:{given}")["stdout"].splitlines()
    assert lines[0] == "given"
    assert given.read_text() == "given"


def test_a_folder_given_as_stdin_is_no_way_out(bench: Bench) -> None:
    code = "import os; print(os.listdir(os.open('..', os.O_RDONLY, dir_fd=0)))"
    inside = bench.run("python3", "-c", code, stdin=f"open:{bench.tool}")
    assert "Not a directory" in inside["stderr"]


def test_no_setuid_file_can_be_left_in_a_writable_bind(bench: Bench) -> None:
    code = """
import os, sys
folder = sys.argv[1]
ways = (
    lambda: os.chmod(folder + "/a", 0o4755),
    lambda: os.fchmod(os.open(folder + "/a", os.O_RDONLY), 0o2755),
    lambda: os.close(os.open(folder + "/b", os.O_CREAT | os.O_WRONLY, 0o4755)),
    lambda: os.mknod(folder + "/c", 0o104755),
)
open(folder + "/a", "w").close()
for way in ways:
    try:
        way()
        print("done")
    except OSError as error:
        print(error.strerror)
"""
    shared = bench.folder / "shared"
    shared.mkdir()
    os.chmod(shared, 0o777)
    assert bench.outside(code, shared).stdout.split() == [b"done"] * 4
    for path in shared.iterdir():
        path.unlink()
    inside = bench.inside(code, "/data", binds=[{"source": str(shared), "target": "/data", "writable": True}])
    assert inside["stdout"].splitlines() == ["Operation not permitted"] * 4
    assert [path.stat().st_mode & 0o6000 for path in shared.iterdir()] == [0]


def test_a_writable_bind_is_the_only_way_to_leave_something_behind(bench: Bench) -> None:
    shared = bench.folder / "shared"
    shared.mkdir()
    os.chmod(shared, 0o777)
    code = "open('/data/result', 'w').write('kept')"
    read_only = bench.inside(code, binds=[{"source": str(shared), "target": "/data"}])
    assert read_only["exit_code"] == 1
    writable = bench.inside(code, binds=[{"source": str(shared), "target": "/data", "writable": True}])
    assert writable["exit_code"] == 0, writable["stderr"]
    assert (shared / "result").read_text() == "kept"
    assert (shared / "result").stat().st_uid == writable["assurance"]["payload_host_uid"] != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs payloads under another id")
def test_what_a_payload_of_root_writes_belongs_to_the_owner_of_the_granted_folder() -> None:
    with make_bench(Who("root", None)) as bench:
        granted = bench.folder / "granted"
        granted.mkdir(mode=0o700)
        (granted / "of root").write_text("secret")
        os.chmod(granted / "of root", 0o600)
        os.chown(granted, 12345, 23456)
        bind = {"source": str(granted), "target": "/data", "writable": True}
        code = "open('/data/new', 'w').write('x'); print(open('/data/of root').read())"
        inside = bench.inside(code, binds=[bind])
        assert "Permission denied" in inside["stderr"]
        made = (granted / "new").stat()
        assert (made.st_uid, made.st_gid) == (12345, 23456)
        os.chown(granted, 0, 0)
        refused = bench.inside(code, binds=[bind])
        assert (refused["error_code"], refused["context"]["layer"]) == ("sandbox_layer_failed", "bind")
        assert "chown" in refused["hint"]
        assert "an id that a later run may get again" in refused["hint"]


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.isdir("/usr/src"), reason="mounting there needs root")
def test_an_application_that_lies_in_usr_src_is_not_shown() -> None:
    own = 'mount -t tmpfs own /usr/src && echo secret > /usr/src/.env && exec "$@"'
    with make_bench(Who("root", None)) as bench, calling(bench, "unshare", "--mount", "sh", "-c", own, "sh") as caller:
        assert caller.run("ls", "-A", "/usr/src")["stdout"] == ""


def test_a_link_in_a_bind_cannot_lead_a_mount_onto_the_host(bench: Bench) -> None:
    trap = bench.folder / "trap"
    trap.mkdir()
    os.symlink(bench.home, trap / "way")
    inside = bench.inside(
        "pass",
        binds=[{"source": str(trap), "target": "/data"}, {"source": str(bench.tool), "target": "/data/way/planted"}],
    )
    assert inside["error_code"] == "bad_policy"
    assert os.listdir(bench.home) == []

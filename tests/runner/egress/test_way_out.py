"""Real programs in the real sandbox reach what was granted, and nothing else."""

from __future__ import annotations

import errno
import http.server
import secrets
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.benches import _bench
from support.sandbox import Bench, marked_processes
from support.waiting import kill, until

from skillkeep.runner.egress import proxy
from skillkeep.runner.egress.allow import AllowList, Refused
from skillkeep.runner.egress.requests import Asked

__all__ = ["_bench"]

FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=20).read().decode())"


@dataclass(frozen=True)
class Site:
    """A web server on the host's loopback."""

    port: int
    folder: Path
    seen: list[str]

    @property
    def grant(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "hello") -> str:
        return f"http://{self.grant}/{path}"


class _Handler(http.server.SimpleHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(f"{self.headers['Host']} {self.path}")
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:9/secret")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        super().do_GET()

    def log_message(self, *_: object) -> None:
        return


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # by default 5: the next one to connect at once would wait for seconds


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "hello").write_text("from outside")
    seen: list[str] = []
    handler = partial(type("Handler", (_Handler,), {"seen": seen}), directory=str(tmp_path))
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Site(server.server_port, tmp_path, seen)
        server.shutdown()
        thread.join()


def need(program: str) -> str:
    if not (shutil.which(program, path="/usr/bin:/bin")):
        pytest.skip(f"no {program} in /usr/bin here")
    return program


def places(result: dict[str, Any]) -> list[tuple[str, int, bool]]:
    return [(each["host"], each["port"], each["allowed"]) for each in result["attempts"]]


def test_python_reaches_the_granted_host_and_the_attempt_is_noted(bench: Bench, site: Site) -> None:
    assert (
        "from outside"
        in subprocess.run(["/usr/bin/env", "python3", "-c", FETCH, site.url()], capture_output=True, text=True).stdout
    )
    result = bench.run("python3", "-c", FETCH, site.url(), egress=[site.grant])
    assert (result["exit_code"], result["stdout"]) == (0, "from outside\n")
    assert places(result) == [("127.0.0.1", site.port, True)]
    assert result["denials"] == []
    assert site.seen[-1] == f"127.0.0.1:{site.port} /hello"


@pytest.mark.parametrize("way", [[], ["-p"], ["-x", "socks5h://127.0.0.1:3128"], ["-x", "socks5://127.0.0.1:3128"]])
def test_curl_reaches_it_by_every_way_the_proxy_speaks(bench: Bench, site: Site, way: list[str]) -> None:
    result = bench.run(need("curl"), "-sS", "--max-time", "20", *way, site.url(), egress=[site.grant])
    assert (result["exit_code"], result["stdout"]) == (0, "from outside")


def test_git_clones_through_it(bench: Bench, site: Site) -> None:
    made = site.folder / "made"
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (
        ["init", "-q", str(made)],
        ["-C", str(made), *identity, "commit", "-q", "--allow-empty", "-m", "one"],
    ):
        subprocess.run(["git", *words], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(made), str(site.folder / "r.git")], check=True)
    subprocess.run(["git", "-C", str(site.folder / "r.git"), "update-server-info"], check=True)
    script = f"cd && {need('git')} clone -q {site.url('r.git')} copy && git -C copy log --format=%s"
    result = bench.run("sh", "-c", script, egress=[site.grant], wall_seconds=60)
    assert (result["exit_code"], result["stdout"]) == (0, "one\n"), result["stderr"]


def test_pip_downloads_through_it(bench: Bench, site: Site) -> None:
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True).returncode:
        pytest.skip("the system's Python has no pip")
    folder = site.folder / "simple" / "nothing"
    folder.mkdir(parents=True)
    (folder / "nothing-1.tar.gz").write_bytes(b"")
    (folder / "index.html").write_text('<!DOCTYPE html><a href="nothing-1.tar.gz">nothing-1.tar.gz</a>')
    words = [
        "/usr/bin/python3",
        "-m",
        "pip",
        "index",
        "versions",
        "nothing",
        "-i",
        site.url("simple"),
        "--retries",
        "0",
    ]
    result = bench.run(*words, egress=[site.grant], wall_seconds=60)
    assert "nothing (1)" in result["stdout"], result["stderr"]


def test_what_was_not_granted_is_refused_and_names_the_grant(bench: Bench, site: Site) -> None:
    other = socket.socket()
    other.bind(("127.0.0.1", 0))
    other.listen()
    other.settimeout(0.0)
    port = other.getsockname()[1]
    result = bench.run("python3", "-c", FETCH, f"http://127.0.0.1:{port}/", egress=[site.grant])
    assert result["exit_code"] == 1
    assert "403" in result["stderr"]
    assert places(result) == [("127.0.0.1", port, False)]
    assert result["denials"] == [
        {
            "what": "network",
            "detail": f"127.0.0.1:{port} was not granted",
            "hint": f"net:127.0.0.1:{port}",
            "layer": "egress",
        }
    ]
    with other, pytest.raises(BlockingIOError):
        other.accept()


def test_a_redirect_to_elsewhere_is_refused(bench: Bench, site: Site) -> None:
    result = bench.run("python3", "-c", FETCH, site.url("away"), egress=[site.grant])
    assert result["exit_code"] == 1
    assert places(result) == [("127.0.0.1", site.port, True), ("127.0.0.1", 9, False)]


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "[::ffff:127.0.0.1]", "localhost", "a@127.0.0.1"],
)
def test_another_spelling_of_a_private_address_reaches_nothing(bench: Bench, site: Site, host: str) -> None:
    request = f"CONNECT {host}:{site.port} HTTP/1.1\r\n\r\n"
    code = (
        "import socket, sys\ns = socket.create_connection(('127.0.0.1', 3128), 20)\n"
        "s.sendall(sys.argv[1].encode())\nprint(s.recv(12).decode())"
    )
    result = bench.run("python3", "-c", code, request, egress=[f"api.example.com:{site.port}"])
    assert result["stdout"] == "HTTP/1.1 403\n"
    assert not any(each["allowed"] for each in result["attempts"])
    assert site.seen == []


def test_without_the_proxy_nothing_is_reached(bench: Bench, site: Site) -> None:
    code = (
        "import socket, sys\n"
        "for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):\n"
        "    for place in (('127.0.0.1', int(sys.argv[1])), ('192.0.2.1', 53), ('169.254.169.254', 80)):\n"
        "        try:\n            s = socket.socket(socket.AF_INET, kind)\n            s.settimeout(5)\n"
        "            s.connect(place)\n            s.send(b'x')\n            s.send(b'x')\n"
        "            print('open', kind, place)\n"
        "        except OSError as error:\n            pass\n"
    )
    result = bench.run("python3", "-c", code, str(site.port), egress=[site.grant])
    assert (result["exit_code"], result["stdout"]) == (0, "")
    bare = bench.run("python3", "-c", "import socket; socket.socket(socket.AF_INET)")
    assert bare["exit_code"] == 1


def test_what_waits_in_sockets_is_little(bench: Bench, site: Site) -> None:
    """No control group counts it: datagrams that a payload sends to itself, and streams to itself or to the proxy."""
    code = """
import socket
def tried(what):
    try:
        return what()
    except OSError as error:
        return error.errno
def filled():
    with socket.create_connection(("127.0.0.1", 3128), 20) as s:
        s.settimeout(0.2)
        taken = 0
        try:
            while taken < 64 << 20:
                taken += s.send(bytes(1 << 16))
        except OSError:
            return taken
        return taken
waiting = [socket.create_connection(("127.0.0.1", 3128), 20) for _ in range(64)]
streams, own = socket.socket(), socket.socket()
own.listen()
print([tried(lambda: socket.socket(family, socket.SOCK_DGRAM)) for family in (socket.AF_INET, socket.AF_INET6)])
print(tried(lambda: streams.sendto(b"x", 0x20000000, ("127.0.0.1", own.getsockname()[1]))))
print(0 < filled() < 2 << 20)
"""
    result = bench.run("python3", "-c", code, egress=[site.grant])
    expected = [errno.EPROTONOSUPPORT] * 2, errno.EOPNOTSUPP, True
    assert result["stdout"].splitlines() == list(map(str, expected)), result["stderr"]


def test_the_proxy_is_confined_and_ends_with_the_run(bench: Bench, site: Site) -> None:
    bench.own_server()
    mark = f"api-{secrets.token_hex(6)}.example.com:{site.port}"
    with subprocess.Popen(bench.driver(), stdin=-1, stdout=-1, stderr=-1, **bench.identity()) as caller:
        assert caller.stdin
        caller.stdin.write(bench.request(["sleep", "60"], None, 2, {"egress": [mark]}))
        caller.stdin.close()
        caller.stdin = None

        def confined() -> bool:
            return any("Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text() for pid in proxies())

        def proxies() -> list[int]:
            return [pid for pid in marked_processes(mark) if pid in marked_processes("\0proxy\0")]

        assert until(confined)
        (pid,) = proxies()
        status = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
        )
        assert "0" not in status["Uid"].split()
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert status["NoNewPrivs"] == "1"
        caller.kill()
    assert until(lambda: marked_processes(mark) == [])


def test_killing_the_server_kills_the_proxy(bench: Bench, site: Site) -> None:
    bench.own_server()
    mark = f"api-{secrets.token_hex(6)}.example.com:{site.port}"
    with subprocess.Popen(bench.driver(), stdin=-1, stdout=-1, stderr=-1, **bench.identity()) as caller:
        assert caller.stdin
        caller.stdin.write(bench.request(["sleep", "60"], None, 2, {"egress": [mark]}))
        caller.stdin.close()
        caller.stdin = None
        assert until(lambda: any(pid in marked_processes("\0proxy\0") for pid in marked_processes(mark)))
        kill(bench.server())
        caller.communicate()
    assert until(lambda: marked_processes(mark) == [])


@pytest.mark.parametrize(
    "found", [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:169.254.169.254"], ["fe80::1%lo"]]
)
def test_a_name_that_leads_inside_is_refused_before_anything_is_dialled(
    monkeypatch: pytest.MonkeyPatch, found: list[str]
) -> None:
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("a socket was made"))
    with pytest.raises(Refused, match="not a public address"):
        proxy._dial(Asked("api.example.com", 443, 0), AllowList.of(["api.example.com:443"]))


def test_many_connections_at_once_are_served(bench: Bench, site: Site) -> None:
    code = (
        "import sys, threading, urllib.request as u\n"
        "got = []\nthreading.stack_size(1 << 18)\n"
        "def one():\n    got.append(u.urlopen(sys.argv[1], timeout=50).read())\n"
        "threads = [threading.Thread(target=one) for _ in range(24)]\n"
        "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\n"
        "print(len(got), set(got))"
    )
    result = bench.run("python3", "-c", code, site.url(), egress=[site.grant], wall_seconds=110)
    assert result["stdout"] == "24 {b'from outside'}\n", result["stderr"]


def test_an_attempt_that_is_let_through_shows_behind_a_crowd_of_refused_ones(bench: Bench, site: Site) -> None:
    code = (
        FETCH
        + """
import socket
for number in range(230):
    with socket.create_connection(("127.0.0.1", 3128)) as way:
        way.sendall(f"CONNECT n{number}.example.invalid:443 HTTP/1.1\\r\\n\\r\\n".encode())
        way.recv(100)
u.urlopen(sys.argv[1], timeout=20).read()
"""
    )
    result = bench.run("python3", "-c", code, site.url(), egress=[site.grant], wall_seconds=60)
    assert result["exit_code"] == 0, result
    assert ("127.0.0.1", site.port, True) in places(result)
    assert len(result["attempts"]) == 200
    assert result["attempts"][-1]["reason"] == "232 attempts were noted; each is listed once, and 32 are not"

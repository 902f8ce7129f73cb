"""A container reaches the granted hosts and nothing else, and nothing of its way out is left behind."""

from __future__ import annotations

import http.server
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.docker import NEEDS_ENGINE, engine_client, imported_image
from support.sandbox import marked_processes

from skillkeep.runner.containers.docker import DockerBackend
from skillkeep.runner.containers.owner import OWNER_LABEL, Owner
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Cause, RunRequest, RunResult, SandboxPolicy

pytestmark = NEEDS_ENGINE

FETCH = (
    "import sys, urllib.request\n"
    "try: print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())\n"
    "except OSError as error: print('refused', getattr(error, 'code', ''))\n"
)
DIRECT = (
    "import socket, sys\n"
    "for family, place in ((socket.AF_INET, ('127.0.0.1', int(sys.argv[1]))), (socket.AF_INET, ('1.1.1.1', 53)),\n"
    "                      (socket.AF_INET, ('169.254.169.254', 80)), (socket.AF_INET6, ('::1', int(sys.argv[1])))):\n"
    "    try: socket.socket(family).connect(place); print('open', place)\n"
    "    except OSError: pass\n"
    "try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print('netlink')\n"
    "except OSError: pass\n"
    "try: socket.getaddrinfo('example.com', 1); print('resolved')\n"
    "except OSError: pass\n"
    "print(sorted(line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line))\n"
)


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    yield from imported_image()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    class Hello(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello from outside")

        def log_message(self, *words: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def run(image: str, code: str, *words: str, egress: tuple[str, ...], **policy: float) -> RunResult:
    request = RunRequest(("python3", "-c", code, *words), SandboxPolicy(egress=egress, **policy))  # type: ignore[arg-type]
    return DockerBackend(image).run(request)


def left_behind() -> tuple[list[object], list[Path], list[int]]:
    client = engine_client()
    try:
        containers = client.containers(all=True, filters={"label": f"{OWNER_LABEL}={Owner.current()}"})
    finally:
        client.close()
    folders = list(Path(tempfile.gettempdir()).glob("skillkeep-egress-*"))
    mine = [pid for pid in marked_processes("boot.py") if f"\0{os.getpid()}\0" in _command(pid)]
    return containers, folders, mine


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")


def test_a_granted_host_is_reached_through_the_proxy_and_it_is_noted(image: str, port: int) -> None:
    result = run(image, FETCH, f"http://127.0.0.1:{port}/", egress=(f"127.0.0.1:{port}",))
    assert (result.stdout, result.exit_code) == (b"hello from outside\n", 0), result.stderr
    assert [(each.host, each.port, each.allowed) for each in result.attempts] == [("127.0.0.1", port, True)]
    network = result.assurance.layer("network")
    assert network is not None
    assert network.facts["mode"].startswith("container:")
    assert left_behind() == ([], [], [])


def test_what_was_not_granted_is_refused_and_says_which_grant_would_allow_it(image: str, port: int) -> None:
    result = run(image, FETCH, f"http://127.0.0.1:{port}/", egress=("example.com:443",))
    assert result.stdout == b"refused 403\n"
    assert [denial.hint for denial in result.denials] == [f"net:127.0.0.1:{port}"]


def test_without_the_proxy_there_is_nothing(image: str, port: int) -> None:
    result = run(image, DIRECT, str(port), egress=(f"127.0.0.1:{port}",))
    assert (result.stdout, result.exit_code) == (b"['lo']\n", 0), result.stderr


def test_at_the_time_limit_all_of_it_goes(image: str, port: int) -> None:
    code = "import socket; c = socket.create_connection(('127.0.0.1', 3128)); c.recv(1)"
    result = run(image, code, egress=(f"127.0.0.1:{port}",), wall_seconds=1.5)
    assert result.cause is Cause.TIMEOUT
    assert left_behind() == ([], [], [])


def test_a_runtime_with_a_network_of_its_own_gets_none(image: str) -> None:
    backend = DockerBackend(image, "runc")
    with pytest.raises(RunnerError) as caught:
        backend.run(RunRequest(("true",), SandboxPolicy(egress=("example.com:443",))))
    assert (caught.value.code, caught.value.context["layer"]) == ("sandbox_layer_failed", "egress")
    assert left_behind() == ([], [], [])

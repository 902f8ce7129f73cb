"""Git over HTTP on loopback: git's own `http-backend` behind a CGI bridge, and servers that misbehave."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing: the client reports what failed."""


class _Bridge(_Quiet):
    """One request becomes one run of `git http-backend` (RFC 3875 as far as it needs it)."""

    folder: Path
    asked: list[str]

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def _answer(self, body: bytes) -> None:
        self.asked.append(self.path)
        url = urlsplit(self.path)
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "PATH_INFO": unquote(url.path),
            "QUERY_STRING": url.query,
            "REQUEST_METHOD": self.command,
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env=environment, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200)
        self.send_response(status)
        for name, value in fields:
            if name not in {"Status", "Content-Length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # a client that was stopped on purpose
            self.wfile.write(content)


@contextlib.contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def git_server(folder: Path, asked: list[str] | None = None) -> Iterator[str]:
    """Serve every bare repository below `folder`; gives the base URL. Paths asked for are added to `asked`."""
    with _serving(type("Bridge", (_Bridge,), {"folder": folder, "asked": asked if asked is not None else []})) as url:
        yield url


@contextlib.contextmanager
def redirecting_server(target: str) -> Iterator[str]:
    """Answer every request with a redirect to the same path below `target`."""

    class Redirect(_Quiet):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", target + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with _serving(Redirect) as url:
        yield url


@contextlib.contextmanager
def raw_server(talk: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """Hand every connection to `talk` together with an event that is set when the server ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    ending = threading.Event()
    threads: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=hold, args=(connection,), daemon=True))
            threads[-1].start()

    def hold(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            talk(connection, ending)

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ending.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (accepting, *threads):
            thread.join()


def never_answer(connection: socket.socket, ending: threading.Event) -> None:
    """Take the request and say nothing."""
    connection.recv(65536)
    ending.wait()


def trickle(connection: socket.socket, ending: threading.Event) -> None:
    """Begin a proper answer and then send a byte now and then, for ever."""
    connection.recv(65536)
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"
        b"Content-Length: 1000000\r\n\r\n001e# service=git-upload-pack\n0000"
    )
    while not ending.wait(0.2):
        connection.sendall(b"0")


def talk_nonsense(connection: socket.socket, ending: threading.Event) -> None:
    """Answer with what is no git."""
    connection.recv(65536)
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"
        b"Content-Length: 12\r\n\r\nzzzz\x1b[2Jhello"
    )

"""Git over HTTP on loopback: the demo's server, and servers that misbehave."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

from git_http import GitBridge, listening
from git_http import serve as git_server

__all__ = ["git_server", "never_answer", "raw_server", "redirecting_server", "talk_nonsense", "trickle"]


@contextlib.contextmanager
def redirecting_server(target: str) -> Iterator[str]:
    """Answer every request with a redirect to the same path below `target`."""

    class Redirect(GitBridge):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", target + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with listening(Redirect) as url:
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

"""Serve bare repositories over HTTP on loopback, by git's own `http-backend` behind a small CGI bridge.

The bridge follows RFC 3875 as far as `git http-backend` needs it (see `man git-http-backend`), for reading only.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

LONGEST_BODY = 1 << 20


class GitBridge(BaseHTTPRequestHandler):
    """One request becomes one run of `git http-backend` on the repositories below `folder`; see `serve`."""

    protocol_version = "HTTP/1.1"
    folder: Path
    asked: list[str]

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding") or length > LONGEST_BODY:
            self.send_error(413)
            return
        self._answer(self.rfile.read(length))

    def _answer(self, body: bytes) -> None:
        self.asked.append(self.path)
        done = subprocess.run(
            ["git", "http-backend"], input=body, stdout=subprocess.PIPE, env=self._environment(body), check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200 if fields else 500)
        self.send_response(status)
        for name, value in fields:
            if name not in {"Status", "Content-Length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(ConnectionError):  # a client that was stopped on purpose
            self.wfile.write(content)

    def _environment(self, body: bytes) -> dict[str, str]:
        url = urlsplit(self.path)
        return {
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

    def log_message(self, *_: object) -> None:
        """Say nothing: the client reports what failed."""


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer HTTP on a free port of loopback until the block ends; gives the base URL, without a slash."""
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


def serve(folder: Path, asked: list[str] | None = None) -> AbstractContextManager[str]:
    """Serve every bare repository below `folder`; gives the base URL. The paths asked for are added to `asked`."""
    return listening(type("Bridge", (GitBridge,), {"folder": folder, "asked": [] if asked is None else asked}))


def make_repository(source: Path, bare: Path) -> None:
    """Commit a folder's files and put them into a new bare repository that `serve` can show.

    Fixed names and dates: the same files always make the same commit.
    """
    env = {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "Demo",
        "GIT_AUTHOR_EMAIL": "demo@example.invalid",
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
        "GIT_COMMITTER_NAME": "Demo",
        "GIT_COMMITTER_EMAIL": "demo@example.invalid",
        "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    }
    tree = ["--git-dir", str(bare), "--work-tree", str(source)]
    for arguments in (
        ["init", "--quiet", "--bare", "--initial-branch=main", str(bare)],
        [*tree, "add", "--all"],
        [*tree, "commit", "--quiet", "--message", "Three skills"],
    ):
        subprocess.run(["git", *arguments], check=True, env=env, stdin=subprocess.DEVNULL)

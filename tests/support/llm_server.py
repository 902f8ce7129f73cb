"""A language model's server on loopback: real HTTP in OpenAI's chat-completions protocol, good days and bad ones.

A day is a function from one request to what is sent back; the server plays its days in order and repeats the last.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request as the server got it."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def system(self) -> str:
        """The system message."""
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        """The user message, with the tool's files."""
        return str(self.body["messages"][1]["content"])


@dataclass(frozen=True)
class Answer:
    """One response. `drip` sends byte after byte, slowly; `cut` closes the connection after that many bytes."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    silent: bool = False
    drip: bool = False
    cut: int | None = None


Day = Callable[[Asked], Answer]


@dataclass
class LlmServer:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)


def completion(content: str | None, **changes: Any) -> bytes:
    """The body of a chat completion; `finish_reason` and `refusal` may be changed."""
    message = {"role": "assistant", "content": content, "refusal": changes.get("refusal")}
    choice = {"index": 0, "message": message, "finish_reason": changes.get("finish_reason", "stop"), "logprobs": None}
    usage = {"prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps(whole).encode()


def says(content: str | None, **changes: Any) -> Day:
    """A server whose model says `content`."""
    return lambda _asked: Answer(body=completion(content, **changes))


def finds(*claims: Mapping[str, Any]) -> Day:
    """A server whose model reports these findings."""
    return says(json.dumps({"findings": list(claims)}))


def answers(status: int, body: bytes = b"{}", **headers: str) -> Day:
    """A server that answers with this status."""
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return lambda _asked: Answer(status, body, pairs)


def knows_no_schema(asked: Asked) -> Answer:
    """A server that refuses `response_format` and finds nothing without it."""
    if "response_format" in asked.body:
        return Answer(400, b'{"error": {"message": "response_format is not supported"}}')
    return Answer(body=completion('{"findings": []}'))


def is_silent(_asked: Asked) -> Answer:
    """A server that takes the request and never answers."""
    return Answer(silent=True)


def drips(_asked: Asked) -> Answer:
    """A server that sends its headers a byte at a time, for ever."""
    return Answer(drip=True)


def obeys_the_files(asked: Asked) -> Answer:
    """A model that does what the files tell it: it repeats the first ``REPLY: …`` it reads in them."""
    order = re.search(r"REPLY: (.*)", asked.user)
    return Answer(body=completion(order.group(1) if order else '{"findings": []}'))


def claim(**changes: Any) -> dict[str, Any]:
    """A finding about the first line of ``SKILL.md``, changed as given."""
    return {
        "category": "agent-hijack", "severity": "fail", "file": "SKILL.md", "start_line": 1, "end_line": 1,
        "quote": "---", "reason": "It turns the agent against its user.", **changes,
    }  # fmt: skip


@contextlib.contextmanager
def llm_server(*days: Day) -> Iterator[LlmServer]:
    """Serve `days`, the last of them for ever."""
    ending = threading.Event()
    server = LlmServer("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 20

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            server.asked.append(asked)
            _play(self, days[min(len(server.asked), len(days)) - 1](asked), ending)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    try:
        yield server
    finally:
        ending.set()
        http.shutdown()
        http.server_close()
        thread.join()


def _play(handler: BaseHTTPRequestHandler, answer: Answer, ending: threading.Event) -> None:
    handler.close_connection = True
    with contextlib.suppress(OSError):
        if answer.silent:
            ending.wait(20)
            return
        if answer.drip:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not ending.wait(0.02):
                handler.wfile.write(b"a")
            return
        handler.send_response(answer.status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(answer.body)))
        handler.send_header("Connection", "close")
        for name, value in answer.headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(answer.body if answer.cut is None else answer.body[: answer.cut])

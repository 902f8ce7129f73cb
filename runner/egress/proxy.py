"""The proxy of one run: a confined process outside the sandbox that accepts inside it and dials out.

Its listening socket was made in the sandbox's own network, which holds nothing else. Descriptors: 0 the listening
socket, 1 the log, a memory file with one JSON object a line for every attempt. It ends with the fork server, which
also kills it when the run is over.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from skillkeep.hosts import literal
from skillkeep.kernel.egress import confine_proxy
from skillkeep.runner.egress.allow import AllowList, Refused, check_address, refuse_own
from skillkeep.runner.egress.place import LOG_BYTES
from skillkeep.runner.egress.requests import Asked, Incomplete, parse_greeting, parse_http, parse_socks

__all__ = ["main"]

Parsed = TypeVar("Parsed")

_CONNECTIONS = 64
_STACK_BYTES = 1 << 18
_ASK_SECONDS, _DIAL_SECONDS, _IDLE_SECONDS = 30.0, 20.0, 600.0
_CHUNK = 1 << 16
_SOCKS_GRANTED, _SOCKS_FORBIDDEN, _SOCKS_UNREACHABLE = 0, 2, 4


def main(parent: int, grants: list[str]) -> int:
    """Serve for the fork server `parent` until killed."""
    allowed = AllowList.of(grants)
    socket.getaddrinfo("localhost", 1)  # the resolver's own files and libraries are loaded before they are out of reach
    threading.stack_size(_STACK_BYTES)
    confine_proxy(parent, sorted({port for _, port in allowed.entries}))
    listener = socket.socket(fileno=os.dup(0))
    listener.setblocking(True)
    room = threading.BoundedSemaphore(_CONNECTIONS)
    while True:
        connection, _ = listener.accept()
        room.acquire()
        threading.Thread(target=_serve, args=(connection, allowed, room), daemon=True).start()


@dataclass
class _Log:
    """Attempts, as long as there is room, which is apart for what was let through."""

    lock: threading.Lock
    left: dict[bool, int]

    def note(self, host: str, port: int, allowed: bool, reason: str) -> None:
        words = {"host": host[:300], "port": port, "allowed": allowed, "reason": reason[:200]}
        line = json.dumps(words).encode() + b"\n"
        with self.lock:
            if len(line) <= self.left[allowed]:
                self.left[allowed] -= os.write(1, line)
            elif self.left[allowed]:
                self.left[allowed] = 0
                os.write(1, _full(allowed))


def _full(allowed: bool) -> bytes:
    reason = f"no more {'attempts that were let through' if allowed else 'refused attempts'} are noted"
    return json.dumps({"host": "", "port": 0, "allowed": False, "reason": reason}).encode() + b"\n"


_LOG = _Log(threading.Lock(), {allowed: LOG_BYTES // 2 - len(_full(allowed)) for allowed in (True, False)})


def _serve(connection: socket.socket, allowed: AllowList, room: threading.BoundedSemaphore) -> None:
    try:
        with connection:
            _converse(connection, allowed)
    except OSError:
        return  # one of the two sides has gone
    finally:
        room.release()


def _converse(connection: socket.socket, allowed: AllowList) -> None:
    connection.settimeout(_ASK_SECONDS)
    data = connection.recv(_CHUNK)
    if not data:
        return
    socks = data[0] == 5
    try:
        if socks:
            greeting, data = _whole(connection, data, parse_greeting)
            connection.sendall(b"\x05\x00")
            data = data[greeting:] or connection.recv(_CHUNK)
            asked, data = _whole(connection, data, parse_socks)
        else:
            asked, data = _whole(connection, data, parse_http)
    except Refused as refusal:
        _LOG.note("", 0, False, str(refusal))
        _answer_refused(connection, socks, str(refusal))
        return
    try:
        upstream = _dial(asked, allowed)
    except Refused as refusal:
        _LOG.note(asked.host, asked.port, False, str(refusal))
        _answer_refused(connection, socks, str(refusal))
        return
    except OSError as error:
        _LOG.note(asked.host, asked.port, True, f"not reached: {error}")
        _answer_unreached(connection, socks)
        return
    _LOG.note(asked.host, asked.port, True, "")
    with upstream:
        if socks:
            connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
        elif asked.tunnel:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        upstream.sendall(asked.first + data[asked.used :])
        _pass_on(connection, upstream)


def _whole(connection: socket.socket, data: bytes, parse: Callable[[bytes], Parsed]) -> tuple[Parsed, bytes]:
    """What `parse` finds, reading on until it has enough. Raises Refused for a head that never ends."""
    while True:
        try:
            return parse(data), data
        except Incomplete:
            more = connection.recv(_CHUNK)
            if not more:
                raise Refused("the request broke off") from None
            data += more


def _dial(asked: Asked, allowed: AllowList) -> socket.socket:
    """A connection to where it may go: the very address that was checked. Raises Refused, OSError."""
    name = allowed.check(asked.host, asked.port)
    flags = socket.AI_NUMERICHOST if literal(name) else 0
    found = socket.getaddrinfo(name, asked.port, type=socket.SOCK_STREAM, flags=flags)
    checked = [check_address(name, str(place[0])) for _, _, _, _, place in found]
    problem = OSError("the name has no address")
    for address in dict.fromkeys(checked):
        refuse_own(name, address)
        upstream = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        upstream.settimeout(_DIAL_SECONDS)
        try:
            upstream.connect((address, asked.port))
        except OSError as error:
            upstream.close()
            problem = error
            continue
        return upstream
    raise problem


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """Move bytes both ways until both sides have ended, or nothing has moved for a long time."""
    goes_to = {one: other, other: one}
    one.settimeout(_IDLE_SECONDS)
    other.settimeout(_IDLE_SECONDS)
    while goes_to:
        readable, _, _ = select.select(list(goes_to), [], [], _IDLE_SECONDS)
        if not readable:
            return
        for source in readable:
            data = source.recv(_CHUNK)
            if data:
                goes_to[source].sendall(data)
                continue
            with contextlib.suppress(OSError):
                goes_to[source].shutdown(socket.SHUT_WR)
            del goes_to[source]


def _answer_refused(connection: socket.socket, socks: bool, reason: str) -> None:
    if socks:
        connection.sendall(bytes((5, _SOCKS_FORBIDDEN)) + b"\x00\x01" + bytes(6))
        return
    text = f"Skillkeep's sandbox refused this: {reason}. Hosts are granted by --grant net:HOST:PORT.\n".encode()
    head = ("HTTP/1.1 403 Forbidden", "Content-Type: text/plain", f"Content-Length: {len(text)}", "Connection: close")
    connection.sendall("\r\n".join((*head, "", "")).encode() + text)


def _answer_unreached(connection: socket.socket, socks: bool) -> None:
    if socks:
        connection.sendall(bytes((5, _SOCKS_UNREACHABLE)) + b"\x00\x01" + bytes(6))
        return
    connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

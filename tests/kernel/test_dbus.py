"""A method call as it goes over the wire, against a bus of ours that reads it by the specification."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillkeep.kernel.dbus import Call, DBusError, Writer, call

ASKED = Call("org.example", "/org/example", "org.example.Things", "Take", "sau", b"")
_RETURN = struct.pack("<4BIII", ord("l"), 2, 1, 1, 0, 1, 8) + struct.pack("<BB2sI", 5, 1, b"u\0", 1)


def _error(text: str) -> bytes:
    body = struct.pack("<I", len(text)) + text.encode() + b"\0"
    return struct.pack("<4BIII", ord("l"), 3, 1, 1, len(body), 2, 0) + body


def _signal() -> bytes:
    return struct.pack("<4BIII", ord("l"), 4, 1, 1, 3, 7, 5) + b"field" + bytes(3) + b"abc"


@contextmanager
def _bus(folder: Path, greeting: bytes, *answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A bus that says `greeting` and then one of `answers` to each message; its socket, and what it heard."""
    path, heard = str(folder / "bus"), list[bytes]()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)

    def serve() -> None:
        with listener, listener.accept()[0] as connection, connection.makefile("rwb", buffering=0) as file:
            heard.append(file.readline())
            file.write(greeting)
            if greeting.startswith(b"OK"):
                heard.append(file.readline())
                for answer in answers:
                    heard.append(_message(file))
                    file.write(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield path, heard
    finally:
        thread.join()


def _message(file: object) -> bytes:
    read = file.read  # type: ignore[attr-defined]
    head = read(16)
    body, fields = struct.unpack("<4xI4xI", head)
    return bytes(head + read(fields + -fields % 8 + body))


def test_a_call_is_a_greeting_a_hello_and_one_message(tmp_path: Path) -> None:
    body = Writer()
    body.text("name")
    body.array(4, [lambda: body.number(7), lambda: body.number(8)])
    asked = Call("org.example", "/org/example", "org.example.Things", "Take", "sau", bytes(body.data))
    with _bus(tmp_path, b"OK 1234\r\n", _signal() + _RETURN, _signal() + _RETURN) as (path, heard):
        call(path, asked)
    who, begin, hello, message = heard
    assert who == b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n"
    assert begin == b"BEGIN\r\n"
    assert b"Hello" in hello
    assert message[:4] == b"l\x01\x00\x01"
    assert message.endswith(b"\4\0\0\0name\0" + bytes(3) + struct.pack("<III", 8, 7, 8))
    for field in (b"\1\1o\0\x0c\0\0\0/org/example\0", b"\3\1s\0\4\0\0\0Take\0", b"\x08\1g\0\3sau\0"):
        at = message.index(field)
        assert at % 8 == 0


@pytest.mark.parametrize(
    ("greeting", "answers", "reason"),
    [
        (b"REJECTED EXTERNAL\r\n", (), "refused this user"),
        (b"x" * 2000, (), "no end"),
        (b"OK 1\r\n", (_RETURN, _error("Access denied")), "Access denied"),
        (b"OK 1\r\n", (b"B" + _RETURN[1:],), "not one"),
        (b"OK 1\r\n", (_RETURN[:9],), "hung up"),
    ],
)
def test_whatever_a_bus_does_wrong_is_one_error(
    tmp_path: Path, greeting: bytes, answers: tuple[bytes, ...], reason: str
) -> None:
    with _bus(tmp_path, greeting, *answers) as (path, _), pytest.raises(DBusError, match=reason):
        call(path, ASKED)


def test_no_bus_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(DBusError, match="No such file"):
        call(str(tmp_path / "none"), ASKED)

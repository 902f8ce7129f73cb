"""One method call on a D-Bus, and whether it was done. Source: D-Bus Specification 0.42 (wire format, EXTERNAL)."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Call", "DBusError", "Writer", "call"]

_SECONDS = 5.0
_MOST = 1 << 20
_FIXED = struct.Struct("<4BIII")  # endianness, type, flags, version, length of the body, serial, length of the fields
_CALL, _RETURN, _ERROR = 1, 2, 3


class DBusError(Exception):
    """The bus cannot be reached, or refused the call; the text says what it answered."""


@dataclass(frozen=True)
class Call:
    """A method of an object, and its arguments as `Writer` has put them down."""

    destination: str
    path: str
    interface: str
    member: str
    signature: str = ""
    body: bytes = b""


class Writer:
    """Puts values down as D-Bus wants them: aligned, little-endian. `data` is what has been written."""

    def __init__(self) -> None:
        self.data = bytearray()

    def align(self, width: int) -> None:
        """Zeros up to a multiple of `width` bytes."""
        self.data += bytes(-len(self.data) % width)

    def number(self, value: int) -> None:
        """A UINT32, or a BOOLEAN."""
        self.align(4)
        self.data += struct.pack("<I", value)

    def text(self, value: str) -> None:
        """A STRING or an OBJECT_PATH."""
        encoded = value.encode()
        self.number(len(encoded))
        self.data += encoded + b"\0"

    def signature(self, value: str) -> None:
        """A SIGNATURE, as also stands before a variant's value."""
        self.data += bytes([len(value)]) + value.encode() + b"\0"

    def array(self, width: int, fills: Sequence[Callable[[], None]]) -> None:
        """An ARRAY whose elements are aligned to `width` bytes and written by `fills`."""
        self.number(0)
        at = len(self.data) - 4
        self.align(width)
        start = len(self.data)
        for fill in fills:
            self.align(width)
            fill()
        struct.pack_into("<I", self.data, at, len(self.data) - start)


def call(bus: str, asked: Call) -> None:
    """Connect to the bus at the socket `bus` as this process's user, make the call, wait for its answer.

    Raises DBusError, after five seconds at most for each step.
    """
    hello = Call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(bus)
            _authenticate(connection)
            for serial, each in enumerate((hello, asked), start=1):
                connection.sendall(_message(each, serial))
                _answered(connection)
    except (OSError, ValueError, struct.error) as error:
        raise DBusError(f"{bus}: {error}") from error


def _authenticate(connection: socket.socket) -> None:
    connection.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
    line = b""
    while not line.endswith(b"\r\n"):
        line += _exactly(connection, 1)
        if len(line) > 1024:
            raise ValueError("the bus's greeting has no end")
    if not line.startswith(b"OK "):
        raise ValueError(f"the bus refused this user: {line[:100]!r}")
    connection.sendall(b"BEGIN\r\n")


def _message(asked: Call, serial: int) -> bytes:
    fields = Writer()
    named = ((1, "o", asked.path), (2, "s", asked.interface), (3, "s", asked.member), (6, "s", asked.destination))
    for number, kind, value in named:
        fields.align(8)
        fields.data.append(number)
        fields.signature(kind)
        fields.text(value)
    if asked.signature:
        fields.align(8)
        fields.data.append(8)
        fields.signature("g")
        fields.signature(asked.signature)
    header = _FIXED.pack(ord("l"), _CALL, 0, 1, len(asked.body), serial, len(fields.data)) + fields.data
    return header + bytes(-len(header) % 8) + asked.body


def _answered(connection: socket.socket) -> None:
    """Read until the one open call is answered; signals in between are passed over. Raises ValueError for an error."""
    while True:
        order, kind, _, _, body_size, _, fields_size = _FIXED.unpack(_exactly(connection, _FIXED.size))
        if order != ord("l") or max(body_size, fields_size) > _MOST:
            raise ValueError("the bus's answer is not one")
        _exactly(connection, fields_size + -fields_size % 8)
        body = _exactly(connection, body_size)
        if kind == _ERROR:
            raise ValueError(body[4:-1].decode("utf-8", "replace") or "the call failed")
        if kind == _RETURN:
            return


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ValueError("the bus hung up")
        data += more
    return data

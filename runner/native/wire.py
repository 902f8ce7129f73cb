"""Frames between the caller and its supervisor: a JSON object and byte strings, over a stream socket."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

__all__ = ["receive", "send"]

_LENGTH = struct.Struct("!I")
_MOST = 1 << 30


def send(sock: socket.socket, header: dict[str, Any], *blobs: bytes) -> None:
    """Send one frame."""
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    sock.sendall(_LENGTH.pack(len(text)) + text)
    for blob in blobs:
        sock.sendall(blob)


def receive(sock: socket.socket) -> tuple[dict[str, Any], list[bytes]]:
    """Receive one frame. Raises EOFError when the other side ends early, ValueError for nonsense."""
    (length,) = _LENGTH.unpack(_exactly(sock, _LENGTH.size))
    if length > _MOST:
        raise ValueError("the frame is too long")
    header = json.loads(_exactly(sock, length))
    sizes = header.pop("blobs", None) if isinstance(header, dict) else None
    if not isinstance(sizes, list) or not all(type(size) is int and 0 <= size <= _MOST for size in sizes):
        raise ValueError("the frame has no proper header")
    return header, [_exactly(sock, size) for size in sizes]


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(size - len(data), 1 << 20))
        if not part:
            raise EOFError("the other side closed the socket")
        data += part
    return bytes(data)

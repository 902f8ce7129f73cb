"""Small control files of /proc and /sys, read and written whole with one system call each."""

from __future__ import annotations

import os

__all__ = ["read_text", "write_text"]

_CHUNK = 1 << 16


def read_text(path: str) -> str:
    """The file's text; bytes that are not UTF-8 become surrogates. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, _CHUNK)
        while len(data) and (more := os.read(fd, _CHUNK)):
            data += more
    finally:
        os.close(fd)
    return data.decode("utf-8", "surrogateescape")


def write_text(path: str, text: str) -> None:
    """Write a control file in one call, as the kernel wants it. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)

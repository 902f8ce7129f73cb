"""Small control files of /proc and /sys, read and written whole with few system calls each."""

from __future__ import annotations

import os
from collections.abc import Iterable

__all__ = [
    "KINDS",
    "namespaces_of",
    "read_again",
    "read_record",
    "read_record_again",
    "read_text",
    "started_at",
    "status_of",
    "write_text",
]

_CHUNK = 1 << 16
KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
"""The namespaces that a process is in (namespaces(7)); time is left out."""


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


def read_record(path: str) -> str:
    """The text of a file that the kernel shows as one record, so that a short answer is all of it. Raises OSError.

    Such are cgroup, limits, stat and status of a process, and the files of a control group (single_open, seq_file).
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_record_again(fd)
    finally:
        os.close(fd)


def read_record_again(fd: int) -> str:
    """The text that such a file, open as `fd`, has at this moment. Raises OSError."""
    data = os.pread(fd, _CHUNK, 0)
    return read_again(fd) if len(data) == _CHUNK else data.decode("utf-8", "surrogateescape")


def read_again(fd: int) -> str:
    """The text that the open control file `fd` has at this moment. Raises OSError."""
    data = os.pread(fd, _CHUNK, 0)
    while len(data) and (more := os.pread(fd, _CHUNK, len(data))):
        data += more
    return data.decode("utf-8", "surrogateescape")


def status_of(pid: int | str, keys: Iterable[str]) -> dict[str, str]:
    """These fields of /proc/PID/status; what the kernel does not have is left out. Raises OSError."""
    text, found = read_record(f"/proc/{pid}/status"), {}
    for key in keys:
        start = text.find(f"\n{key}:")
        if start >= 0:
            found[key] = text[start + len(key) + 2 : text.index("\n", start + 1)].strip()
    return found


def namespaces_of(pid: int | str, kinds: Iterable[str]) -> dict[str, str]:
    """The inode numbers of a process's namespaces. Raises OSError."""
    folder = os.open(f"/proc/{pid}/ns", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return {kind: os.readlink(kind, dir_fd=folder)[len(kind) + 2 : -1] for kind in kinds}
    finally:
        os.close(folder)


def write_text(path: str, text: str) -> None:
    """Write a control file in one call, as the kernel wants it. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def started_at(pid: int) -> int:
    """When a process was started, in clock ticks since the boot; -1 for one that has ended, reaped or not."""
    try:
        words = read_record(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return -1
    return -1 if words[0] in "ZX" else int(words[19])

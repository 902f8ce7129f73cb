"""The tracer of one run that is to be explained: a process outside the sandbox that sees each answer of the kernel.

It stops the payload at every system call, lets each go on as it was, and notes which ones that name files were
refused. What was asked for is read from the payload's memory after the kernel has answered: another thread may have
changed it since, so a note is evidence of what the program did, and nothing is decided by it. Descriptors: 0 becomes
readable when the payload is watched, 1 is the log, a memory file with one JSON object a line. It ends with the last
traced process, or with the fork server; the payload ends with it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import posixpath
from collections.abc import Iterator

from skillkeep.kernel import capabilities, process, ptrace
from skillkeep.kernel.calls import AF_INET, AF_INET6, AF_UNIX
from skillkeep.kernel.confine import worker_rules
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.rlimits import NO_CORE_DUMP, set_limits
from skillkeep.kernel.seccomp import ALLOW, Filter
from skillkeep.kernel.syscalls import table
from skillkeep.runner.native.filters import payload_filter
from skillkeep.runner.native.path_calls import CALLS, OF_DESCRIPTORS, PathCall, Want, wanted
from skillkeep.runner.native.refusals import Inside, refuser

__all__ = ["main"]

_ALL_THREADS = 0x4000_0000  # __WALL
_LONGEST_PATH = 4096
_PAGE = 4096
_MOST_SHOWN = 200
_MOST_NOTES = 64
_OPEN_FILES = 64
_AT_FDCWD = 0xFFFFFF9C
_ANSWERS = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR),
    *(errno.EMFILE, errno.EFBIG, errno.ENOSPC, errno.EDQUOT),
    *(errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ECONNREFUSED),
)
_LOOPBACK = ("127.", "::1")


def main(parent: int, payload: int, network: bool) -> int:
    """Watch `payload`, a host pid that waits for its word, for the fork server `parent`."""
    _confine(parent)
    ptrace.seize(payload)
    ptrace.interrupt(payload)
    os.write(0, b"watching")
    os.close(0)
    _Tracer(network).follow()
    return 0


def _confine(parent: int) -> None:
    """Keep what looking takes, for good: no program, no file to write, no network. Raises KernelError.

    No Landlock: whoever is bound by it may trace nobody outside.
    """
    process.require_single_thread()
    process.close_above(2)
    process.die_with_parent(parent)
    process.forbid_new_privileges()
    process.hide_memory()
    set_limits({"core": NO_CORE_DUMP, "open_files": _OPEN_FILES, "queues": 0})
    if capabilities.sets()["CapPrm"]:
        capabilities.keep_only((capabilities.CAP_DAC_READ_SEARCH, capabilities.CAP_SYS_PTRACE))
    rules = worker_rules(network=False, programs=False, writes=False, signals_scoped=False)
    Filter({**rules, "ptrace": ALLOW, "openat2": ALLOW}).install()


class _Tracer:
    """Sees every system call of the traced threads, and notes each refusal once."""

    def __init__(self, network: bool) -> None:
        self._names = {number: name for name, number in table().items() if name in CALLS or name in OF_DESCRIPTORS}
        self._filter = payload_filter(network)
        self._under_way: dict[int, ptrace.Call] = {}
        self._noted: set[str] = set()

    def follow(self) -> None:
        """Until nobody is left."""
        while True:
            try:
                thread, status = os.waitpid(-1, _ALL_THREADS)
            except ChildProcessError:
                return
            if not os.WIFSTOPPED(status):
                self._under_way.pop(thread, None)
                continue
            with contextlib.suppress(KernelError):  # it was killed meanwhile
                self._stopped(thread, ptrace.stop_of(status))

    def _stopped(self, thread: int, stop: ptrace.Stop) -> None:
        if stop.group:
            ptrace.wait_on(thread)
            return
        if stop.at_call:
            self._at_call(thread)
        ptrace.go_on(thread, stop.signal)

    def _at_call(self, thread: int) -> None:
        found = ptrace.call_at(thread)
        if isinstance(found, ptrace.Call):
            self._under_way[thread] = found
            return
        call = self._under_way.pop(thread, None)
        if call is not None and found is not None and call.number in self._names and -found.value in _ANSWERS:
            self._refused(thread, self._names[call.number], call.arguments, -found.value)

    def _refused(self, thread: int, name: str, words: tuple[int, ...], number: int) -> None:
        if len(self._noted) >= _MOST_NOTES or self._filter.decide(name, words) != ALLOW:
            return  # there is no room for more; or it is told by the filter's own notices
        with contextlib.suppress(OSError, KernelError, ValueError, OverflowError, IndexError):
            for note in self._notes(thread, name, words, number):
                wish = {"wish": Want.WRITE.value} if "open" in name and note["wish"] == Want.MAKE.value else {}
                self._note({"call": name, "errno": number, **note, **wish})

    def _notes(self, thread: int, name: str, words: tuple[int, ...], number: int) -> Iterator[dict[str, object]]:
        inside = Inside(thread)
        if name in OF_DESCRIPTORS:
            path = os.readlink(f"/proc/{thread}/fd/{words[OF_DESCRIPTORS[name]]}")
            yield from _as_note(inside, [path], Want.WRITE, number)
        elif name == "connect":
            yield from _of_address(inside, _memory(thread, words[1], min(words[2], 128)), number)
        else:
            call = CALLS[name]
            paths = [_path(thread, words, folder, at) for folder, at in call.paths]
            yield from _as_note(inside, paths, wanted(call, _flags(thread, name, call, words)), number)

    def _note(self, note: dict[str, object]) -> None:
        line = json.dumps(note)
        if line not in self._noted and len(self._noted) < _MOST_NOTES:
            self._noted.add(line)
            os.write(1, line.encode() + b"\n")


def _flags(thread: int, name: str, call: PathCall, words: tuple[int, ...]) -> int:
    if name == "openat2":
        return int.from_bytes(_memory(thread, words[2], 8), "little")
    return 0 if call.extra is None else words[call.extra] & 0xFFFFFFFF


def _as_note(inside: Inside, paths: list[str], want: Want, number: int) -> Iterator[dict[str, object]]:
    """What refused the first of `paths` that something did."""
    for path in paths:
        if path.startswith("/") and (found := refuser(inside, path, want, number)) is not None:
            shown = path if len(path) <= _MOST_SHOWN else f"{path[:_MOST_SHOWN]}..."
            text = os.fsencode(shown).decode("utf-8", "backslashreplace")
            yield {"wish": want.value, "path": text, "layer": found[0], "why": found[1]}
            return


def _of_address(inside: Inside, address: bytes, number: int) -> Iterator[dict[str, object]]:
    """A place that a socket was to be connected to: struct sockaddr_un, sockaddr_in, sockaddr_in6."""
    family = int.from_bytes(address[:2], "little")
    if family == AF_UNIX:
        yield from _as_note(inside, [os.fsdecode(address[2:].partition(b"\0")[0])], Want.CONNECT, number)
    elif family in (AF_INET, AF_INET6):
        from ipaddress import IPv4Address, IPv6Address

        port = int.from_bytes(address[2:4], "big")
        host = str(IPv4Address(address[4:8]) if family == AF_INET else IPv6Address(address[8:24]))
        if number == errno.ECONNREFUSED and not host.startswith(_LOOPBACK):
            return
        layer = "landlock" if number in (errno.EACCES, errno.EPERM) else "namespaces"
        why = "its network is its own: granted places are reached through the proxy alone"
        yield {"wish": Want.CONNECT.value, "place": [host, port], "layer": layer, "why": why}


def _path(thread: int, words: tuple[int, ...], folder: int | None, at: int) -> str:
    """An absolute path as the thread meant it, links in it not followed. Raises OSError, ValueError."""
    path = os.fsdecode(_memory(thread, words[at], _LONGEST_PATH, text=True).partition(b"\0")[0])
    if not path.startswith("/"):
        number = _AT_FDCWD if folder is None else words[folder] & 0xFFFFFFFF
        link = "cwd" if number == _AT_FDCWD else f"fd/{number}"
        path = f"{os.readlink(f'/proc/{thread}/{link}')}/{path}"
    return posixpath.normpath(path)


def _memory(thread: int, address: int, size: int, *, text: bool = False) -> bytes:
    """At most `size` bytes at `address`; fewer behind the end of a `text`, or of what can be read. Raises OSError."""
    found = b""
    with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
        while size > 0:
            piece = min(size, _PAGE - address % _PAGE)
            try:
                data = os.pread(memory.fileno(), piece, address)
            except OSError:
                if not found:
                    raise
                break
            found += data
            if (text and b"\0" in data) or len(data) < piece:
                break
            address, size = address + piece, size - piece
    return found

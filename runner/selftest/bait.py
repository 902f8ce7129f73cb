"""What the attacks look for on the host: files, services, a process and a secret, made for one selftest and removed."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import secrets
import select
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillkeep.kernel.syscalls import table
from skillkeep.scratch import hold, sweep

__all__ = ["Bait", "laid_out"]

_VARIABLE = "SELFTEST_CANARY"
_PREFIX = "skillkeep-selftest-"
_SHARED = "/dev/shm"  # noqa: S108
_IPC_CREATE, _IPC_REMOVE = 0o1000, 0
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WORLD_READS, _WORLD_WRITES = 0o755, 0o777


@dataclass(frozen=True)
class Bait:
    """`facts` is what the attacks are told; `tool` is to be shown read-only, `grant` writable, `spare` is open."""

    folder: Path
    facts: dict[str, Any]

    @property
    def tool(self) -> Path:
        """A folder with one file, as a tool's tree."""
        return self.folder / "tool"

    @property
    def grant(self) -> Path:
        """A folder that a payload of any user may write, where only its owner can get to it from outside."""
        return self.folder / "private" / "grant"

    def grant_of(self, name: str) -> Path:
        """A writable folder for one attack alone."""
        folder = self.grant / name
        folder.mkdir(exist_ok=True)
        folder.chmod(_WORLD_WRITES)
        return folder

    def for_inside(self, **more: Any) -> dict[str, Any]:
        """The facts as they are where the tool is at /tool and the grant at /grant."""
        return {**self.facts, "tool": "/tool", "writable": "/grant", **more}


@contextlib.contextmanager
def laid_out(user: int | None = None) -> Iterator[Bait]:
    """Lay everything out; `user` is whose process the victim is, by default the caller's. Removed afterwards.

    What a killed selftest left is removed before.
    """
    room = tempfile.gettempdir()
    sweep(room, _PREFIX)
    with contextlib.ExitStack() as stack:
        while (lock := hold(made := tempfile.mkdtemp(prefix=_PREFIX, dir=room))) is None:
            pass
        stack.callback(os.close, lock)
        folder = Path(made)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        facts = _files(folder, user)
        facts |= _services(stack, folder)
        facts |= _shared_memory(stack)
        facts |= _victim(stack, user)
        facts |= _secret(stack)
        stack.callback(os.close, _leaking_descriptor(folder))
        yield Bait(folder, facts)


def _files(folder: Path, user: int | None) -> dict[str, Any]:
    canary = secrets.token_hex(12)
    folder.chmod(_WORLD_READS)
    for name, mode in (("tool", _WORLD_READS), ("private", 0o700), ("private/grant", _WORLD_WRITES)):
        (folder / name).mkdir()
        (folder / name).chmod(mode)
    (folder / "tool" / "file").write_text("a file of the tool\n")
    (folder / "canary").write_text(canary)
    if user is not None:
        for path in (folder / "tool", folder / "tool" / "file", folder / "private"):
            os.chown(path, user, user)
    return {
        "canary": canary,
        "canary_path": str(folder / "canary"),
        "tool": str(folder / "tool"),
        "writable": str(folder / "private" / "grant"),
        "home": _home(),
        "hostname": socket.gethostname(),
        "calls": table(),
        "tmp_bytes": 64 << 20,
        "open_files": 1024,
        "image_folders": [],
        "host_session": os.getsid(0),
    }


def _home() -> str:
    """The caller's home; none where that is a folder of which every sandbox has its own."""
    home = str(Path.home())
    return "/nonexistent" if home in ("/", "/tmp", "/var/tmp", "/dev/shm") else home  # noqa: S108


def _services(stack: contextlib.ExitStack, folder: Path) -> dict[str, Any]:
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    name = _PREFIX + secrets.token_hex(8)
    abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
    abstract.bind("\0" + name)
    abstract.listen(64)
    by_path = stack.enter_context(socket.socket(socket.AF_UNIX))
    by_path.bind(str(folder / "socket"))
    (folder / "socket").chmod(_WORLD_WRITES)
    by_path.listen(64)
    granted = stack.enter_context(socket.socket(socket.AF_UNIX))
    granted.bind(str(folder / "private" / "grant" / "socket"))
    (folder / "private" / "grant" / "socket").chmod(_WORLD_WRITES)
    granted.listen(64)
    wake = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    thread = threading.Thread(target=_echo, args=(udp, wake), daemon=True)
    wake.bind(("127.0.0.1", 0))
    stack.callback(_end, thread, wake)  # in one: who is told to end between two would wait for an echo that nobody ends
    thread.start()
    return {
        "tcp_port": tcp.getsockname()[1],
        "udp_port": udp.getsockname()[1],
        "abstract": name,
        "socket_path": str(folder / "socket"),
    }


def _echo(udp: socket.socket, wake: socket.socket) -> None:
    while wake not in (ready := select.select([udp, wake], [], [])[0]):
        if udp in ready:
            data, sender = udp.recvfrom(100)
            udp.sendto(data, sender)


def _end(thread: threading.Thread, wake: socket.socket) -> None:
    """End the echo, if it has begun."""
    if thread.ident is not None:
        wake.sendto(b"end", wake.getsockname())
        thread.join()


def _shared_memory(stack: contextlib.ExitStack) -> dict[str, Any]:
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x5E000000 | secrets.randbits(24)
    segment = libc.shmget(key, 4096, _IPC_CREATE | 0o666)
    if segment >= 0:
        stack.callback(libc.shmctl, segment, _IPC_REMOVE, None)
    name = _PREFIX + secrets.token_hex(8)
    with contextlib.suppress(OSError):
        _sweep_shared()
        path = Path(_SHARED, name)
        stack.callback(path.unlink, missing_ok=True)  # before it is there: who is told to end meanwhile leaves nothing
        stack.callback(os.close, _held(path))
    return {"ipc_key": key, "shm_name": name}


def _held(path: Path) -> int:
    """A new file at `path`, held by a lock which ends with this process; made again when a sweep was quicker."""
    while True:
        fd = os.open(path, _FILE | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _is_at(path, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _sweep_shared() -> None:
    """Remove the files of this user's killed selftests."""
    for path in Path(_SHARED).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            _remove_left(path)


def _remove_left(path: Path) -> None:
    fd = os.open(path, _FILE)
    try:
        if os.fstat(fd).st_uid == os.geteuid():
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, fd):  # else another sweep removed it, and what is there now is somebody's
                os.unlink(path)
    finally:
        os.close(fd)


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def _victim(stack: contextlib.ExitStack, user: int | None) -> dict[str, Any]:
    """A process that waits for the end of its input and does nothing else."""
    mark = _PREFIX + secrets.token_hex(8)
    process = stack.enter_context(
        subprocess.Popen(["/bin/sh", "-c", "read x; :", mark], stdin=subprocess.PIPE, env={}, user=user, cwd="/")
    )
    return {"mark": mark, "host_pid": process.pid}


def _secret(stack: contextlib.ExitStack) -> dict[str, Any]:
    value = secrets.token_hex(12)
    os.environ[_VARIABLE] = value
    stack.callback(os.environ.pop, _VARIABLE, None)
    return {"secret": value}


def _leaking_descriptor(folder: Path) -> int:
    """A folder of the host, open and inheritable, as a careless caller has it."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    os.set_inheritable(fd, True)
    return fd

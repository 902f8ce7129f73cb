"""A worker job that tries what a confined worker must not manage; `doctor` and the tests ask it.

Each attempt is harmless where confinement is missing: it reads, connects and opens, and undoes what it made.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from typing import Any

__all__ = ["attempt"]


def attempt(request: dict[str, Any]) -> dict[str, Any]:
    """Try ``[["read", path], ["write", path], ["connect", port], …]``.

    Returns ``{"outcomes": [...]}`` in the same order: ``done``, or the errno's name such as ``EACCES``. The kinds are
    read, list, write, connect, udp, unix, run, fork, thread, memory, spin, leave (the process
    group), env, die and babble.
    """
    return {"outcomes": [_try(kind, argument) for kind, argument in request["attempts"]]}


def _try(kind: str, argument: Any) -> str:
    try:
        _ATTEMPTS[kind](argument)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    except MemoryError:
        return "ENOMEM"
    return "done"


def _read(path: str) -> None:
    with open(path, "rb") as stream:
        stream.read(1)


def _list(path: str) -> None:
    os.listdir(path)


def _write(path: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.close(fd)


def _connect(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=2):
        pass


def _udp(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))


def _unix(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def _run(program: str) -> None:
    subprocess.run([program], check=True, timeout=10)


def _fork(_: Any) -> None:
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)


def _thread(_: Any) -> None:
    import threading

    worker = threading.Thread(target=len, args=("",))
    worker.start()
    worker.join()


def _memory(size: int) -> None:
    bytearray(size)


def _spin(_: Any) -> None:
    while True:
        pass


def _leave(_: Any) -> None:
    subprocess.run(["/bin/true"], check=True, timeout=10, start_new_session=True)


def _env(name: str) -> None:
    if name not in os.environ:
        raise OSError(errno.ENOENT, name)


def _die(number: int) -> None:
    os.kill(os.getpid(), number or signal.SIGKILL)


def _babble(size: int) -> None:
    os.write(1, b"\xff{not json\n" * (size // 11))


_ATTEMPTS: dict[str, Callable[[Any], None]] = {
    "read": _read,
    "list": _list,
    "write": _write,
    "connect": _connect,
    "udp": _udp,
    "unix": _unix,
    "run": _run,
    "fork": _fork,
    "thread": _thread,
    "memory": _memory,
    "spin": _spin,
    "leave": _leave,
    "env": _env,
    "die": _die,
    "babble": _babble,
}

"""Registers attacks and carries them out, each in a process of its own.

An attack is a function that returns what happened. None of them does harm where it succeeds: they write a value that
is there already, name things that do not exist, or stop at the first byte.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["ABSENT", "ATTACKS", "CLOSED", "OPEN", "Answer", "Attack", "attack", "call", "closed", "facts", "main"]
__all__ += ["opened", "register", "tried"]

OPEN, CLOSED, ABSENT = "open", "closed", "absent"
Answer = tuple[str, str]
"""A verdict and what was seen. `ABSENT`: the mechanism does not exist on this machine, so nothing can be said."""
_SECONDS = 10.0
_MOST_BYTES = 4096
_REFUSALS = ("EPERM", "EACCES", "ENOSYS", "EROFS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "ENOENT")

facts: dict[str, Any] = {}
"""What the outside says about itself: numbers of system calls, names and values to look for."""


class Attack(NamedTuple):
    """One attack. `control` says who can do it without a sandbox: ``anyone``, ``root``, or ``none``.

    What is ``none`` is not to be tried outside a sandbox: it cannot work there, says nothing, or would do harm.

    `intended` gives, by backend, ``engine`` (a container under the engine's own filter) or ``*``, the reason why it may
    succeed there.
    """

    name: str
    area: str
    title: str
    run: Callable[[], Answer]
    control: str
    intended: Mapping[str, str]


ATTACKS: dict[str, Attack] = {}


def register(
    name: str,
    area: str,
    title: str,
    run: Callable[[], Answer],
    control: str = "anyone",
    intended: Mapping[str, str] | None = None,
) -> None:
    """Add an attack; names are unique."""
    if name in ATTACKS:
        raise ValueError("two attacks named " + name)
    ATTACKS[name] = Attack(name, area, title, run, control, intended or {})


def attack(
    area: str,
    title: str,
    control: str = "anyone",
    intended: Mapping[str, str] | None = None,
) -> Callable[[Callable[[], Answer]], Callable[[], Answer]]:
    """Decorator: the function is an attack of its own name."""

    def keep(run: Callable[[], Answer]) -> Callable[[], Answer]:
        register(run.__name__, area, title, run, control, intended)
        return run

    return keep


def opened(detail: object) -> Answer:
    """It worked."""
    return OPEN, str(detail)


def closed(detail: object) -> Answer:
    """It was refused."""
    return CLOSED, str(detail)


def tried(what: Callable[[], object], refusals: tuple[str, ...] = _REFUSALS) -> Answer:
    """Open unless `what` fails with one of `refusals`: another error means that the request was understood."""
    try:
        return opened(repr(what())[:200])
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, str(error.errno))
        return closed(name) if name in refusals else opened(name)


def call(name: str, *arguments: object) -> str:
    """The errno's name that a system call ends with, or ``done``. Raises KeyError where it has no number."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    number = facts["calls"][name] if name in facts["calls"] else int(name, 0)
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *words)
    if result != -1:
        return "done"
    return errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))


def main(names: list[str]) -> None:
    """Carry the named attacks out and print one JSON line for each: its name, verdict and detail."""
    for name in names:
        verdict, detail = _alone(ATTACKS[name])
        sys.stdout.write(json.dumps([name, verdict, detail[:300]]) + "\n")
        sys.stdout.flush()


def _alone(one: Attack) -> Answer:
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _carry_out(one, theirs)
    os.close(theirs)
    text, late = _read(ours), False
    if text is None:
        late, text = True, b""
    os.close(ours)
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if text:
        answer: Answer = tuple(json.loads(text.decode()))
        return answer
    if late:
        return closed(f"no answer within {_SECONDS} s")
    return closed(f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended")


def _carry_out(one: Attack, out: int) -> None:
    try:
        answer = one.run()
    except KeyError as error:
        answer = (ABSENT, "there is no " + str(error))
    except OSError as error:
        answer = closed(errno.errorcode.get(error.errno or 0, str(error)))
    except BaseException as error:
        answer = (ABSENT, type(error).__name__ + ": " + str(error))
    os.write(out, json.dumps(answer).encode()[:_MOST_BYTES])
    os._exit(0)


def _read(fd: int) -> bytes | None:
    """What the child said, None when it said nothing in time."""
    ready = select.select([fd], [], [], _SECONDS)[0]
    return os.read(fd, _MOST_BYTES) if ready else None

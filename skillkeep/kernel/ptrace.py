"""Watching a process's system calls from outside (ptrace(2)): what it asked for, and what the kernel answered.

Every function raises KernelError("trace") when the kernel refuses; ESRCH means that the thread has been killed.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass

from skillkeep.kernel.libc import syscall

__all__ = ["Call", "Return", "Stop", "call_at", "go_on", "interrupt", "made_thread", "seize", "stop_of", "wait_on"]

LAYER = "trace"
_SYSCALL, _EVENT_MESSAGE, _SEIZE, _INTERRUPT, _LISTEN, _INFO = 24, 0x4201, 0x4206, 0x4207, 0x4208, 0x420E
_NEW_THREADS = 0x2 | 0x4 | 0x8  # PTRACE_O_TRACEFORK, TRACEVFORK, TRACECLONE
_OPTIONS = 0x1 | _NEW_THREADS | 0x10 | 0x100000  # PTRACE_O_TRACESYSGOOD, TRACEEXEC, EXITKILL
_TRAP, _MARKED_TRAP = 5, 5 | 0x80
_STOPPING = (19, 20, 21, 22)  # SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU
_EVENT_STOP = 128
_ENTRY, _EXIT = 1, 2
_HEAD, _ENTERED, _LEFT = struct.Struct("=BxxxIQQ"), struct.Struct("=7Q"), struct.Struct("=qB")


@dataclass(frozen=True)
class Call:
    """A system call that is about to be made."""

    number: int
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class Return:
    """A system call's result; -errno when it failed."""

    value: int


@dataclass(frozen=True)
class Stop:
    """Why a thread stopped: at a system call, with an event of the tracer's (0: none), or for a `signal` to pass on.

    `group`: all of its process stops, and is to stay so.
    """

    at_call: bool = False
    event: int = 0
    signal: int = 0
    group: bool = False

    @property
    def made_thread(self) -> bool:
        """Whether it has just made another thread or process, which is traced as well."""
        return self.event in (1, 2, 3)


def seize(pid: int) -> None:
    """Trace `pid` and all that it makes from now on; all are killed when this process ends."""
    syscall(LAYER, "ptrace", _SEIZE, pid, 0, _OPTIONS)


def interrupt(pid: int) -> None:
    """Stop a traced thread; a system call in which it waits goes on afterwards as if nothing had been."""
    syscall(LAYER, "ptrace", _INTERRUPT, pid, 0, 0)


def stop_of(status: int) -> Stop:
    """What the wait status of a stopped thread says."""
    signal, event = (status >> 8) & 0xFF, status >> 16
    if signal == _MARKED_TRAP:
        return Stop(at_call=True)
    if event == _EVENT_STOP:
        return Stop(event=event, group=signal in _STOPPING)
    return Stop(event=event) if event else Stop(signal=signal)


def go_on(pid: int, signal: int = 0) -> None:
    """Let a stopped thread run to its next system call, with `signal` delivered."""
    syscall(LAYER, "ptrace", _SYSCALL, pid, 0, signal)


def wait_on(pid: int) -> None:
    """Leave a thread stopped with its group until that goes on."""
    syscall(LAYER, "ptrace", _LISTEN, pid, 0, 0)


def made_thread(pid: int) -> int:
    """The thread that `pid` has just made."""
    number = (ctypes.c_char * 8)()
    syscall(LAYER, "ptrace", _EVENT_MESSAGE, pid, 0, number)
    return int.from_bytes(bytes(number), "little")


def call_at(pid: int) -> Call | Return | None:
    """The system call at which `pid` has stopped, before or after it; None at neither (Linux 5.3 on)."""
    room = (ctypes.c_char * 88)()
    syscall(LAYER, "ptrace", _INFO, pid, len(room), room)
    data = bytes(room)
    what = _HEAD.unpack_from(data)[0]
    if what == _ENTRY:
        number, *arguments = _ENTERED.unpack_from(data, _HEAD.size)
        return Call(number, tuple(arguments))
    return Return(_LEFT.unpack_from(data, _HEAD.size)[0]) if what == _EXIT else None

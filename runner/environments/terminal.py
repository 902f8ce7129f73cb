"""A terminal between a person and a command in an environment: a pair of its own, so that the person's is never inside.

What the command does to its terminal (typing into it, settings, other tricks) ends at the pair. The person's terminal
is raw meanwhile: Ctrl-C reaches the command's foreground processes as the key it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import termios
import time
import tty
from collections.abc import Iterator
from types import FrameType

from skillkeep.runner.environments.enter import Entered
from skillkeep.runner.environments.environment import Environment
from skillkeep.runner.environments.prepare import Command

__all__ = ["run_at_terminal"]

_CHUNK = 1 << 16
_WINDOW = struct.Struct("4H")
_NO_WINDOW = _WINDOW.pack(0, 0, 0, 0)
_LONGEST_SECONDS, _LONGEST_WAIT = 1e8, 3600.0
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run_at_terminal(
    environment: Environment, command: Command, keys: int, screen: int, seconds: float | None = None
) -> int | None:
    """Run `command` with a terminal of its own joined to the descriptors `keys` and `screen`; its wait status.

    After `seconds` it is killed.
    SIGTERM and SIGHUP of this process end the command. Must be called in the main thread. Raises RunnerError.
    """
    ours, theirs = os.openpty()
    try:
        _copy_window(keys, ours)
        _copy_settings(keys, theirs)
        entered = environment.enter(command, (theirs, theirs, theirs))
        os.close(theirs)
        theirs = -1
        with _raw(keys), _signals(keys, ours) as woken:
            deadline = time.monotonic() + (seconds or _LONGEST_SECONDS)
            _join(entered, ours, (keys, screen, woken), deadline)
        return environment.finish(entered)[0]
    finally:
        for fd in (ours, theirs):
            if fd >= 0:
                os.close(fd)


def _join(entered: Entered, ours: int, others: tuple[int, int, int], deadline: float) -> None:
    """Move bytes both ways until the command has ended; a byte of the third of `others` is a signal to end it."""
    keys, screen, woken = others
    poll = select.poll()
    for fd in (ours, keys, woken, entered.pidfd):
        poll.register(fd, select.POLLIN)
    os.set_blocking(ours, False)
    typed, quiet = b"", False
    while True:
        if not quiet:
            poll.modify(ours, select.POLLIN | (select.POLLOUT if typed else 0))
        left = deadline - time.monotonic()
        if left <= 0:
            entered.kill()
        events = dict(poll.poll(1000 * min(max(left, 0.05), _LONGEST_WAIT)))
        if keys in events:
            typed += _typed(keys, poll)
        if woken in events and os.read(woken, _CHUNK).strip(bytes((signal.SIGWINCH,))):
            entered.kill()
        if events.get(ours, 0) & select.POLLIN or entered.pidfd in events:
            _show(ours, screen)
        elif events.get(ours, 0) & (select.POLLHUP | select.POLLERR):
            poll.unregister(ours)  # every process has closed its terminal
            quiet = True
        if entered.pidfd in events:
            return
        if typed and not quiet:
            with contextlib.suppress(OSError):  # full, or nobody reads any more
                typed = typed[os.write(ours, typed) :]


def _typed(keys: int, poll: select.poll) -> bytes:
    """What the person typed; the end of the person's input is the command's."""
    data = os.read(keys, _CHUNK)
    if not data:
        poll.unregister(keys)
    return data or b"\x04"


def _show(ours: int, screen: int) -> None:
    """Write to the person's terminal what is there."""
    while True:
        try:
            data = os.read(ours, _CHUNK)
        except OSError:
            return
        if not data:
            return
        view = memoryview(data)
        while view:
            view = view[os.write(screen, view) :]


@contextlib.contextmanager
def _raw(keys: int) -> Iterator[None]:
    """The person's terminal passes every key on; afterwards it is as it was."""
    before = termios.tcgetattr(keys)
    tty.setraw(keys, termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _signals(keys: int, ours: int) -> Iterator[int]:
    """A descriptor that gets the number of each signal; a changed window is passed on at once."""
    woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def window(number: int, frame: FrameType | None) -> None:
        _copy_window(keys, ours)

    def end(number: int, frame: FrameType | None) -> None:
        """The wake-up descriptor tells the loop."""

    before = {number: signal.signal(number, end) for number in _ENDING}
    before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, window)
    previous = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        yield woken
    finally:
        signal.set_wakeup_fd(previous)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(woken)
        os.close(wake)


def _copy_window(source: int, target: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, _NO_WINDOW))


def _copy_settings(source: int, target: int) -> None:
    with contextlib.suppress(OSError, termios.error):
        termios.tcsetattr(target, termios.TCSANOW, termios.tcgetattr(source))

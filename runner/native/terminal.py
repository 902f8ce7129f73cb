"""A terminal between a person and a command inside: a pair of its own, so that the person's is never in there.

What the command does to its terminal (typing into it, settings, other tricks) ends at the pair. The person's terminal
is raw meanwhile: Ctrl-C reaches the command's foreground processes as the key it is. Of what comes out is shown what a
program needs that fills a screen, and no more (`screen`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from skillkeep.runner.native.screen import Screen

__all__ = ["Terminal", "terminal_kind"]

_CHUNK = 1 << 16
_WINDOW = struct.Struct("4H")
_NO_WINDOW = _WINDOW.pack(0, 0, 0, 0)
_LONGEST_WAIT = 3600.0
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_GUARDING = 'trap "" HUP INT QUIT TERM TTOU; read -r word <&1 || stty "$0"'
_OUTLIVED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTTOU)
_KIND = re.compile(r"[A-Za-z0-9._+-]{1,64}\Z")


class Ending(Protocol):
    """What runs at a terminal: `pidfd` becomes readable when it has ended."""

    @property
    def pidfd(self) -> int: ...

    def kill(self) -> None: ...


def terminal_kind() -> str:
    """The TERM of this process, ``dumb`` where it is none."""
    kind = os.environ.get("TERM", "")
    return kind if _KIND.match(kind) else "dumb"


@dataclass(frozen=True)
class Terminal:
    """A person's terminal: descriptors to read keys from and to show on. To be used in the main thread alone."""

    keys: int
    screen: int

    @contextlib.contextmanager
    def pair(self) -> Iterator[Pair]:
        """A new pair that looks like this terminal."""
        made = Pair(*os.openpty())
        try:
            _copy_window(self.keys, made.ours)
            _copy_settings(self.keys, made.theirs)
            yield made
        finally:
            made.close()

    def join(self, pair: Pair, ending: Ending, deadline: float = float("inf"), holder: int = -1) -> bool:
        """Serve the command at `pair` until it has ended; False when it was killed at `deadline` (monotonic seconds).

        It is killed, too, by SIGTERM, SIGHUP, SIGINT and SIGQUIT of this process, and when `holder` can be read: what
        it runs in has ended.
        """
        screen = Screen()
        with _raw(self.keys), _signals(self.keys, pair.ours) as woken:
            try:
                return _join(ending, pair.ours, (self.keys, self.screen, woken, holder), deadline, screen)
            finally:
                with contextlib.suppress(OSError):  # it may be gone
                    _write(self.screen, screen.restored())


class Pair:
    """Two ends of a terminal; `theirs` is the command's."""

    def __init__(self, ours: int, theirs: int) -> None:
        self.ours, self.theirs = ours, theirs
        self._open = {ours, theirs}

    def give(self) -> None:
        """The command has its end."""
        self._open.discard(self.theirs)
        os.close(self.theirs)

    def close(self) -> None:
        """Close what is open."""
        while self._open:
            os.close(self._open.pop())


def _join(ending: Ending, ours: int, others: tuple[int, int, int, int], deadline: float, filtered: Screen) -> bool:
    """Move bytes both ways until the command has ended; False at `deadline`.

    A byte of the third of `others` is a signal to end it, and so is anything of the fourth.
    """
    keys, screen, woken, holder = others
    poll = select.poll()
    for fd in (ours, keys, woken, ending.pidfd, *([holder] if holder >= 0 else ())):
        poll.register(fd, select.POLLIN)
    os.set_blocking(ours, False)
    typed, quiet, in_time = b"", False, True
    while True:
        if not quiet:
            poll.modify(ours, select.POLLIN | (select.POLLOUT if typed else 0))
        left = deadline - time.monotonic()
        if left <= 0:
            in_time = False
            ending.kill()
        events = dict(poll.poll(1000 * min(max(left, 0.05), _LONGEST_WAIT)))
        if keys in events:
            typed += _typed(keys, poll)
        if woken in events and os.read(woken, _CHUNK).strip(bytes((signal.SIGWINCH,))):
            ending.kill()
        if holder in events:
            poll.unregister(holder)
            ending.kill()
        if events.get(ours, 0) & select.POLLIN or ending.pidfd in events:
            _show(ours, screen, filtered)
        elif events.get(ours, 0) & (select.POLLHUP | select.POLLERR):
            poll.unregister(ours)  # every process has closed its terminal
            quiet = True
        if ending.pidfd in events:
            return in_time
        if typed and not quiet:
            with contextlib.suppress(OSError):  # full, or nobody reads any more
                typed = typed[os.write(ours, typed) :]


def _typed(keys: int, poll: select.poll) -> bytes:
    """What the person typed; the end of the person's input is the command's."""
    data = os.read(keys, _CHUNK)
    if not data:
        poll.unregister(keys)
    return data or b"\x04"


def _show(ours: int, screen: int, filtered: Screen) -> None:
    """Write to the person's terminal what is there and may be shown."""
    while True:
        try:
            data = os.read(ours, _CHUNK)
        except OSError:
            return
        if not data:
            return
        _write(screen, filtered.shown(data))


def _write(screen: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(screen, view) :]


@contextlib.contextmanager
def _raw(keys: int) -> Iterator[None]:
    """The person's terminal passes every key on; afterwards it is as it was.

    What was typed and not passed on is dropped: an answer that the command had the terminal give would be typed into
    the person's shell.
    """
    before = termios.tcgetattr(keys)
    with _guard(keys):
        tty.setraw(keys, termios.TCSANOW)
        try:
            yield
        finally:
            termios.tcsetattr(keys, termios.TCSAFLUSH, before)


@contextlib.contextmanager
def _guard(keys: int) -> Iterator[None]:
    """A shell that waits for the end of this process, and restores the terminal where SIGKILL was that end."""
    heard, told = os.pipe2(os.O_CLOEXEC)
    guard = None
    try:
        with contextlib.suppress(OSError, subprocess.SubprocessError):  # without stty(1) nothing is restored
            asked = subprocess.run(["stty", "-g"], stdin=keys, capture_output=True, check=True)
            words = ["sh", "-c", _GUARDING, asked.stdout.strip().decode()]
            # A session's end is told to all at its terminal by SIGHUP, maybe before the shell has got to trap it.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _OUTLIVED)
            try:
                guard = subprocess.Popen(words, stdin=keys, stdout=heard, stderr=-3)  # dash reads from 0 to 9
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(heard)
        heard = -1
        yield
        if guard is not None:
            os.write(told, b"done\n")
    finally:
        for fd in (heard, told):
            if fd >= 0:
                os.close(fd)
        if guard is not None:
            guard.wait()


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

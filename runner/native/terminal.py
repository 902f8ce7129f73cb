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

from skillkeep.runner.native.outlet import Outlet
from skillkeep.runner.native.screen import Screen

__all__ = ["Terminal", "terminal_kind"]

_CHUNK = 1 << 16
_WINDOW = struct.Struct("4H")
_NO_WINDOW = _WINDOW.pack(0, 0, 0, 0)
_LONGEST_WAIT = 3600.0
_LAST_SECONDS = 2.0
_LARGEST_REST = 1 << 17
"""More than a terminal holds of what was written to it and not read (64 KiB, and 4 KiB in its line discipline)."""
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
        it runs in has ended. A terminal that takes what is shown slowly, or not at all, holds none of that up; when the
        command has ended the rest is shown while there is time, and for two seconds after one of these. What is not
        shown by then is lost, at the deadline as if the command had been killed.
        """
        screen = Screen()
        with _raw(self.keys), _signals(self.keys, pair.ours) as woken, _another(self.screen) as shown:
            outlet = Outlet(shown)
            try:
                return _Joint(ending, pair.ours, outlet, screen).serve(self.keys, woken, holder, deadline)
            finally:
                with contextlib.suppress(OSError):  # it may be gone
                    outlet.put(screen.restored())
                    outlet.finish(time.monotonic() + _LAST_SECONDS)


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


class _Joint:
    """Moves bytes both ways, a piece at a time: between two pieces the time, the signals and the keys are looked at."""

    def __init__(self, ending: Ending, ours: int, screen: Outlet, filtered: Screen) -> None:
        self._ending, self._ours, self._screen, self._filtered = ending, ours, screen, filtered
        self._poll = select.poll()
        self._polled: dict[int, int] = {}
        self._typed = b""
        self._closed = self._over = False
        self._told = float("inf")
        self._rest = _LARGEST_REST
        os.set_blocking(ours, False)

    def serve(self, keys: int, woken: int, holder: int, deadline: float) -> bool:
        """`Terminal.join`. A byte of `woken` is a signal to end the command, and so is anything of `holder`."""
        for fd in (keys, woken, self._ending.pidfd, *([holder] if holder >= 0 else ())):
            self._want(fd, select.POLLIN)
        in_time = True
        while not (self._over and self._is_done(min(deadline, self._told) + _LAST_SECONDS)):
            if not self._over and time.monotonic() >= deadline:
                in_time = False
                self._ending.kill()
            self._arrange()
            events = self._wait(deadline)
            if keys in events:
                self._take_keys(keys)
            if woken in events and os.read(woken, _CHUNK).strip(bytes((signal.SIGWINCH,))):
                self._end()
            if holder in events:
                self._want(holder, 0)
                self._end()
            self._move(events.get(self._ours, 0))
            if self._ending.pidfd in events:
                self._want(self._ending.pidfd, 0)
                self._over = True
        return in_time and not (self._screen.is_full and time.monotonic() >= deadline)

    def _want(self, fd: int, events: int) -> None:
        """Wake up for these events of `fd`; for none of it, not even its end, when there are none."""
        if events == self._polled.get(fd, 0):
            return
        if events:
            self._poll.register(fd, events)
        else:
            self._poll.unregister(fd)
        self._polled[fd] = events

    def _arrange(self) -> None:
        """Nothing is read of the command that could not be shown."""
        full = self._screen.is_full
        self._want(self._screen.fd, select.POLLOUT if full else 0)
        if not self._closed:
            self._want(self._ours, (0 if full else select.POLLIN) | (select.POLLOUT if self._typed else 0))

    def _wait(self, deadline: float) -> dict[int, int]:
        until = min(deadline, self._told) + _LAST_SECONDS if self._over else deadline
        return dict(self._poll.poll(1000 * min(max(until - time.monotonic(), 0.05), _LONGEST_WAIT)))

    def _take_keys(self, keys: int) -> None:
        """What the person typed; the end of the person's input is the command's."""
        data = os.read(keys, _CHUNK)
        if not data:
            self._want(keys, 0)
        if not self._closed:
            self._typed += data or b"\x04"

    def _end(self) -> None:
        self._told = min(self._told, time.monotonic())
        if not self._over:
            self._ending.kill()

    def _move(self, events: int) -> None:
        """One piece each way."""
        if events & select.POLLIN:
            self._show(_CHUNK)
        elif events & (select.POLLHUP | select.POLLERR):  # every process has closed its terminal
            self._want(self._ours, 0)
            self._closed, self._typed = True, b""
        self._on_screen(b"")
        if self._typed:
            with contextlib.suppress(OSError):  # full, or nobody reads any more
                self._typed = self._typed[os.write(self._ours, self._typed) :]

    def _show(self, most: int) -> int:
        """Put on the screen what is there and may be shown; of how many bytes that is."""
        try:
            data = os.read(self._ours, most)
        except OSError:
            return 0
        self._on_screen(self._filtered.shown(data))
        return len(data)

    def _on_screen(self, data: bytes) -> None:
        try:
            self._screen.put(data)
        except OSError:  # the person's terminal is gone
            self._end()

    def _is_done(self, until: float) -> bool:
        """Whether all that the command left in its terminal is shown, or there is no more time for it.

        What it has started may go on writing, so it is not more than a terminal holds.
        """
        while not self._screen.is_full and self._rest > 0:
            taken = self._show(min(_CHUNK, self._rest))
            self._rest = self._rest - taken if taken else 0
        return not self._screen.is_full or time.monotonic() >= until


@contextlib.contextmanager
def _another(fd: int) -> Iterator[int]:
    """The same file under another number: keys and screen may be one descriptor."""
    copy = os.dup(fd)
    try:
        yield copy
    finally:
        os.close(copy)


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

"""One command inside an environment, from its launcher to its end, as the caller's own child.

Nobody stands between: the caller starts the launcher (vfork, whatever the caller's size), measures the waiting
payload from outside as a one-shot run's is, lets it go, and waits for it. It dies with the caller.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.id_maps import IdMap
from skillkeep.kernel.procfs import read_text
from skillkeep.kernel.tape import Program, Step
from skillkeep.runner.environments.door import Door
from skillkeep.runner.environments.entrance import HOLDER_AT
from skillkeep.runner.environments.prepare import Command, prepare_entrance, prepare_waiting
from skillkeep.runner.interface import Assurance, AssuranceLevel, Layer
from skillkeep.runner.native import messages
from skillkeep.runner.native.attest import Ahead, mark_as_first_to_go, measure
from skillkeep.runner.native.failures import LayerError, StartError, deciding
from skillkeep.runner.native.identity import Identity
from skillkeep.runner.native.launch import launch
from skillkeep.runner.native.messages import Kind, Last
from skillkeep.runner.native.rest import prepare_command
from skillkeep.runner.native.steps import GROUPS_AT

__all__ = ["Entered", "Inside", "Used", "Waiting", "spawn"]

_SETUP_SECONDS = 20.0
_CREDENTIALS = struct.Struct("3i")
_UNWATCHED = {
    "memory": "memory is bounded per process by rlimit, not for the whole environment",
    "processes": "processes are bounded by rlimit in the user namespace",
}
"""What a one-shot run has a watchdog for, by the first word of that loss."""
_OWN_WHEN_FRESH = ("mnt", "pid", "ipc")


@dataclass(frozen=True)
class Used:
    """What a command used: seconds, and bytes at the most."""

    user: float
    system: float
    memory: int


class Inside:
    """The processes of one command, from the launcher's start. `pidfd` becomes readable when it has ended; then `end`.

    `streams` are the first process's, None for /dev/null. Raises KernelError when it cannot be started.
    """

    @property
    def starved(self) -> bool:
        """Whether the kernel has killed a process at the limit of the environment's memory since the command began."""
        return self._door.memory_kills() > self._kills

    def __init__(self, door: Door, fresh: bool, tape: tuple[Program, bytes], streams: Sequence[int] | None) -> None:
        self._door, self.standing, self._fresh = door, door.standing, fresh
        self._steps: Mapping[int, Step] = tape[0].steps
        self._payload = self._init = self._pidfd = -1
        self.assurance = Assurance(AssuranceLevel.NONE, ())
        self._program = ""
        self._unstarted: StartError | KernelError | None = None
        self._born: set[int] = set()
        self._kills = 0
        self._wanted = {Kind.READY, Kind.WAITING} if fresh else {Kind.READY}
        door.enter()
        try:
            door.reap(wait=False)
            self._socket, self._launcher = spawn(tape[1], door, streams)
        except BaseException:
            door.leave()
            raise

    @property
    def payload(self) -> int:
        """The payload's host pid."""
        return self._payload

    @property
    def pidfd(self) -> int:
        """Of a fresh command the last words of its init, which come before init has ended."""
        return self._socket.fileno() if self._fresh else self._pidfd

    @property
    def holder(self) -> int:
        """The pidfd of the process whose end is the environment's."""
        return self._door.holder

    @property
    def _waited(self) -> int:
        """This process's child: the init of a fresh command, else the payload."""
        return self._init if self._fresh else self._payload

    def kill(self) -> None:
        """Kill it; what a shared one left behind in other sessions lives on in the environment."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        if not self._fresh:
            _kill_session(self._payload)

    def is_seen_over(self) -> bool:
        """Its end is heard."""
        return False

    def end(self) -> tuple[int | None, Used]:
        """Wait for its end: the wait status, None when it was killed before it could say, and what it used.

        Raises StartError when the program could not be executed, KernelError for a step that failed.
        """
        self._socket.setblocking(False)
        try:
            last = self._last_words() if self._fresh else None
            if last is not None and last.alone:
                self._door.bury(self._init)  # it ends by itself, and nobody is left inside
                status, used = last.status, Used(last.user_seconds, last.system_seconds, last.memory)
            else:
                _, status, usage = os.wait4(self._waited, 0)
                last = last or self._last_words()
                used = Used(usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024)
        finally:
            os.close(self._pidfd)
            self._socket.close()
            self._door.leave()
        if self._unstarted is not None:
            raise self._unstarted
        if not self._fresh:
            return status, used
        return None if last is None else last.status, used

    def _last_words(self) -> Last | None:
        """What init has said of its end, and on the way why there was nothing to begin with."""
        try:
            while (message := messages.receive(self._socket, self._steps)) is not None:
                if message.kind is Kind.UNSTARTED:
                    self._unstarted = StartError(self._program, deciding(message.numbers))
                if message.kind is Kind.ENDED and message.pid == self._init:
                    return Last.of(message)
        except BlockingIOError:
            return None  # something inside holds the other end yet
        except KernelError as error:
            self._unstarted = error
        return None

    def _hear_out(self) -> None:
        """Wait until all of it stands. Raises KernelError, LayerError, ValueError."""
        while self._wanted:
            try:
                sender = _next_sender(self._socket)
                self._born |= {sender} - {self._launcher, 0}
                message = messages.receive(self._socket, self._steps)
            except TimeoutError as error:
                raise LayerError("setup", "the command was not ready in time", "The machine may be busy.") from error
            if message is None:
                raise LayerError(
                    "setup", "the command's set-up ended without a word", "The environment may have ended."
                )
            if message.kind not in self._wanted:
                raise LayerError("setup", f"an unexpected message: {message.kind!r}")
            self._wanted = self._wanted - {message.kind}
            if message.kind is Kind.READY:
                self._payload = message.pid
            else:
                self._init = message.pid
        self._reap_launcher()
        self._pidfd = os.pidfd_open(self._waited)

    def _measure(self, ahead: Ahead | None = None) -> Assurance:
        """What holds the waiting payload; `ahead` is what was measured of it before. Raises LayerError."""
        assurance = measure(
            self.standing.plan,
            self._payload,
            self.standing.landlock,
            self._identity,
            self.standing.bounded_by,
            root=self._root,
            ahead=ahead,
        )
        layer = assurance.layer("namespaces")
        assert layer is not None
        for kind, inode in self.standing.namespaces.items():
            own = self._fresh and kind in _OWN_WHEN_FRESH
            if (layer.facts[kind] == str(inode)) is own:
                raise LayerError(f"{kind}_namespace", "the payload is not where the environment is")
        if not self._fresh:
            self._door.root = assurance.layer("root")
        losses = tuple(_UNWATCHED.get(loss.split(" ", 1)[0], loss) for loss in assurance.losses)
        return replace(assurance, losses=losses)

    @property
    def _root(self) -> Layer | None:
        """That layer, where another command has the same."""
        return None if self._fresh else self._door.root

    @property
    def _identity(self) -> Identity:
        standing = self.standing
        return Identity(IdMap((), ()), standing.host_uid, standing.host_gid, standing.as_root)

    def _reap_launcher(self) -> None:
        if self._launcher >= 0:
            _reap(self._launcher)
            self._launcher = -1

    def _give_up(self) -> None:
        self._socket.close()  # whoever waits for the word reads the end, and ends
        self._reap_launcher()
        for pid in self._born:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            _reap(pid)
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        self._door.leave()


class Entered(Inside):
    """A command that was measured and let go.

    `streams` are the payload's stdin, stdout and stderr; they stay the caller's to close. Raises KernelError or
    LayerError for a layer that failed, and then nothing ran.
    """

    def __init__(self, door: Door, command: Command, streams: Sequence[int]) -> None:
        super().__init__(door, command.fresh, prepare_entrance(command, door.standing, door.ground), streams)
        self._program = command.argv[0]
        try:
            self._hear_out()
            self.assurance = self._measure()
            self._kills = door.memory_kills()
            mark_as_first_to_go(self._payload)
        except BaseException:
            self._give_up()
            raise
        messages.tell(self._socket, messages.GO)


class Waiting(Inside):
    """What waits for a command to come, measured as far as nothing can take from it (`attest.Ahead`).

    Used once. It ends with the thread that made it, also when it has become its command.
    """

    when_over: Callable[[], None] | None = None
    """Called when its command has ended."""

    def __init__(self, door: Door, fresh: bool) -> None:
        super().__init__(door, fresh, prepare_waiting(fresh, door.standing, door.ground), None)
        self.fresh = fresh
        self._maker = os.getpid()
        self._ahead: Ahead | None = None

    @property
    def speaks(self) -> bool:
        """Whether there is something to be heard: it stands, or has ended."""
        return messages.is_readable(self._socket)

    def look(self) -> None:
        """Wait until it stands, and measure it. Raises KernelError, LayerError, OSError, ValueError."""
        self._hear_out()
        plan, bounds = self.standing.plan, self.standing.bounded_by
        self._ahead = Ahead(plan, self._payload, self._identity, bounds, noticed=False, rooted=True, root=self._root)
        self.assurance = self._measure(self._ahead)
        mark_as_first_to_go(self._payload)

    def go(self, command: Command, streams: Sequence[int]) -> None:
        """Let it become `command`, for good. Raises KernelError, LayerError, OSError; then nothing ran."""
        assert self._ahead is not None
        word, steps = prepare_command(command)
        if not self._ahead.still_holds(self.assurance, self.standing.bounded_by):
            self.assurance = self._measure(self._ahead)
        self._kills = self._door.memory_kills()
        messages.tell(self._socket, word, streams, lost=True)
        self._program, self._steps = command.argv[0], ChainMap(steps, self._steps)  # type: ignore[arg-type]
        self._ahead.close()

    def end(self) -> tuple[int | None, Used]:
        """As of any command."""
        try:
            return super().end()
        finally:
            if self.when_over is not None:
                self.when_over()

    def close(self) -> None:
        """End it; in another process than the one that made it, let go of it."""
        if self._ahead is not None:
            self._ahead.close()
        if os.getpid() != self._maker:
            self._socket.close()
            self._door.leave()
            return
        if self._pidfd < 0:
            with contextlib.suppress(KernelError, LayerError, OSError, ValueError):
                self._hear_out()  # whoever has not been heard of cannot be waited for
        self._give_up()


def spawn(image: bytes, door: Door, streams: Sequence[int] | None) -> tuple[socket.socket, int]:
    """Start the launcher; our end of its socket, and its pid."""
    places = [(HOLDER_AT, door.holder), *((GROUPS_AT + number, fd) for number, fd in enumerate(door.joins))]
    sock, launcher = launch(image, streams, places)
    sock.settimeout(_SETUP_SECONDS)
    return sock, launcher


def _next_sender(sock: socket.socket) -> int:
    """The pid of whoever sent the next message, also when that is a failure; 0 at the end."""
    _, ancillary, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_PEEK)
    return next((_CREDENTIALS.unpack(raw)[0] for _, kind, raw in ancillary if kind == socket.SCM_CREDENTIALS), 0)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _kill_session(leader: int) -> None:
    """Kill what is in the session of `leader`, a host pid, until nothing is."""
    while True:
        found = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _session(pid) == leader]
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _session(pid: int) -> int:
    """The session of a living process; zombies have none."""
    try:
        words = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return -1
    return -1 if words[0] in "ZX" else int(words[3])

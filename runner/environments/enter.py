"""One command inside an environment, from its launcher to its end, as the caller's own child.

Nobody stands between: the caller starts the launcher (vfork, whatever the caller's size), measures the waiting
payload from outside as a one-shot run's is, lets it go, and waits for it. It dies with the caller.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import struct
from collections.abc import Sequence
from dataclasses import replace

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.namespaces import IdMap
from skillkeep.kernel.procfs import read_text
from skillkeep.runner.environments.entrance import HOLDER_AT
from skillkeep.runner.environments.prepare import Command, Ground, prepare_entrance
from skillkeep.runner.environments.standing import Standing
from skillkeep.runner.interface import Assurance, Layer
from skillkeep.runner.native import messages
from skillkeep.runner.native.attest import mark_as_first_to_go, measure
from skillkeep.runner.native.failures import LayerError, StartError, deciding
from skillkeep.runner.native.identity import Identity
from skillkeep.runner.native.launch import launch
from skillkeep.runner.native.messages import Kind, Message
from skillkeep.runner.native.steps import GROUPS_AT

__all__ = ["Door", "Entered", "spawn"]

_SETUP_SECONDS = 20.0
_CREDENTIALS = struct.Struct("3i")
_UNWATCHED = {
    "memory": "memory is bounded per process by rlimit, not for the whole environment",
    "processes": "processes are bounded by rlimit in the user namespace",
}
"""What a one-shot run has a watchdog for, by the first word of that loss."""
_OWN_WHEN_FRESH = ("mnt", "pid", "ipc")


class Door:
    """A standing environment held open by this process: the holder's pidfd and the ways into its control groups.

    `root` is that layer as it was measured; nobody inside may mount, so all that share it have the same.

    Raises KernelError when the groups or the holder have gone.
    """

    def __init__(self, standing: Standing, ground: Ground) -> None:
        self.standing, self.ground = standing, ground
        self.root: Layer | None = None
        self._open: list[int] = []
        try:
            with guarded("environment", "reach the environment"):
                self.holder = self._kept(os.pidfd_open(standing.holder))
                self.joins = [
                    self._kept(os.open(f"{part.path}/{part.joined_by}", os.O_WRONLY | os.O_CLOEXEC))
                    for part in standing.groups
                ]
        except KernelError:
            self.close()
            raise

    def _kept(self, fd: int) -> int:
        self._open.append(fd)
        return fd

    def close(self) -> None:
        """Let go of it; the environment stays."""
        while self._open:
            os.close(self._open.pop())


class Entered:
    """A command that was measured and let go. `pidfd` becomes readable when it has ended; then `end`.

    `streams` are the payload's stdin, stdout and stderr; they stay the caller's to close. Raises KernelError or
    LayerError for a layer that failed, and then nothing ran.
    """

    def __init__(self, door: Door, command: Command, streams: Sequence[int]) -> None:
        self._command, self._door, self.standing = command, door, door.standing
        self._program, image = prepare_entrance(command, door.standing, door.ground)
        self._payload = self._init = -1
        self._born: set[int] = set()
        self.pidfd: int = -1
        self._socket, launcher = spawn(image, door, streams)
        try:
            self._hear_out(launcher)
        except BaseException:
            self._give_up()
            raise
        finally:
            _reap(launcher)
        self.pidfd = os.pidfd_open(self._waited)
        try:
            self.assurance = self._measure()
            mark_as_first_to_go(self._payload)
        except BaseException:
            self.kill()
            self._give_up()
            raise
        messages.tell(self._socket, messages.GO)

    @property
    def payload(self) -> int:
        """The payload's host pid."""
        return self._payload

    @property
    def _waited(self) -> int:
        """This process's child: the init of a fresh command, else the payload."""
        return self._init if self._command.fresh else self._payload

    def kill(self) -> None:
        """Kill it; what a shared one left behind in other sessions lives on in the environment."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        if not self._command.fresh:
            _kill_session(self._payload)

    def end(self) -> tuple[int | None, resource.struct_rusage]:
        """Wait for its end: the wait status, None when it was killed before it could say, and what it used.

        Raises StartError when the program could not be executed.
        """
        try:
            _, status, usage = os.wait4(self._waited, 0)
        except ChildProcessError:
            self._socket.close()
            raise
        finally:
            os.close(self.pidfd)
        self._socket.setblocking(False)
        told: int | None = None if self._command.fresh else status
        try:
            while (message := messages.receive(self._socket, self._program.steps)) is not None:
                if message.kind is Kind.UNSTARTED:
                    raise StartError(self._command.argv[0], deciding(message.numbers))
                if message.kind is Kind.ENDED and message.pid == self._init:
                    told = message.numbers[0]
        except BlockingIOError:
            return told, usage  # something inside holds the other end yet
        finally:
            self._socket.close()
        return told, usage

    def _hear_out(self, launcher: int) -> None:
        wanted = {Kind.READY, Kind.WAITING} if self._command.fresh else {Kind.READY}
        heard: dict[Kind, Message] = {}
        while wanted - heard.keys():
            try:
                sender = _next_sender(self._socket)
                self._born |= {sender} - {launcher, 0}
                message = messages.receive(self._socket, self._program.steps)
            except TimeoutError as error:
                raise LayerError("setup", "the command was not ready in time", "The machine may be busy.") from error
            if message is None:
                raise LayerError(
                    "setup", "the command's set-up ended without a word", "The environment may have ended."
                )
            if message.kind not in wanted:
                raise LayerError("setup", f"an unexpected message: {message.kind!r}")
            heard[message.kind] = message
            if message.kind is Kind.READY:
                self._payload = message.pid
            else:
                self._init = message.pid

    def _measure(self) -> Assurance:
        standing = self.standing
        uid, gid = standing.host_uid, standing.host_gid
        identity = Identity(IdMap((), ()), uid, gid, standing.as_root)
        root = None if self._command.fresh else self._door.root
        bounds = standing.bounded_by
        assurance = measure(standing.plan, self._payload, standing.landlock, identity, bounds, root=root)
        layer = assurance.layer("namespaces")
        assert layer is not None
        for kind, inode in standing.namespaces.items():
            own = self._command.fresh and kind in _OWN_WHEN_FRESH
            if (layer.facts[kind] == str(inode)) is own:
                raise LayerError(f"{kind}_namespace", "the payload is not where the environment is")
        if not self._command.fresh:
            self._door.root = assurance.layer("root")
        losses = tuple(_UNWATCHED.get(loss.split(" ", 1)[0], loss) for loss in assurance.losses)
        return replace(assurance, losses=losses)

    def _give_up(self) -> None:
        self._socket.close()  # whoever waits for the word reads the end, and ends
        for pid in self._born:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            _reap(pid)
        if self.pidfd >= 0:
            os.close(self.pidfd)


def spawn(image: bytes, door: Door, streams: Sequence[int]) -> tuple[socket.socket, int]:
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

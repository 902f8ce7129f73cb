"""The fork server: a small process of one user that makes and watches sandboxes for callers on a socket.

One connection is one run: a request with its descriptors comes in, an answer goes out, and the end of the connection
kills what still runs. A moment of quiet is used to build sandboxes ahead (`slots`). The server is single-threaded and
never waits for anybody; when nobody has needed it for a while it ends. It dies with everything it made: each sandbox's
init is killed by the kernel when the server ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from skillkeep.kernel.cgroup_choice import sweep_groups
from skillkeep.kernel.cgroup_scope import enter_own_scope
from skillkeep.kernel.cgroups import Group
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.passed import peer_of
from skillkeep.kernel.rlimits import NO_CORE_DUMP
from skillkeep.runner.interface import Assurance
from skillkeep.runner.native.leases import Leases
from skillkeep.runner.native.session import Session
from skillkeep.runner.native.slots import Slot, Slots

__all__ = ["main"]

_BACKLOG = 512
_LOW_FDS = 32
_BUSY_SECONDS = 0.005
_LATELY_SECONDS = 10.0
_SWEEP_SECONDS, _SWEEP_AGAIN_SECONDS, _SWEEP_OFTEN_SECONDS = 60.0, 0.2, 5.0


def main(folder: str, name: str, idle_seconds: float) -> int:
    """Serve on ``folder/name`` until idle. Writes a line to descriptor 1 when ready; ends at once if another serves."""
    detach()
    lock = _locked(f"{folder}/{name}.lock")
    if lock is None:
        return 0
    enter_own_scope()  # where there is none, each result says what no control group bounds
    _remove_stale(folder)
    path = f"{folder}/{name}"
    os.umask(0o077)
    listener = listen_at(path)
    os.write(1, b"ready\n")
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 1)
    os.close(null)
    server = Server(listener)
    gc.freeze()  # what was imported is never garbage: looking for what is stays cheap, and happens often
    signal.signal(signal.SIGTERM, server.end)
    server.serve(path, idle_seconds)
    _remove(folder, name)
    return 0


def listen_at(path: str) -> socket.socket:
    """A listening socket at `path`, in the place of what is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    listener.bind(path)
    listener.listen(_BACKLOG)
    return listener


def _locked(path: str) -> int | None:
    """The lock file, held; None when another server holds it, or has just removed it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_ino == os.fstat(lock).st_ino:
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


def _remove_stale(folder: str) -> None:
    """Remove the files of servers that were killed."""
    for name in os.listdir(folder):
        stem, dot, _ = name.partition(".lock")
        if dot and (lock := _locked(f"{folder}/{name}")) is not None:
            _remove(folder, stem)
            os.close(lock)


def _remove(folder: str, name: str) -> None:
    """Remove a server's files; its lock is held. A log with words in it stays for a person to read."""
    with contextlib.suppress(FileNotFoundError):
        if not os.path.getsize(f"{folder}/{name}.log"):
            os.unlink(f"{folder}/{name}.log")
    for path in (f"{folder}/{name}", f"{folder}/{name}.lock"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def detach() -> None:
    """Leave nothing low free, so that descriptors of a run are never where a sandbox's own will be."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    while os.dup(0) < _LOW_FDS:
        pass
    # Where the hard limit is 0, only root can bring it to the value that payloads get (see kernel/rlimits.py).
    for which, wanted in ((resource.RLIMIT_CORE, NO_CORE_DUMP), (resource.RLIMIT_NOFILE, None)):
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(which)[1] if wanted is None else wanted
            resource.setrlimit(which, (hard, hard))


class Server:
    """Moves events to the sessions they belong to."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], object]] = {}
        self._may_go: set[int] = set()
        self._sessions: set[Session] = set()
        self._groups: list[Group] = []
        self._sweep_at, self._sweep_pause = 0.0, _SWEEP_AGAIN_SECONDS
        self._began = self._last_use = time.monotonic()
        self._listening = True
        self.slots = Slots(self)
        self.leases = Leases(self.slots)
        self._held: dict[int, tuple[float, Assurance]] = {}
        self.watch(listener.fileno(), self._accept)

    def watch(self, fd: int, handler: Callable[[], object]) -> None:
        """Call `handler` whenever `fd` is readable."""
        self._handlers[fd] = handler
        self._poll.register(fd, select.POLLIN)

    def watch_until_hung_up(self, fd: int, handler: Callable[[], object]) -> None:
        """As `watch`; that the other side has gone is nothing that anybody waits for."""
        self.watch(fd, handler)
        self._may_go.add(fd)

    def _is_let_go(self, fd: int) -> bool:
        """Watch it no longer, if nobody waits for its end: a payload whose run ends should not wait for us."""
        if fd not in self._may_go:
            return False
        self.unwatch(fd)
        return True

    def unwatch(self, fd: int) -> None:
        """No longer, as far as it was."""
        self._may_go.discard(fd)
        if self._handlers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def left(self, session: Session, group: Group | None) -> None:
        """A session is over; its group may stay busy for a moment."""
        self._sessions.discard(session)
        if self._listening:
            self.watch(self._listener.fileno(), self._accept)
        if group is not None:
            self.bury(group)

    def note_held(self, id_base: int, assurance: Assurance) -> None:
        """A run with ids from `id_base` has just had this assurance."""
        self._held = {id_base: (time.monotonic(), assurance)}

    def held_lately(self, id_base: int) -> dict[str, Any] | None:
        """What a run had in the last seconds: whoever asks whether a sandbox works need not make one to see."""
        when, assurance = self._held.get(id_base, (float("-inf"), None))
        return None if assurance is None or time.monotonic() - when >= _LATELY_SECONDS else assurance.to_json()

    def bury(self, group: Group) -> None:
        """Remove a group, now or as soon as its last process has ended."""
        if not group.remove():
            self._groups.append(group)

    def serve(self, path: str, idle_seconds: float) -> None:
        """Serve until nobody has connected for `idle_seconds`; whoever connects in the last moment is served.

        Nobody is left waiting: from one moment on the kernel refuses connections, and those before it are accepted.
        """
        while self._listening or self._sessions or self._groups:
            now = time.monotonic()
            if self._running:
                self._last_use = now
            idle = self._last_use + idle_seconds - now
            if self._listening and idle <= 0:
                self._stop_listening()
                if self._running:  # others may come while they last
                    self._listener = listen_at(path)
                    self.watch(self._listener.fileno(), self._accept)
                else:
                    self._listening = False
                    self._keep_nothing()
                continue
            events = self._poll.poll(self._pause(now, idle if self._listening else float("inf")))
            if events and all(what == select.POLLHUP and self._is_let_go(fd) for fd, what in events):
                continue  # a payload has ended, and its run is about to
            self._dispatch([fd for fd, _ in events])
            now = time.monotonic()
            if events and self._listening:
                self._look_ahead()
            elif self._listening and self.slots.due <= now:
                self._refill()
            for session in [session for session in self._sessions if session.due <= now]:
                self._call(session.tick)
            self._groups = [group for group in self._groups if not group.remove()]
            if now >= self._sweep_at:
                self._sweep(now)
            if self._groups or not events:
                self._reap_strangers()

    def _keep_nothing(self) -> None:
        """Have nothing ready for runs to come."""
        for session in self.leases.end():
            self._call(session.want_back)
        self.slots.drop_all()

    def _look_ahead(self) -> None:
        """Something has happened: lend ahead what stands, and have what is missing built in a moment of quiet."""
        for session in self.leases.waiting:
            self._call(session.lend_ahead)
        self.slots.busy(self._running)

    @property
    def _running(self) -> bool:
        """Whether there is a run, or somebody who is about to ask for one."""
        return not all(session.idle for session in self._sessions)

    def _stop_listening(self) -> None:
        """Whoever has connected is accepted, and whoever would is refused by the kernel, and starts another server."""
        self._listener.shutdown(socket.SHUT_RD)
        while self._accept():
            pass
        self.unwatch(self._listener.fileno())
        self._listener.close()

    def _dispatch(self, readable: list[int]) -> None:
        """Call the handlers of what was `readable`; a number that was closed and given away meanwhile is not."""
        for fd, handler in [(fd, self._handlers.get(fd)) for fd in readable]:
            if handler is not None and self._handlers.get(fd) is handler:
                self._call(handler)

    def end(self, *_: object) -> NoReturn:
        """SIGTERM: the kernel kills every sandbox with this process."""
        os._exit(0)

    def _call(self, handler: Callable[[], object]) -> None:
        """What breaks in one session or slot ends that one alone; the log says why."""
        try:
            handler()
        except Exception:
            traceback.print_exc()
            owner = getattr(handler, "__self__", None)
            if not isinstance(owner, Session | Slot):
                raise
            owner.abort()

    def _refill(self) -> None:
        """What breaks while a sandbox is built ahead ends neither the server nor its runs; the log says why."""
        try:
            self.slots.refill()
        except Exception:
            traceback.print_exc()
            self.slots.put_off()

    def _sweep(self, now: float) -> None:
        """Remove what killed servers left. They, or their last processes, may be ending just now: look again soon."""
        try:
            busy = bool(sweep_groups())
        except KernelError:  # a run that needs a group will say what is wrong
            busy = True
        if now < self._began + _SWEEP_OFTEN_SECONDS:
            self._sweep_pause = _SWEEP_AGAIN_SECONDS
        else:
            self._sweep_pause = min(2 * self._sweep_pause, _SWEEP_SECONDS) if busy else _SWEEP_SECONDS
        self._sweep_at = now + self._sweep_pause

    def _pause(self, now: float, idle: float) -> float:
        waits = [self._sweep_at - now, idle, self.slots.due - now, *(session.due - now for session in self._sessions)]
        if self._groups:
            waits.append(_BUSY_SECONDS)
        return 1000.0 * max(min(waits), 0.0) + 0.5

    def _accept(self) -> bool:
        """Take the next caller; False when there is none. Others make the listener readable again."""
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return False
        except OSError:  # it has ended; or out of descriptors: it stays in the backlog until a session has left
            self.unwatch(self._listener.fileno())
            return False
        pid, uid = peer_of(connection)
        if uid != os.geteuid() or _user_namespace(pid) != _user_namespace(os.getpid()):  # nor one from inside a sandbox
            connection.close()
            return True
        self._call(self.meet(connection).begin)
        return True

    def meet(self, connection: socket.socket) -> Session:
        """Whoever is at the other end of that connection has a session from now on."""
        session = Session(self, connection)
        self._sessions.add(session)
        self._last_use = time.monotonic()
        return session

    def _reap_strangers(self) -> None:
        """An init that was never heard of ends by itself, and is nobody's to wait for but ours."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None or ended.si_pid in self.slots.pids:
                return
            if any(ended.si_pid in session.pids for session in self._sessions):
                return
            os.waitpid(ended.si_pid, 0)


def _user_namespace(pid: int) -> str:
    """That of a process; empty when it cannot be told, which is nobody's."""
    try:
        return os.readlink(f"/proc/{pid}/ns/user")
    except OSError:
        return ""

"""How a caller reaches its fork server: connects, starting one when there is none, and asks for one run.

Which server is the right one takes as long to find out as preparing a run does. So the one that was right for the last
run is asked to prepare this one meanwhile, and is told to go on, or left, when the right one is known (`Line`).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import skillkeep.kernel
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.passed import has_ended, heard_fds, peer_of
from skillkeep.runner.native.asking import GO, LENT, MOST, MOST_FDS, PREPARE, ROOM, ask, heard, receive
from skillkeep.runner.native.leftover import close_all, close_many, leave
from skillkeep.runner.native.place import LAYER, alone, rights, server_folder, server_name
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.streams import Streams
from skillkeep.value import Value

if TYPE_CHECKING:
    from skillkeep.runner.native.held import Held
    from skillkeep.runner.native.lent import Lent
    from skillkeep.runner.native.own import Own

__all__ = ["IDLE_SECONDS", "Line", "connected", "starter"]

IDLE_SECONDS = 120.0
"""How long a server waits for the next caller."""
_ALONE_SECONDS = 5.0
_START_SECONDS = 20.0
_PAUSE_SECONDS = 0.005
_BUILDING_SECONDS = 0.004
"""In less time after a run nothing is built ahead: whoever asked for it in vain is not asked again so soon."""
_IN_VAIN_SECONDS = 5.0
_HERE = os.path.dirname(os.path.abspath(__file__))


class _Server(Value):
    """Where a server listens. A `private` one is of one process alone."""

    folder: str
    name: str
    private: bool


@contextlib.contextmanager
def connected() -> Iterator[socket.socket]:
    """A connection to this user's server. Raises KernelError("fork_server")."""
    with _reached(_right_server()) as connection:
        yield connection


class Line:
    """A connection to this process's server, for one run. Nothing is let go before the server is known to be right."""

    _last: ClassVar[_Server | None] = None
    """The server of the last run in this process."""
    _unlent: ClassVar[float] = float("-inf")
    """When the last run of this process ended that was lent no sandbox, in monotonic seconds."""
    _in_vain: ClassVar[float] = float("-inf")
    """When this process last held nothing good, or was lent nothing ahead: for some time it is not worth its price."""
    _last_room: ClassVar[str] = ""
    """The room of the last run in this process: two of the same are expected to be followed by a third."""
    _kept: ClassVar[list[Held]] = []
    """What is held ahead of the next run, for one run of one thread."""
    _spare: ClassVar[list[Streams]] = []
    """The next run's pipes, likewise."""
    _own: ClassVar[Own[_Server] | None] = None
    """Knows whether the server of the last run is right yet, in a process that has made more than one."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._room = plan, plan.room if plan.plain else ""
        self._guess, self._connection = self._last, None
        self._hopes, self._is_repeated = False, bool(self._room) and self._room == Line._last_room
        self._lent: Lent | None = None
        self._held: Held | None = None
        self._streams: Streams | None = None
        if self._room:
            Line._last_room = self._room
            self._held = Line._taken(self._room)
        if self._held is None and self._guess is not None:
            with contextlib.suppress(KernelError, OSError):  # whoever is the right one is found below
                self._connection = _connect(self._guess.folder, self._guess.name)
        if self._connection is not None and self._room and time.monotonic() > Line._unlent + _BUILDING_SECONDS:
            # A sandbox that stands furnished for it: whoever serves looks for one while the streams are made.
            with contextlib.suppress(OSError):
                self._connection.send(ROOM + self._room.encode())
                self._hopes = True

    @property
    def connection(self) -> socket.socket:
        """The connection on which the run was asked for."""
        assert self._connection is not None
        return self._connection

    def streams(self) -> Streams:
        """The pipes of this run."""
        try:
            self._streams = Line._spare.pop()
        except IndexError:
            self._streams = Streams()
        return self._streams

    def tidy(self) -> None:
        """While the payload is at work: let go of what the run before left, and make the pipes of the next one."""
        close_many()
        if self._lent is not None and self._is_repeated and not Line._spare:
            with contextlib.suppress(OSError):
                Line._spare.append(Streams())

    def ask(self, streams: Sequence[int]) -> Lent | None:
        """Ask for the run as `ask` does; the sandbox that it is in when one was lent.

        Raises KernelError("fork_server"), OSError.
        """
        plan = self._plan
        if self._held is not None:
            right = _right_now()
            if (lent := self._begun(self._held, right, streams)) is not None:
                return lent
        elif self._hopes:
            right = _right_now()
            if right == self._guess and (lent := self._borrowed(streams)) is not None:
                return lent
            if right == self._guess and self._connection is not None:
                with contextlib.suppress(OSError):
                    ask(self._connection, plan.to_text(), streams)
                    return None
        else:
            asked = False
            if self._connection is not None:
                with contextlib.suppress(OSError):
                    ask(self._connection, plan.to_text(), streams, PREPARE)
                    asked = True
            right = _right_now()
            if asked and right == self._guess and self._may_go():
                return None
        for tries_left in (1, 0):
            self.close()
            self._connection = _reached(right)
            try:
                ask(self._connection, plan.to_text(), streams)
                break
            except (BrokenPipeError, ConnectionResetError):  # it ended just now
                if not tries_left:
                    raise
        Line._last = right
        return None

    def _begun(self, held: Held, right: _Server, streams: Sequence[int]) -> Lent | None:
        """The sandbox that was held ahead, with the run let go in it; None when there is none that is good."""
        if right == self._guess:
            self._lent = held.begin(self._plan, streams)
        self._held = None
        if self._lent is not None:
            self._connection = held.connection
        elif held.pending:
            Line._kept.append(held)
        else:
            held.close()
            Line._in_vain = time.monotonic()
        return self._lent

    def _borrowed(self, streams: Sequence[int]) -> Lent | None:
        """The sandbox that was hoped for, with the run let go in it; None, and no connection when that has ended."""
        # They need the tape, which a process that makes a single run does not.
        from skillkeep.runner.native.lent import Lent, command_of, let_go

        data = b""
        with contextlib.suppress(OSError, KernelError):  # one that is too long to be sent is built for
            command, steps = command_of(self._plan.argv, self._plan.env, self._plan.workdir)
            self.connection.settimeout(_START_SECONDS)
            data, fds = heard(heard_fds, self.connection, MOST, MOST_FDS)
            self.connection.settimeout(None)
        if data.startswith(LENT):
            # What breaks from here on ends the run, which is not made twice.
            talk, board, counters = let_go(fds, command, streams)
            self._lent = Lent(self.connection, talk, board, data[len(LENT) :], counters, self._plan, steps)
            return self._lent
        if not data:
            self.close()
        return None

    def _may_go(self) -> bool:
        """Say that the run may go; False when the server has ended, which then has let nothing go."""
        try:
            self.connection.send(GO)
        except OSError:
            # It has ended, or has said already why there will be no run.
            return bool(heard(self.connection.recv, 1, socket.MSG_PEEK))
        return True

    def close(self) -> None:
        """End it, and what still runs."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held is not None:
            self._held.close()
        if self._lent is None:
            Line._unlent = time.monotonic()
        elif self._lent.over:
            self._lent.tell()
            if self._is_repeated and time.monotonic() > Line._in_vain + _IN_VAIN_SECONDS:
                self._ask_for_the_next(self._lent)
        if self._guess is not None:
            _learn()
        for each in (self._streams, self._lent):
            if each is not None:
                leave(each.leave())
        if self._connection is not None:  # no run is expected soon
            self.close()
            close_all()

    def _ask_for_the_next(self, lent: Lent) -> None:
        """Ask for the next sandbox, ahead of its run, on the connection of this one."""
        assert self._connection is not None
        if not Line._kept:
            Line._kept.append(_ahead()(self._connection, self._room, told=lent.told))
            self._connection = None

    @classmethod
    def _taken(cls, room: str) -> Held | None:
        """What is held of that room, from now on the taker's alone; of another room nothing is held any more."""
        try:
            held = cls._kept.pop()
        except IndexError:  # none, or another thread took it
            return None
        if held.room != room:
            held.close()
        elif held.pending and not held.speaks:
            cls._kept.append(held)
        else:
            return held
        return None

    @classmethod
    def forget(cls) -> None:
        """The last run was made to see whether it can be: nothing is imported, learnt or lent for more of them."""
        cls._last = None

    @classmethod
    def give_back(cls) -> None:
        """Hold nothing ahead."""
        for ahead in (cls._kept, cls._spare):
            while ahead:
                ahead.pop().close()
        close_all()
        if cls._own is not None:
            cls._own.close()
            cls._own = None


os.register_at_fork(after_in_child=Line.give_back)  # it serves once, and the parent alone
atexit.register(Line.give_back)


@cache
def _ahead() -> type[Held]:
    """What a process needs that makes the same run again; an import takes as long as the rest of asking."""
    from skillkeep.runner.native import held

    return held.Held


def _learn() -> None:
    """Be able to see soon whether the right server is the right one yet: a process that makes runs makes more."""
    with contextlib.suppress(OSError, KernelError):
        if Line._own is None:
            from skillkeep.runner.native.own import Own

            Line._own = Own(_right_server)
        Line._own.learn()


def _right_now() -> _Server:
    """As `_right_server`, seen from what has not changed where that is known."""
    own = Line._own
    return (own.known() if own is not None else None) or _right_server()


def held_lately(id_base: int) -> dict[str, Any] | None:
    """The assurance of a run that ended seconds ago in the server of this very process's rights; None without one.

    Raises KernelError("fork_server"), and as `receive` does.
    """
    with connected() as connection:
        connection.send(b"held %d" % id_base)
        held = receive(connection, [])["assurance"]
        return held if isinstance(held, dict) else None


def _right_server() -> _Server:
    """The server for this process as it is now. Raises KernelError("fork_server")."""
    own = rights()
    private, folder = alone(own), server_folder()
    return _Server(folder, server_name(tuple(_folders().values()), private, own), private)


def _reached(server: _Server) -> socket.socket:
    """A connection to `server`, which is started when there is none. Raises KernelError("fork_server")."""
    folder, name = server.folder, server.name
    deadline = time.monotonic() + _START_SECONDS
    connection = _connect(folder, name)
    while connection is None:
        _start(folder, name, _folders(), _ALONE_SECONDS if server.private else IDLE_SECONDS)
        connection = _connect(folder, name)
        if connection is None:
            if time.monotonic() > deadline:
                raise KernelError(LAYER, 0, "it does not start", "See its log beside the socket: " + folder)
            time.sleep(_PAUSE_SECONDS)  # another caller's server is about to listen
    return connection


def _connect(folder: str, name: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(f"{folder}/{name}")
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise KernelError(LAYER, error.errno or 0, f"connect to {folder}/{name}") from error
    server, owner = peer_of(connection)
    if owner != os.geteuid():
        connection.close()
        raise KernelError(LAYER, 0, f"{folder}/{name} is served by the user {owner}", "Remove that socket.")
    if has_ended(server):  # its last children hold the socket for a moment, and nobody hears what is sent there
        connection.close()
        return None
    return connection


def _start(folder: str, name: str, folders: dict[str, str], idle_seconds: float) -> None:
    """Start a server and wait until it listens, or has found that another one does."""
    import subprocess  # the first run of some minutes needs it, no other one

    words = starter(folders)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    with guarded(LAYER, "start it"):
        log = os.open(f"{folder}/{name}.log", flags, 0o600)
        try:
            process = subprocess.Popen(
                [*words, "server", folder, name, str(idle_seconds)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={},
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(log)
    with process:
        assert process.stdout is not None
        process.stdout.read()  # until it listens, or has ended


def starter(folders: Mapping[str, str] | None = None) -> list[str]:
    """The command line that starts a program of ours (see `boot`), up to where the program is named."""
    words = [sys.executable, "-I", "-S", "-B", os.path.join(_HERE, "boot.py")]
    return [*words, *(f"{package}={place}" for package, place in (folders or _folders()).items()), "--"]


@cache
def _folders() -> dict[str, str]:
    """The packages that the server needs, and nothing of an interpreter's site."""
    return {
        "skillkeep": os.path.dirname(str(skillkeep.__file__)),
        "skillkeep.kernel": os.path.dirname(str(skillkeep.kernel.__file__)),
        "skillkeep.runner": os.path.dirname(_HERE),
        "skillkeep.runner.native": _HERE,
        "skillkeep.runner.egress": os.path.join(os.path.dirname(_HERE), "egress"),
    }

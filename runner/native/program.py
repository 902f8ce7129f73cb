"""The sandbox's set-up as a tape: every system call from init's ids to the payload's execve, in order.

Two processes carry it out. *Init* (see `birth`) joins its control groups, builds the root, makes the payload, gives
up everything and reaps. The *payload* lays down its rights, waits for the word, and becomes the tool.

Descriptors of both: 0-2 the payload's streams, `SOCKET` to whoever started them. The streams and the ways into the
control groups come with the tape. What they say on the socket: `messages`.

A sandbox that is built ahead of its run stops where the run's own facts are needed: init before the binds, with the
rest of its tape and the trees to come over the socket, and the payload, which has laid down its rights, before the
working folder, the streams and the program. `rest` makes those second halves. What a payload may write is part of its
rights: a *vacant* sandbox, for runs that write, has none yet, and its init makes it after the binds.
"""

from __future__ import annotations

import itertools
import os
import signal
import struct
from dataclasses import dataclass

from skillkeep.kernel import capabilities, namespaces
from skillkeep.kernel.process import tape_parent_death, tape_switch
from skillkeep.kernel.rlimits import tape_limit
from skillkeep.kernel.tape import BASE, HEADER, At, Cell, Label, Program, Tape, Word
from skillkeep.runner.egress.place import PORT
from skillkeep.runner.native.birth import OWN_TAPE, OWN_TAPE_BYTES, given
from skillkeep.runner.native.filters import init_filter, payload_filter
from skillkeep.runner.native.layout import Host
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.plan import INSIDE_ID
from skillkeep.runner.native.rootfs import (
    BindShape,
    build_root,
    finish_root,
    forget_host,
    open_from_host,
    open_sources,
)
from skillkeep.runner.native.steps import (
    CONTROL_BYTES,
    CONTROL_HEADER,
    SOCKET,
    TAPE,
    become,
    close_above_socket,
    execute,
    give_up_streams,
    join_groups,
    message_header,
    restrict_files,
    say,
    take_cores,
    take_terminal,
    tell_end_of,
    wait_for_word,
)

__all__ = [
    "GATE",
    "HOST_ROOT",
    "REST_BYTES",
    "REST_OF_INIT",
    "REST_OF_PAYLOAD",
    "SENT",
    "Shape",
    "go_on_at",
    "make_program",
    "make_rest",
    "reap",
]

GATE = TAPE
"""Of a sandbox built ahead: init opens it when the payload may hear what it is to become."""
REST_BYTES = 0x4_0000
_BOARD, REST_OF_INIT, REST_OF_PAYLOAD = BASE + 0x18_0000, BASE + 0x20_0000, BASE + 0x28_0000
_CHILD, HOST_ROOT, _CONTROL = At(_BOARD), At(_BOARD + 8), At(_BOARD + 64)
"""Where the second halves of tapes lie, with what they share with the first ones: pid, root, control messages."""

_STREAMS = 3
_ONE_FD, _ONE_FD_LENGTH = struct.Struct("=Qiiq"), 20  # struct cmsghdr and an int
_SOL_SOCKET, _SCM_RIGHTS = 1, 1
_CLOEXEC_FDS = 0x4000_0000  # MSG_CMSG_CLOEXEC
SENT = _CONTROL.plus(CONTROL_HEADER)
"""The descriptors that came with the second half of a tape, four bytes each."""


@dataclass(frozen=True)
class Shape:
    """All of a run that changes which steps are needed, and so which tape fits."""

    host: Host
    as_root: bool
    groups: int
    into_group: bool
    landlock: int
    binds: tuple[BindShape, ...]
    limits: tuple[str, ...]
    cores: tuple[int, ...]
    tmp_bytes: int
    candidates: int
    egress: bool = False
    notices: bool = False
    """Refused calls are told to the starter."""
    ahead: bool = False
    """Built before its run is known: no binds, no candidates."""
    vacant: bool = False
    """Built before its run is known, without a payload: neither binds, nor candidates, nor limits."""
    terminal: bool = False
    """The streams are a terminal's, which becomes the payload's own."""

    @property
    def bounded(self) -> bool:
        """Whether a control group counts its memory, which is else a limit of each process and a watch."""
        return "data" not in self.limits


def make_program(shape: Shape) -> Program:
    """The tape for `shape`. Its named cells, to be patched for each run:

    ``policy`` and ``policy_size``, ``source<n>`` (address of a bind's path), ``soft_<limit>`` and ``hard_<limit>``,
    ``workdir``, ``program<n>`` (paths to try), ``argv``, ``env``: addresses, sizes and numbers.
    """
    return _Builder(shape).build()


def make_rest(shape: Shape) -> Program:
    """What follows on the tape of a vacant sandbox, for a run of `shape`; the same cells."""
    return _Builder(shape).rest()


class _Builder:
    def __init__(self, shape: Shape) -> None:
        self.shape, self.tape = shape, Tape()
        self.quit, self.payload = Label(), Label()
        self.zero = self.tape.data(bytes(8))

    def build(self) -> Program:
        self._init()
        if not self.shape.vacant:
            self.tape.mark(self.payload)
            self._payload()
        self._leave()
        return self.tape.finish(None, OWN_TAPE, OWN_TAPE_BYTES)

    def rest(self) -> Program:
        """What the init of a vacant sandbox goes on with: the run's streams and binds, and the payload."""
        tape, shape = self.tape, self.shape
        for stream in range(_STREAMS):
            tape.call("descriptors", "dup3", Word(SENT.plus(4 * stream)), stream, 0)
        sent = iter(range(_STREAMS, _STREAMS + len(shape.binds)))
        trees: list[Cell | At] = []
        for number, bind in enumerate(shape.binds):
            path = tape.cell(name=f"source{number}")
            if shape.as_root or bind.mapped:
                trees.append(SENT.plus(4 * next(sent)))
            else:
                trees.append(open_from_host(tape, HOST_ROOT, Word(path)))
        if not shape.as_root:
            forget_host(tape, HOST_ROOT)
        finish_root(tape, trees, shape.binds)
        tape.call("setup", "clone", signal.SIGCHLD, 0, 0, 0, 0, into=_CHILD)
        tape.jump_if_equal(_CHILD, self.zero, self.payload)
        reap(tape)
        tape.mark(self.payload)
        self._payload()
        self._leave()
        return tape.finish(None, REST_OF_INIT, REST_BYTES)

    def _leave(self) -> None:
        """The way out when nobody is left to tell."""
        self.tape.mark(self.quit)
        self.tape.call("setup", "exit_group", 1)

    def _init(self) -> None:
        tape, shape = self.tape, self.shape
        came = map(given, itertools.count(1))  # behind the tape: ways into groups, streams, trees
        groups = list(itertools.islice(came, shape.groups))
        if not (shape.ahead or shape.vacant):
            for stream in range(_STREAMS):
                tape.call("descriptors", "dup3", Word(next(came)), stream, 0)
        sent = list(itertools.islice(came, sum(bind.mapped for bind in shape.binds)))
        if shape.egress:
            self._open_way_out()
        join_groups(tape, [Word(group) for group in groups], shape.into_group)
        if shape.ahead:
            self._make_gate()
        paths = [tape.cell(name=f"source{number}") for number in range(len(shape.binds))]
        sources = open_sources(tape, shape.host, shape.binds, paths, sent)
        if shape.as_root:
            become(tape, 0)
            tape_parent_death(tape)  # again: a change of ids undoes it
        namespaces.tape_names(tape, b"sandbox")
        # Root opens the binds of a run for a sandbox built ahead; anybody else's init has to, from the host's root.
        keep = HOST_ROOT if (shape.ahead or shape.vacant) and not shape.as_root else None
        build_root(tape, shape.host, sources, shape.tmp_bytes, keep, egress=shape.egress)
        if shape.vacant:
            go_on_at(tape, REST_OF_INIT, self.quit)
            return
        if not shape.ahead:
            finish_root(tape, sources.binds, shape.binds)
        tape.call("setup", "clone", signal.SIGCHLD, 0, 0, 0, 0, into=_CHILD)
        tape.jump_if_equal(_CHILD, self.zero, self.payload)
        if shape.ahead:
            go_on_at(tape, REST_OF_INIT, self.quit)
        else:
            reap(tape)

    def _make_gate(self) -> None:
        gate = self.tape.cell()
        self.tape.call("setup", "eventfd2", 0, os.O_CLOEXEC, into=gate)
        self.tape.require_equal("setup", "the gate has its place", gate, self.tape.data(struct.pack("=q", GATE)))

    def _open_way_out(self) -> None:
        """Listen in the sandbox's own network, and send the socket to the starter, whose proxy accepts there."""
        tape = self.tape
        namespaces.tape_loopback(tape)
        listener = namespaces.tape_listen(tape, PORT)
        _send(tape, "net_namespace", Kind.LISTENING, listener)
        tape.call("net_namespace", "close", Word(listener))

    def _payload(self) -> None:
        tape, shape = self.tape, self.shape
        tape.call("descriptors", "setsid")
        if shape.terminal:
            take_terminal(tape)
        close_above_socket(tape)
        tape.call("descriptors", "fcntl", SOCKET, 2, 1, why="close the socket on execve")
        capabilities.tape_bounding(tape)
        if shape.as_root:
            become(tape, INSIDE_ID)
        capabilities.tape_nothing(tape)
        if not shape.ahead:
            tape.call("workdir", "chdir", Word(tape.cell(name="workdir")), why="enter the working folder")
        tape_switch(tape, "no_new_privs", on=True)
        # The starter measures this process before it lets it go; execve sets the flag anew in any case.
        tape_switch(tape, "dumpable", on=True)
        if shape.landlock:
            restrict_files(tape, shape.landlock, shape.binds, shape.egress, bounded=shape.bounded)
        for name in shape.limits:
            tape_limit(tape, name)
        take_cores(tape, shape.cores)
        ready, listener = _message_with_fd(tape, Kind.READY) if shape.notices else (None, None)
        payload_filter(shape.egress, shape.bounded, shape.notices, bool(shape.cores)).onto(tape, listener)
        if ready is None:
            say(tape, Kind.READY)
        else:  # nothing may fail from here on: it is measured now. The kernel closes the listener on execve
            tape.call("seccomp", "sendmsg", SOCKET, ready, 0, why="send the listener")
        if shape.ahead:
            tape.call("setup", "read", GATE, tape.space(bytes(8)), 8, why="wait for init")
            go_on_at(tape, REST_OF_PAYLOAD, self.quit)
            return
        wait_for_word(tape, self.quit)
        execute(tape, shape.candidates)


def go_on_at(tape: Tape, place: int, gone: Label) -> None:
    """Take the second half of the tape from the socket, its descriptors to `SENT`, and go on there.

    Go to `gone` when the other end of the socket has been closed.
    """
    heard, zero = tape.cell(), tape.data(bytes(8))
    message = message_header(tape, place, REST_BYTES, _CONTROL, CONTROL_BYTES)
    tape.call("setup", "recvmsg", SOCKET, message, _CLOEXEC_FDS, into=heard, why="wait for the run")
    tape.jump_if_equal(heard, zero, gone)
    tape.jump_if_equal(zero, zero, At(place + HEADER.size))


def reap(tape: Tape) -> None:
    """Add the steps of init's life: give up everything, wait, end with the payload, and all that it left behind."""
    give_up_streams(tape)
    close_above_socket(tape)
    capabilities.tape_nothing(tape)
    tape_switch(tape, "no_new_privs", on=True)
    tape_switch(tape, "dumpable", on=False)
    init_filter().onto(tape)
    tell_end_of(tape, _CHILD)


def _send(tape: Tape, layer: str, kind: Kind, fd: Cell) -> None:
    """Add the steps that say `kind` and hand the descriptor in the cell `fd` over, of which a copy stays here."""
    message, copy = _message_with_fd(tape, kind)
    tape.call(layer, "dup", Word(fd), into=copy)
    tape.call(layer, "sendmsg", SOCKET, message, 0, why=f"send what {kind.name.lower()} needs")
    tape.call(layer, "close", Word(copy))


def _message_with_fd(tape: Tape, kind: Kind) -> tuple[Cell, Cell]:
    """A struct msghdr that says `kind`, and the place for the descriptor that it hands over."""
    control = tape.space(_ONE_FD.pack(_ONE_FD_LENGTH, _SOL_SOCKET, _SCM_RIGHTS, 0))
    message = message_header(tape, tape.data(struct.pack("=Q", kind)), 8, control, _ONE_FD.size)
    return message, control.plus(CONTROL_HEADER)

"""The tape of one command that enters an environment.

The launcher, which the caller started, joins the environment's control groups and namespaces by the pidfd of its init
and ends. Its child lays down every right as the payload of a one-shot run does. *Shared*: the child is the payload,
the caller's own child, beside the environment's other processes. *Fresh*: the child is the init of new pid, ipc and
mount namespaces with an empty /tmp, and the payload is its child. *Ahead*: it waits, with every right laid down, for
the command, which comes as the second half of the tape (`native/rest.py`).
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from skillkeep.kernel import capabilities, mounts
from skillkeep.kernel.process import tape_parent_death, tape_switch
from skillkeep.kernel.rlimits import tape_limit
from skillkeep.kernel.tape import Cell, Label, Program, Tape, Word
from skillkeep.runner.native.filters import init_filter, payload_filter
from skillkeep.runner.native.layout import Host
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.plan import INSIDE_ID
from skillkeep.runner.native.program import REST_OF_PAYLOAD, go_on_at
from skillkeep.runner.native.rootfs import BindShape, restrict_proc
from skillkeep.runner.native.steps import (
    GROUPS_AT,
    SOCKET,
    TAPE,
    become,
    close_above_socket,
    execute,
    give_up_streams,
    make_folders,
    restrict_files,
    say,
    take_cores,
    take_terminal,
    tell_end_of,
    tell_failure,
    wait_for_word,
)

__all__ = ["HOLDER_AT", "EntranceBuilder", "EntranceShape", "make_entrance"]

HOLDER_AT = GROUPS_AT + 4
"""Descriptor of the holder's pidfd; the control groups' are below it."""
_NEW = {"mnt": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000, "pid": 0x20000000}
_NET, _CGROUP, _PARENT = 0x40000000, 0x02000000, 0x8000
_SET_FD, _CLOEXEC = 2, 1


@dataclass(frozen=True)
class EntranceShape:
    """All of a command that changes which steps are needed."""

    host: Host
    as_root: bool
    groups: int
    landlock: int
    binds: tuple[BindShape, ...]
    limits: tuple[str, ...]
    cores: tuple[int, ...]
    tmp_bytes: int
    candidates: int
    fresh: bool
    terminal: bool
    ahead: bool = False
    """It enters before its command is known, which comes as the second half of the tape."""

    @property
    def bounded(self) -> bool:
        """Whether a control group counts its memory, which is else a limit of each process and a watch."""
        return "data" not in self.limits


def make_entrance(shape: EntranceShape) -> Program:
    """The tape for `shape`. Named cells: ``soft_<limit>``, ``hard_<limit>``, ``workdir``, ``program<n>``, ``argv``,
    ``env``, as of a one-shot run's.
    """
    return EntranceBuilder(shape).build()


class EntranceBuilder:
    """Writes the tape for one shape; the zygote of a warm interpreter enters with a payload of its own."""

    def __init__(self, shape: EntranceShape) -> None:
        self.shape, self.tape = shape, Tape()
        self.gone, self.failed, self.payload, self.inside = Label(), Label(), Label(), Label()
        self.zero = self.tape.data(bytes(8))

    def build(self) -> Program:
        """The finished tape."""
        tape = self.tape
        tape.call("descriptors", "close", TAPE)
        # Not before the filters are laid down may anybody inside look into what carries them out.
        tape_switch(tape, "dumpable", on=False)
        tape.call("setup", "umask", 0o022)
        self._join()
        born = tape.cell()
        self._clone(born)
        tape.jump_if_equal(born, self.zero, self.inside)
        tape.call("setup", "exit_group", 0)
        tape.mark(self.inside)
        if self.shape.fresh:
            self._init()
            tape.mark(self.payload)
        self.lay_payload()
        tell_failure(tape, self.failed, self.gone)
        return tape.finish(self.failed)

    def _join(self) -> None:
        tape, shape = self.tape, self.shape
        for index in range(shape.groups):
            tape.call("cgroup", "write", GROUPS_AT + index, b"0", 1, why="join the control group")
        flags = _NEW["user"] | _NEW["mnt"] | _NEW["uts"] | _NET | _CGROUP
        flags |= 0 if shape.fresh else _NEW["pid"] | _NEW["ipc"]
        tape.call("namespaces", "setns", HOLDER_AT, flags, why="enter the environment")
        if shape.as_root:
            become(tape, 0)

    def _clone(self, born: Cell) -> None:
        """A child of the caller, which the pid namespace takes effect for."""
        tape = self.tape
        flags = _PARENT | (_NEW["mnt"] | _NEW["ipc"] | _NEW["pid"] if self.shape.fresh else 0)
        tape.call("namespaces", "clone", flags | signal.SIGCHLD, 0, 0, 0, 0, into=born)

    def _init(self) -> None:
        tape, child = self.tape, self.tape.cell()
        tape_parent_death(tape)
        close_above_socket(tape)
        mounts.mount_new(tape, "proc", "proc", "/proc", "hidepid=2", programs=False)
        restrict_proc(tape, self.shape.host)
        self.fresh_scratch()
        tape.call("setup", "clone", signal.SIGCHLD, 0, 0, 0, 0, into=child)
        tape.jump_if_equal(child, self.zero, self.payload)
        self._reap(child)

    def fresh_scratch(self) -> None:
        """An empty /tmp and /dev/shm; what the environment shows below /tmp is shown there again."""
        tape, options = self.tape, f"size={self.shape.tmp_bytes},nr_inodes=65536,mode=1777"
        below = [bind for bind in self.shape.binds if bind.target.startswith("/tmp/")]  # noqa: S108  inside
        trees = [mounts.open_tree(tape, "tmp", os.fsencode(bind.target)) for bind in below]
        mounts.mount_new(tape, "tmp", "tmpfs", "/tmp", options)  # noqa: S108
        mounts.mount_new(tape, "tmp", "tmpfs", "/dev/shm", options, programs=False)  # noqa: S108
        for bind, tree in zip(below, trees, strict=True):
            make_folders(tape, "tmp", bind.target)
            mounts.attach(tape, "tmp", tree, os.fsencode(bind.target))

    def _reap(self, child: Cell) -> None:
        tape = self.tape
        give_up_streams(tape)
        capabilities.tape_nothing(tape)
        tape_switch(tape, "no_new_privs", on=True)
        init_filter().onto(tape)
        tell_end_of(tape, child)

    def lay_payload(self) -> None:
        """Everything that the payload does before it is the program."""
        tape, shape = self.tape, self.shape
        tape.call("descriptors", "setsid")
        if shape.terminal:
            take_terminal(tape)
        close_above_socket(tape)
        tape.call("descriptors", "fcntl", SOCKET, _SET_FD, _CLOEXEC, why="close the socket on execve")
        capabilities.tape_bounding(tape)
        if shape.as_root:
            become(tape, INSIDE_ID)
        capabilities.tape_nothing(tape)
        tape_parent_death(tape)
        tape_switch(tape, "dumpable", on=False)  # again: the kernel changes it with the ids
        if not shape.ahead:
            tape.call("workdir", "chdir", Word(tape.cell(name="workdir")), why="enter the working folder")
        tape_switch(tape, "no_new_privs", on=True)
        if shape.landlock:
            # A domain of its own also keeps commands from each other's memory.
            restrict_files(tape, shape.landlock, shape.binds, bounded=shape.bounded, own_scratch=False)
        for name in shape.limits:
            tape_limit(tape, name)
        take_cores(tape, shape.cores)
        payload_filter(bounded=shape.bounded, pinned=bool(shape.cores)).onto(tape)
        # The caller measures this process before it lets it go; execve sets the flag anew in any case.
        tape_switch(tape, "dumpable", on=True)
        say(tape, Kind.READY)
        if shape.ahead:
            go_on_at(tape, REST_OF_PAYLOAD, self.gone)
            return
        wait_for_word(tape, self.gone)
        execute(tape, shape.candidates)

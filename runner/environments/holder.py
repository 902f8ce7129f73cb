"""The tape that builds an environment: its root, and the init that holds it open for commands to enter.

Init keeps no right, no memory of ours and no descriptor. It waits for ever and lets the kernel reap what commands
leave behind; when it is killed, everything in its pid namespace is. Nothing ends it with the process that made it.
"""

from __future__ import annotations

import signal
import struct
from dataclasses import dataclass
from functools import cache

from skillkeep.kernel import capabilities, mounts, namespaces
from skillkeep.kernel.process import tape_switch
from skillkeep.kernel.seccomp import ALLOW, Filter
from skillkeep.kernel.tape import Label, Program, Tape, Word
from skillkeep.runner.native.layout import Host
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.rootfs import BindShape, build_root, finish_root, open_sources
from skillkeep.runner.native.steps import (
    GROUPS_AT,
    INTO_GROUP,
    SOCKET,
    TAPE,
    become,
    close_above_socket,
    give_up_streams,
    join_groups,
    say,
    tell_failure,
    wait_for_ids,
)

__all__ = ["LIFELINE_AT", "HolderShape", "holder_filter", "make_holder"]

_IGNORE = struct.pack("=QQQQ", 1, 0, 0, 0)  # struct sigaction with SIG_IGN
_HOLDER_CALLS = "ppoll read write close exit_group restart_syscall"
LIFELINE_AT = GROUPS_AT + 4
"""Where the pipe is whose other end is held by whoever the environment is to end with."""


@dataclass(frozen=True)
class HolderShape:
    """All of an environment that changes which steps build it. `hostname` is its name."""

    host: Host
    as_root: bool
    groups: int
    into_group: bool
    binds: tuple[BindShape, ...]
    tmp_bytes: int
    hostname: str
    lifeline: bool = False
    """Whether it ends with a pipe that somebody holds."""


@cache
def holder_filter() -> Filter:
    """What init needs: to wait."""
    return Filter(dict.fromkeys(_HOLDER_CALLS.split(), ALLOW))


def make_holder(shape: HolderShape) -> Program:
    """The tape for `shape`. Named cells: ``policy``, ``policy_size``, ``passwd`` and ``source<n>`` (paths)."""
    tape = Tape()
    init, failed, gone = Label(), Label(), Label()
    born, zero = tape.cell(), tape.data(bytes(8))
    tape.call("descriptors", "close", TAPE)
    namespaces.tape_clone(tape, born, INTO_GROUP if shape.into_group else None)
    tape.jump_if_equal(born, zero, init)
    tape.call("setup", "exit_group", 0)
    tape.mark(init)
    tape.call("setup", "umask", 0o022)
    tape.call("setup", "setsid")
    say(tape, Kind.HELLO)
    sent = wait_for_ids(tape, shape.binds, gone)
    join_groups(tape, range(GROUPS_AT, GROUPS_AT + shape.groups), shape.into_group)
    paths = [tape.cell(name=f"source{number}") for number in range(len(shape.binds))]
    sources = open_sources(tape, shape.host, shape.binds, paths, sent)
    passwd = mounts.open_tree(tape, "root", Word(tape.cell(name="passwd")))
    if shape.as_root:
        become(tape, 0)
    namespaces.tape_names(tape, shape.hostname.encode())
    build_root(tape, shape.host, sources, shape.tmp_bytes)
    mounts.restrict(tape, "root", passwd, programs=False)
    mounts.attach(tape, "root", passwd, b"/etc/passwd")
    finish_root(tape, sources.binds, shape.binds)
    _hold(tape, shape)
    tell_failure(tape, failed, gone)
    return tape.finish(failed)


def _hold(tape: Tape, shape: HolderShape) -> None:
    """Give up everything, say so, and wait. Children that others leave behind are reaped by the kernel."""
    again = Label()
    give_up_streams(tape)
    if shape.lifeline:
        tape.call("descriptors", "close_range", SOCKET + 1, LIFELINE_AT - 1, 0)
        tape.call("descriptors", "close_range", LIFELINE_AT + 1, 0xFFFF_FFFF, 0)
    else:
        close_above_socket(tape)
    tape.call("setup", "rt_sigaction", signal.SIGCHLD, tape.data(_IGNORE), None, 8)
    capabilities.tape_nothing(tape)
    tape_switch(tape, "no_new_privs", on=True)
    # Without root, entering by its pidfd asks for the right to look into it. There is nothing in it to see.
    tape_switch(tape, "dumpable", on=not shape.as_root)
    holder_filter().onto(tape)
    say(tape, Kind.WAITING)
    tape.call("descriptors", "close", SOCKET)
    zero = tape.data(bytes(8))
    if shape.lifeline:
        tape.call("setup", "read", LIFELINE_AT, tape.space(bytes(8)), 8, tolerate=-1, why="wait for the maker")
        tape.call("setup", "exit_group", 0)
    tape.mark(again)
    tape.call("setup", "ppoll", None, 0, None, None, 0, tolerate=-1)
    tape.jump_if_equal(zero, zero, again)

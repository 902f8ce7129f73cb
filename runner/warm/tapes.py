"""The tapes of a warm interpreter: how its zygote enters the sandbox, and what each call is put into.

The zygote keeps five capabilities, of the sandbox's own user namespace only: with them it makes namespaces, mounts and
ids for the next call. A call holds none, and has the filter, the Landlock rules and the root of a one-shot run.
"""

from __future__ import annotations

import errno
import os
import struct
from functools import cache

from skillkeep.kernel import capabilities, mounts
from skillkeep.kernel.calls import ordinary_rules
from skillkeep.kernel.libc import AT_FDCWD
from skillkeep.kernel.process import tape_parent_death, tape_switch
from skillkeep.kernel.rlimits import tape_limit
from skillkeep.kernel.seccomp import ALLOW, Filter
from skillkeep.kernel.tape import Label, Program, Tape, Word
from skillkeep.runner.environments.entrance import EntranceBuilder, EntranceShape
from skillkeep.runner.native.filters import payload_filter
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.plan import HOME, INSIDE_ID
from skillkeep.runner.native.rootfs import restrict_proc
from skillkeep.runner.native.steps import (
    become,
    close_above_socket,
    execute,
    restrict_files,
    say,
    take_cores,
    wait_for_word,
)

__all__ = ["ROOM_BASE", "make_rights", "make_room", "make_zygote_entrance", "zygote_filter"]

_CAP_KILL, _CAP_SETGID, _CAP_SETUID, _CAP_SETPCAP, _CAP_SYS_ADMIN = 5, 6, 7, 8, 21
_KEPT = (_CAP_KILL, _CAP_SETGID, _CAP_SETUID, _CAP_SETPCAP, _CAP_SYS_ADMIN)
_VERSION_3 = 0x20080522
_BOUNDING_DROP, _AMBIENT, _AMBIENT_RAISE = 24, 47, 2
_BUILDING_CALLS = "unshare setns mount umount2 open_tree move_mount mount_setattr seccomp prctl prlimit64 setrlimit"
_NEW_MNT_IPC = 0x00020000 | 0x08000000
ROOM_BASE = 0x10_0000_0000
"""Where these tapes lie in the zygote: far above where its heap may begin, which is up to 1 GiB above the program."""


@cache
def zygote_filter() -> Filter:
    """The payload's calls, and those that make a room for the next call."""
    return Filter({**ordinary_rules(), **dict.fromkeys(_BUILDING_CALLS.split(), ALLOW)})


def make_zygote_entrance(shape: EntranceShape) -> Program:
    """The tape on which the zygote enters; its named cells are those of `make_entrance`."""
    return _ZygoteBuilder(shape).build()


class _ZygoteBuilder(EntranceBuilder):
    """A payload that keeps the right to build inside, and its socket."""

    def lay_payload(self) -> None:
        tape, shape = self.tape, self.shape
        tape.call("descriptors", "setsid")
        close_above_socket(tape)
        for capability in range(capabilities.last_capability() + 1):
            if capability not in _KEPT:
                tape.call(
                    "capabilities", "prctl", _BOUNDING_DROP, capability, 0, 0, 0, why="drop from the bounding set"
                )
        header, low = struct.pack("=Ii", _VERSION_3, 0), sum(1 << capability for capability in _KEPT)
        tape.call("capabilities", "capset", tape.data(header), tape.data(struct.pack("=6I", low, low, low, 0, 0, 0)))
        if not shape.as_root:
            for capability in _KEPT:
                words = (_AMBIENT, _AMBIENT_RAISE, capability, 0, 0)
                tape.call("capabilities", "prctl", *words, why="keep a capability over execve")
        tape_parent_death(tape)
        tape.call("workdir", "chdir", Word(tape.cell(name="workdir")))
        tape_switch(tape, "no_new_privs", on=True)
        for name in shape.limits:
            tape_limit(tape, name)
        zygote_filter().onto(tape)
        say(tape, Kind.READY)
        wait_for_word(tape, self.gone)
        execute(tape, shape.candidates)


def make_room(shape: EntranceShape) -> Program:
    """What pid 1 of a call does: mounts of its own, a fresh /proc, an empty /tmp. Ends with exit_group."""
    builder = EntranceBuilder(shape)
    tape, failed = builder.tape, Label()
    tape_parent_death(tape)  # the zygote's end is that of every call
    tape_switch(tape, "dumpable", on=False)
    tape.call("namespaces", "unshare", _NEW_MNT_IPC)
    mounts.mount_new(tape, "proc", "proc", "/proc", "hidepid=2", programs=False)
    restrict_proc(tape, shape.host)
    builder.fresh_scratch()
    return _end(tape, failed)


def make_rights(shape: EntranceShape, workdir: str) -> Program:
    """What a call does before it touches anything of the tool: everything that holds it. Ends with exit_group."""
    tape, failed = EntranceBuilder(shape).tape, Label()
    tape.call("descriptors", "setsid")
    capabilities.tape_bounding(tape)
    if shape.as_root:
        become(tape, INSIDE_ID)
    capabilities.tape_nothing(tape)
    tape_parent_death(tape)  # not before: a change of ids undoes it
    tape_switch(tape, "dumpable", on=False)
    tape.call("tmp", "mkdirat", AT_FDCWD, HOME.encode(), 0o700, tolerate=errno.EEXIST)
    tape.call("workdir", "chdir", os.fsencode(workdir), why="enter the working folder")
    tape_switch(tape, "no_new_privs", on=True)
    if shape.landlock:
        restrict_files(tape, shape.landlock, shape.binds, bounded=shape.bounded)
    take_cores(tape, shape.cores)
    payload_filter(bounded=shape.bounded, pinned=bool(shape.cores)).onto(tape)
    tape_switch(tape, "dumpable", on=True)
    return _end(tape, failed)


def _end(tape: Tape, failed: Label) -> Program:
    tape.call("setup", "exit_group", 0)
    tape.mark(failed)
    tape.call("setup", "exit_group", 1)
    return tape.finish(failed, ROOM_BASE)

"""Steps that the tapes of sandboxes, environments, their commands and warm calls have in common."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Sequence

from skillkeep.kernel import landlock, namespaces
from skillkeep.kernel.libc import AT_FDCWD
from skillkeep.kernel.tape import ANY, BASE, FAILURE, At, Cell, Label, Tape, Word
from skillkeep.runner.egress.place import PORT
from skillkeep.runner.native.layout import DEVICES
from skillkeep.runner.native.messages import USAGE_BYTES, Kind
from skillkeep.runner.native.plan import SHARED, scratch_beside
from skillkeep.runner.native.rootfs import BindShape

__all__ = [
    "CONTROL_BYTES",
    "CONTROL_HEADER",
    "GROUPS_AT",
    "INTO_GROUP",
    "SOCKET",
    "TAPE",
    "become",
    "close_above_socket",
    "execute",
    "give_up_streams",
    "join_groups",
    "make_folders",
    "message_header",
    "restrict_files",
    "say",
    "take_cores",
    "take_terminal",
    "tell_end_of",
    "tell_failure",
    "wait_for_ids",
    "wait_for_word",
]

TAPE, SOCKET, INTO_GROUP, GROUPS_AT = 3, 4, 5, 6
"""Descriptor numbers: the tape itself, the socket, the v2 group to be born in, the first v1 group to join."""
CONTROL_BYTES = 1040
"""Room for the control message of SCM_MAX_FD descriptors."""
CONTROL_HEADER = 16
"""Bytes of a struct cmsghdr."""

_MESSAGE, _VECTOR = struct.Struct("=QIxxxxQQQQi4x"), struct.Struct("=QQ")  # struct msghdr, struct iovec
_CORES_BYTES = 128
_ALL = 0xFFFF_FFFF
_STREAMS = 3
_ALL_CHILDREN = 0x4000_0000  # __WALL
_TIOCSCTTY = 0x540E
_SELF, _CHILDREN = 0, -1  # RUSAGE_


def say(tape: Tape, kind: Kind) -> None:
    """Send one message without numbers."""
    tape.call("setup", "write", SOCKET, tape.data(struct.pack("=Q", kind)), 8)


def message_header(tape: Tape, data: Cell | At | int, size: int, control: Cell | At, control_bytes: int) -> Cell:
    """A struct msghdr for `size` bytes at `data` and `control_bytes` of control messages at `control`."""
    vector = tape.space(bytes(_VECTOR.size))
    message = tape.space(_MESSAGE.pack(0, 0, 0, 1, 0, control_bytes, 0))
    tape.point(vector, data)
    tape.point(vector.plus(8), size)
    tape.point(message.plus(16), vector)
    tape.point(message.plus(32), control)
    return message


def wait_for_ids(tape: Tape, binds: Sequence[BindShape], gone: Label) -> list[Cell]:
    """Wait until the ids are written; the cells of descriptors that came along. Go to `gone` at the starter's end."""
    word, control, heard = tape.space(bytes(8)), tape.space(bytes(CONTROL_BYTES)), tape.cell()
    message = message_header(tape, word, 8, control, CONTROL_BYTES)
    tape.call("setup", "recvmsg", SOCKET, message, 0, into=heard, why="wait for the ids")
    tape.jump_if_equal(heard, tape.data(bytes(8)), gone)
    return [control.plus(CONTROL_HEADER + 4 * number) for number in range(sum(bind.mapped for bind in binds))]


def join_groups(tape: Tape, ways: Sequence[int | Word], into_group: bool) -> None:
    """Join each v1 control group, and let what is seen of all of them begin where this process is."""
    for way in ways:
        tape.call("cgroup", "write", way, b"0", 1, why="join the control group")
        tape.call("cgroup", "close", way)
    if into_group:
        tape.call("cgroup", "close", INTO_GROUP)
    namespaces.tape_leave_cgroup_view(tape)


def become(tape: Tape, inside_id: int) -> None:
    """Take one id of the user namespace, for users and groups, and no other group."""
    why = f"become id {inside_id}"
    tape.call("user_map", "setgroups", 0, None, why=why)
    tape.call("user_map", "setresgid", inside_id, inside_id, inside_id, why=why)
    tape.call("user_map", "setresuid", inside_id, inside_id, inside_id, why=why)


def close_above_socket(tape: Tape) -> None:
    """Close every descriptor behind the socket's."""
    tape.call("descriptors", "close_range", SOCKET + 1, _ALL, 0)


def give_up_streams(tape: Tape) -> None:
    """Put /dev/null in the place of the three streams."""
    null = tape.cell()
    tape.call("descriptors", "openat", AT_FDCWD, b"/dev/null", os.O_RDWR, 0, into=null)
    for stream in range(_STREAMS):
        tape.call("descriptors", "dup3", Word(null), stream, 0)


def take_terminal(tape: Tape) -> None:
    """Have the terminal behind descriptor 0 control the session that this process has just begun."""
    tape.call("terminal", "ioctl", 0, _TIOCSCTTY, 0, why="take the terminal")


def make_folders(tape: Tape, layer: str, path: str) -> None:
    """Make every folder on the way to `path`, itself included."""
    parts = [part for part in path.split("/") if part]
    for depth in range(1, len(parts) + 1):
        folder = "/" + "/".join(parts[:depth])
        tape.call(layer, "mkdirat", AT_FDCWD, os.fsencode(folder), 0o755, tolerate=errno.EEXIST, why="make a folder")


def restrict_files(
    tape: Tape,
    version: int,
    binds: Sequence[BindShape],
    egress: bool = False,
    *,
    bounded: bool = True,
    own_scratch: bool = True,
) -> None:
    """Landlock of ABI `version` over the finished root; with `egress`, the proxy's port may be reached.

    Without `bounded`, where no control group counts memory, /dev/zero can only be read: whoever may write it can map
    pages of it that stay when they are not mapped any more. Without `own_scratch` others were in its /tmp before,
    who may have put a writable bind below another name there.
    """
    rights = landlock.Rights(version)
    rules = landlock.TapeRuleset(tape, rights)
    rules.allow(b"/", rights.access(execute=True))
    if bounded:
        rules.allow(b"/dev", rights.access(write=True))
    else:
        for name in sorted(DEVICES.keys() - {"zero"}):
            rules.allow(f"/dev/{name}".encode(), rights.access(write=True, folder=False))
    scratch = scratch_beside(bind.target for bind in binds if bind.writable)
    if scratch != "/tmp":  # noqa: S108
        rules.allow(b"/tmp", rights.access(write=True, execute=True))
        scratch = scratch if own_scratch else SHARED
    for path in sorted({scratch, SHARED}):
        rules.allow(path.encode(), rights.access(all_of_it=True))
    for bind in binds:
        if bind.writable:
            # What is left there is the host's to meet: plain files, folders and links only.
            there = rights.access(write=True, execute=True, folder=bind.folder)
            rules.allow(os.fsencode(bind.target), there)
    if egress:
        rules.allow_connect(PORT)
    rules.restrict_self()


def take_cores(tape: Tape, cores: Sequence[int]) -> None:
    """Run on these processors only; on any when there are none."""
    if cores:
        mask = sum(1 << core for core in cores).to_bytes(_CORES_BYTES, "little")
        tape.call("cpu", "sched_setaffinity", 0, len(mask), tape.data(mask))


def wait_for_word(tape: Tape, gone: Label) -> None:
    """Wait for one word on the socket; go to `gone` when its other end has been closed."""
    heard, word, zero = tape.cell(), tape.space(bytes(8)), tape.data(bytes(8))
    tape.call("setup", "read", SOCKET, word, 8, into=heard, why="wait for the word")
    tape.jump_if_equal(heard, zero, gone)


def execute(tape: Tape, count: int) -> None:
    """Try each of `count` paths as execvp(3) does, then say with what errno each failed."""
    zero = tape.data(bytes(8))
    report = tape.space(struct.pack(f"={count + 1}q", Kind.UNSTARTED, *[0] * count))
    argv, env, over = Word(tape.cell(name="argv")), Word(tape.cell(name="env")), Label()
    go_on = [tape.data(struct.pack("=q", -number)) for number in (errno.ENOENT, errno.ENOTDIR, errno.EACCES)]
    for number in range(count):
        answer, following = report.plus(8 * (number + 1)), Label()
        path = Word(tape.cell(name=f"program{number}"))
        tape.call("setup", "execve", path, argv, env, into=answer, tolerate=-1)
        for reason in go_on:
            tape.jump_if_equal(answer, reason, following)
        tape.jump_if_equal(zero, zero, over)
        tape.mark(following)
    tape.mark(over)
    tape.call("setup", "write", SOCKET, report, 8 * (count + 1))
    tape.call("setup", "exit_group", 127)


def tell_end_of(tape: Tape, child: Cell | At) -> None:
    """Say that init waits, reap until `child` has ended, tell how and what else there is, and leave.

    The last wait's answer is told, too: whoever a process leaves behind becomes init's own child, so that ECHILD, of
    children of every kind (__WALL), says that nobody is left in the pid namespace (pid_namespaces(7)).
    """
    again, ended, more, told, leave = Label(), Label(), Label(), Label(), Label()
    zero, nobody = tape.data(bytes(8)), tape.data(struct.pack("=q", -errno.ECHILD))
    say(tape, Kind.WAITING)
    report, pid = tape.space(struct.pack("=Qqq", Kind.ENDED, 0, 0) + bytes(2 * USAGE_BYTES)), tape.cell()
    left = report.plus(16)
    tape.mark(again)
    tape.call("setup", "wait4", -1, report.plus(8), 0, 0, into=pid, tolerate=errno.EINTR)
    tape.jump_if_equal(pid, child, ended)
    tape.jump_if_equal(zero, zero, again)
    tape.mark(ended)
    tape.mark(more)
    wanted = os.WNOHANG | _ALL_CHILDREN
    tape.call("setup", "wait4", -1, tape.space(bytes(8)), wanted, 0, into=left, tolerate=errno.ECHILD)
    tape.jump_if_equal(left, zero, told)
    tape.jump_unless_equal(left, nobody, more)
    tape.mark(told)
    for number, whose in enumerate((_SELF, _CHILDREN)):
        tape.call("setup", "getrusage", whose, report.plus(24 + number * USAGE_BYTES))
    tape.call("setup", "write", SOCKET, report, 24 + 2 * USAGE_BYTES)
    # Whoever hears that goes first where it is woken on this core: to leave takes as long as to make a result.
    tape.jump_unless_equal(left, nobody, leave)
    tape.call("setup", "sched_yield", tolerate=ANY)
    tape.mark(leave)
    tape.call("setup", "exit_group", 0)


def tell_failure(tape: Tape, failed: Label, gone: Label) -> None:
    """The end of a tape: report the failed step, and leave.

    Pid 1 is not killed by SIGPIPE: with nobody left to tell, it must end by itself.
    """
    tape.mark(failed)
    tape.call("setup", "write", SOCKET, BASE, FAILURE.size, tolerate=ANY)
    tape.mark(gone)
    tape.call("setup", "exit_group", 1)

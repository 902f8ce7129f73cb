"""Steps of a tape that both the holder of an environment and a command entering it need."""

from __future__ import annotations

import errno
import os
import struct

from skillkeep.kernel.libc import AT_FDCWD
from skillkeep.kernel.tape import ANY, BASE, FAILURE, Label, Tape, Word
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.program import SOCKET

__all__ = ["become", "close_above_socket", "give_up_streams", "make_folders", "say", "tell_failure", "wait_for_word"]

_ALL = 0xFFFF_FFFF
_STREAMS = 3


def say(tape: Tape, kind: Kind) -> None:
    """Send one message without numbers."""
    tape.call("setup", "write", SOCKET, tape.data(struct.pack("=Q", kind)), 8)


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


def make_folders(tape: Tape, layer: str, path: str) -> None:
    """Make every folder on the way to `path`, itself included."""
    parts = [part for part in path.split("/") if part]
    for depth in range(1, len(parts) + 1):
        folder = "/" + "/".join(parts[:depth])
        tape.call(layer, "mkdirat", AT_FDCWD, os.fsencode(folder), 0o755, tolerate=errno.EEXIST, why="make a folder")


def wait_for_word(tape: Tape, gone: Label) -> None:
    """Wait for one word on the socket; go to `gone` when its other end has been closed."""
    heard, word, zero = tape.cell(), tape.space(bytes(8)), tape.data(bytes(8))
    tape.call("setup", "read", SOCKET, word, 8, into=heard, why="wait for the word")
    tape.jump_if_equal(heard, zero, gone)


def tell_failure(tape: Tape, failed: Label, gone: Label) -> None:
    """The end of a tape: report the failed step, and leave."""
    tape.mark(failed)
    tape.call("setup", "write", SOCKET, BASE, FAILURE.size, tolerate=ANY)
    tape.mark(gone)
    tape.call("setup", "exit_group", 1)

"""How the first processes of a sandbox come to be, which is the same for all of them.

The *launcher* only makes init and ends. *Init* is pid 1 of the sandbox: it says hello and waits until it has its ids
and is sent the tape of its own sandbox. What that is to be is worked out while the kernel makes its namespaces, or long
after that (`newborn`).
"""

from __future__ import annotations

from functools import cache

from skillkeep.kernel import namespaces
from skillkeep.kernel.process import tape_parent_death
from skillkeep.kernel.tape import BASE, HEADER, SIZE, At, Label, Program, Tape, Word
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.steps import (
    CONTROL_BYTES,
    CONTROL_HEADER,
    INTO_GROUP,
    SOCKET,
    TAPE,
    message_header,
    say,
    tell_failure,
)

__all__ = ["OWN_TAPE", "OWN_TAPE_BYTES", "birth", "given"]

_CONTROL = At(BASE + 0x8000)
OWN_TAPE = BASE + 0x1_0000
"""Where the tape of a sandbox lies, and how much room it has, in bytes."""
OWN_TAPE_BYTES = SIZE - (OWN_TAPE - BASE)


@cache
def birth(into_group: bool) -> Program:
    """The tape of the launcher, and of init up to `OWN_TAPE`. `into_group`: it is born in a group (v2)."""
    tape = Tape()
    init, failed, gone, zero = Label(), Label(), Label(), tape.data(bytes(8))
    born, parent, heard = tape.cell(), tape.cell(), tape.cell()
    tape.call("descriptors", "close", TAPE)
    namespaces.tape_clone(tape, born, INTO_GROUP if into_group else None)
    tape.jump_if_equal(born, zero, init)
    tape.call("setup", "exit_group", 0)
    tape.mark(init)
    tape.call("setup", "umask", 0o022)
    tape_parent_death(tape)
    tape.call("death_signal", "getppid", into=parent)
    tape.jump_unless_equal(parent, zero, gone)
    say(tape, Kind.HELLO)
    message = message_header(tape, tape.space(bytes(8)), 8, _CONTROL, CONTROL_BYTES)
    tape.call("setup", "recvmsg", SOCKET, message, 0, into=heard, why="wait for the ids")
    tape.jump_if_equal(heard, zero, gone)
    tape.call("setup", "read", Word(given(0)), OWN_TAPE, OWN_TAPE_BYTES, why="take the tape")
    tape.call("descriptors", "close", Word(given(0)), why="close the tape")
    tape.jump_if_equal(zero, zero, At(OWN_TAPE + HEADER.size))
    tell_failure(tape, failed, gone)
    return tape.finish(failed, room=_CONTROL.address - BASE)


def given(number: int) -> At:
    """Where a descriptor lies that came with the word, four bytes; the first is the tape's."""
    return _CONTROL.plus(CONTROL_HEADER + 4 * number)

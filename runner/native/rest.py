"""The second halves of the tape of a sandbox that was built ahead: what one run adds to it.

Init gets the binds and the policy, finishes the root and gives up everything; then the payload gets its streams, its
working folder and its program. Both halves are the same steps, in the same order, that a sandbox built at once carries
out; nothing of a run reaches a payload before they are done and it has been measured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.tape import Cell, Program, Step, Tape, Word
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.program import (
    GATE,
    HOST_ROOT,
    REST_BYTES,
    REST_OF_INIT,
    REST_OF_PAYLOAD,
    SENT,
    reap,
)
from skillkeep.runner.native.rootfs import BindShape, finish_root, forget_host, open_from_host
from skillkeep.runner.native.steps import execute
from skillkeep.runner.native.tail import Commanded, Tail, candidates

__all__ = ["MOST_BYTES", "Rest", "prepare_command", "prepare_rest"]

MOST_BYTES = 0x1_0000
"""The longest second half that is sent; a longer command line gets a sandbox of its own."""


@dataclass(frozen=True)
class Rest:
    """The second halves for one run, and the steps in them."""

    init: bytes
    payload: bytes
    steps: Mapping[int, Step]


def prepare_rest(plan: Plan, binds: tuple[BindShape, ...], as_root: bool) -> Rest:
    """The second halves for `plan`. Raises KernelError when they are too long to be sent.

    As root the binds' trees are sent along, in order; else init opens them.
    """
    init = _rest_of_init(binds, as_root)
    tail = Tail(init.tail)
    policy = plan.policy_text.encode()
    values = {"policy": tail.text(policy), "policy_size": len(policy)}
    for number, bind in enumerate(() if as_root else plan.binds):
        values[f"source{number}"] = tail.text(os.fsencode(bind.source))
    first = _patched(init, values, tail)
    second, steps = prepare_command(plan)
    return Rest(_sendable(first), second, {**init.steps, **steps})


def prepare_command(plan: Commanded) -> tuple[bytes, Mapping[int, Step]]:
    """The payload's second half for `plan`, and its steps. Raises KernelError when it is too long to be sent."""
    payload = _rest_of_payload(len(paths := candidates(plan)))
    tail = Tail(payload.tail)
    values = {"workdir": tail.text(os.fsencode(plan.workdir))}
    for number, path in enumerate(paths):
        values[f"program{number}"] = tail.text(path)
    values["argv"] = tail.strings([os.fsencode(word) for word in plan.argv])
    values["env"] = tail.strings([os.fsencode(f"{key}={value}") for key, value in plan.env])
    return _sendable(_patched(payload, values, tail)), payload.steps


def _patched(half: Program, values: Mapping[str, int], tail: Tail) -> bytearray:
    try:
        return half.patched(values, bytes(tail.data))
    except ValueError as error:  # more than a program may hold
        raise KernelError("setup", 0, "too long to be sent") from error


def _sendable(half: bytearray) -> bytes:
    if len(half) > MOST_BYTES:
        raise KernelError("setup", 0, "too long to be sent")
    return bytes(half)


@lru_cache(maxsize=16)
def _rest_of_init(binds: tuple[BindShape, ...], as_root: bool) -> Program:
    tape = Tape()
    if as_root:
        trees = [SENT.plus(4 * number) for number in range(len(binds))]
        finish_root(tape, trees, binds)
    else:
        paths = [tape.cell(name=f"source{number}") for number in range(len(binds))]
        opened: list[Cell] = [open_from_host(tape, HOST_ROOT, Word(path)) for path in paths]
        forget_host(tape, HOST_ROOT)
        finish_root(tape, opened, binds)
    tape.call("setup", "write", GATE, tape.data((1).to_bytes(8, "little")), 8, why="let the payload go on")
    tape.call("descriptors", "close", GATE)
    reap(tape)
    return tape.finish(None, REST_OF_INIT, REST_BYTES)


@lru_cache(maxsize=16)
def _rest_of_payload(count: int) -> Program:
    tape = Tape()
    for stream in range(3):
        tape.call("descriptors", "dup3", Word(SENT.plus(4 * stream)), stream, 0)
    tape.call("workdir", "chdir", Word(tape.cell(name="workdir")), why="enter the working folder")
    execute(tape, count)
    return tape.finish(None, REST_OF_PAYLOAD, REST_BYTES)

"""An assembler for seccomp filters: rules by system call name in, a binary-search BPF program out.

The kernel runs the filter for every system call, so the program is a balanced tree over ranges of numbers and
a look-up costs about log2(ranges) steps. Source: Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import syscall
from skillkeep.kernel.syscalls import AUDIT_ARCH, machine, table
from skillkeep.kernel.tape import Cell, Tape

__all__ = ["ALLOW", "KILL", "NOTICE", "UNKNOWN", "Action", "Check", "Filter", "Rule", "deny"]

Action = int
"""A SECCOMP_RET_* value."""
ALLOW: Action = 0x7FFF0000
KILL: Action = 0x80000000
NOTICE: Action = 0x7FC00000
"""Ask whoever holds the filter's listener; ENOSYS when nobody does."""
UNKNOWN: Action = 0x00050000 | errno.ENOSYS

_ERRNO = 0x00050000
_SET_MODE_FILTER = 1
_NEW_LISTENER = 8
_OFFSET_NR, _OFFSET_ARCH, _OFFSET_ARGS = 0, 4, 16
_LOAD, _JEQ, _JGE, _JA, _AND, _RET = 0x20, 0x15, 0x35, 0x05, 0x54, 0x06
_MAX_INSTRUCTIONS = 4096

Instruction = tuple[int, int, int, int]


def deny(number: int = errno.EPERM) -> Action:
    """The action that makes a call fail with `number` without running it."""
    return _ERRNO | (number & 0xFFFF)


@dataclass(frozen=True)
class Check:
    """`action` if argument `index` AND `mask` is one of `values`; with `negated`, if it differs from any.

    With `wide` False only the low 32 bits count, as the kernel itself reads an `unsigned int` argument: bits
    above are ignored, so a caller cannot dodge the check by setting them.
    """

    index: int
    values: tuple[int, ...]
    action: Action
    mask: int = 0xFFFFFFFF
    wide: bool = False
    negated: bool = False


@dataclass(frozen=True)
class Rule:
    """Checks in order, the first that holds decides; otherwise `otherwise`."""

    checks: tuple[Check, ...]
    otherwise: Action


class Filter:
    """A compiled filter for one architecture. Every other architecture's calls kill the process."""

    def __init__(self, rules: Mapping[str, Action | Rule], default: Action = UNKNOWN, arch: str | None = None) -> None:
        self.arch = arch or machine()
        numbers = table(self.arch)
        by_number = {numbers[name]: rule for name, rule in rules.items() if name in numbers}
        self._program = _compile(AUDIT_ARCH[self.arch], _ranges(by_number, default))
        if len(self._program) > _MAX_INSTRUCTIONS:
            raise KernelError("seccomp", errno.E2BIG, "the filter is too long")

    def __len__(self) -> int:
        return len(self._program)

    @cached_property
    def code(self) -> bytes:
        """The program as the kernel takes it: `struct sock_filter` after `struct sock_filter`."""
        return b"".join(struct.pack("=HBBI", *step) for step in self._program)

    @cached_property
    def sha256(self) -> str:
        """Digest of `code`: what an assurance record names."""
        return hashlib.sha256(self.code).hexdigest()

    def install(self) -> None:
        """Confine the calling thread for good. Needs no_new_privs (or CAP_SYS_ADMIN). Raises KernelError."""
        code = ctypes.create_string_buffer(self.code, len(self._program) * 8)
        syscall("seccomp", "seccomp", _SET_MODE_FILTER, 0, _Program(len(self._program), ctypes.addressof(code)))

    def onto(self, tape: Tape, listener: Cell | None = None) -> None:
        """Add the step that confines whoever carries out the tape. Needs no_new_privs.

        `listener` receives the descriptor that `NOTICE` actions ask at.
        """
        program = tape.space(struct.pack("=HxxxxxxQ", len(self._program), 0))
        tape.point(program.plus(8), tape.data(self.code))
        flags = 0 if listener is None else _NEW_LISTENER
        tape.call("seccomp", "seccomp", _SET_MODE_FILTER, flags, program, into=listener)

    def decide(self, name: str, arguments: Sequence[int] = (), arch: str | None = None) -> Action:
        """What the program answers for a call, by running it here: for tests and for `explain`."""
        numbers = table(self.arch)
        number = numbers[name] if name in numbers else int(name, 0)
        words = [*arguments, *[0] * (6 - len(arguments))]
        data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, AUDIT_ARCH[arch or self.arch], 0, *words)
        return _interpret(self._program, data)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _ranges(rules: Mapping[int, Action | Rule], default: Action) -> list[tuple[int, Action | Rule]]:
    """(first number, rule) for each run of equal rules, covering 0 to 2^32-1."""
    runs: list[tuple[int, Action | Rule]] = [(0, default)]
    for number in sorted(rules):
        for start, rule in ((number, rules[number]), (number + 1, default)):
            if runs[-1][0] == start:
                runs.pop()
            if not runs or runs[-1][1] != rule:
                runs.append((start, rule))
    return runs


def _compile(arch: int, runs: list[tuple[int, Action | Rule]]) -> list[Instruction]:
    return [
        (_LOAD, 0, 0, _OFFSET_ARCH),
        (_JEQ, 1, 0, arch),
        (_RET, 0, 0, KILL),
        (_LOAD, 0, 0, _OFFSET_NR),
        *_tree(runs),
    ]


def _tree(runs: list[tuple[int, Action | Rule]]) -> list[Instruction]:
    if len(runs) == 1:
        return _leaf(runs[0][1])
    middle = len(runs) // 2
    below, above = _tree(runs[:middle]), _tree(runs[middle:])
    # A conditional jump reaches 255 steps, an unconditional one any distance.
    return [(_JGE, 0, 1, runs[middle][0]), (_JA, 0, 0, len(below)), *below, *above]


def _leaf(rule: Action | Rule) -> list[Instruction]:
    if isinstance(rule, int):
        return [(_RET, 0, 0, rule)]
    steps: list[Instruction] = []
    for check in rule.checks:
        for value in check.values:
            steps += _match(check, value)
    return [*steps, (_RET, 0, 0, rule.otherwise)]


def _match(check: Check, value: int) -> list[Instruction]:
    """Return the check's action when it holds, else fall through. BPF words are little-endian halves."""
    low = _OFFSET_ARGS + 8 * check.index
    parts = [(low, check.mask & 0xFFFFFFFF, value & 0xFFFFFFFF)]
    if check.wide:
        parts.append((low + 4, check.mask >> 32, value >> 32))
    steps: list[Instruction] = [(_JA, 0, 0, 1)] if check.negated else [(_RET, 0, 0, check.action)]
    for offset, mask, wanted in reversed(parts):
        steps = [(_LOAD, 0, 0, offset), (_AND, 0, 0, mask), (_JEQ, 0, len(steps), wanted), *steps]
    # Negated: a match jumps over the action, a difference falls onto it.
    return [*steps, (_RET, 0, 0, check.action)] if check.negated else steps


def _interpret(program: Sequence[Instruction], data: bytes) -> Action:
    at = accumulator = 0
    while True:
        code, when_true, when_false, value = program[at]
        at += 1
        if code == _LOAD:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == _AND:
            accumulator &= value
        elif code == _JA:
            at += value
        elif code == _RET:
            return value
        else:
            holds = accumulator == value if code == _JEQ else accumulator >= value
            at += when_true if holds else when_false

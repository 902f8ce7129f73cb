"""Pickles, put down as the Python program that loading them runs; nothing in them is imported or called.

The machine is that of `pickletools` (protocols 0 to 5): each call that a pickle makes becomes a line of source, which
the engine for Python judges. A pickle that breaks off has run as far as it goes, so what it did before counts too.
"""

from __future__ import annotations

import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity, Part
from skillkeep.auditor.engines.interface import Context

__all__ = ["is_pickle", "read_pickle"]

_MOST_STEPS: Final = 200_000
_MOST_PICKLES: Final = 64  # one behind the other, as PyTorch's older files have them
_LONGEST: Final = 2_000  # characters of a value's source
_MOST_LINES: Final = 2_000
_MOST_TEXT: Final = 4 << 20  # characters of all values: a tuple of tuples may double with each step
_HEAD: Final = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?[\x88-\x8e\x96()\]}NcKMJGXUTBCh\x8fqr]", re.DOTALL)
_ARRAY: Final = re.compile(
    rb"\x93NUMPY[\x01-\x03]\x00(?:.{2}|.{4})\{[^}]{0,400}'descr':[^}]{0,200}O[^}]{0,400}\}\s*\n", re.DOTALL
)
_NAME: Final = re.compile(r"[A-Za-z_][\w.]{0,200}")
_WIDEST: Final = 256  # bits of a number
_MARK: Final = object()


def is_pickle(data: bytes) -> bool:
    """True for bytes that begin as a pickle of protocol 2 or later, or as a NumPy array of objects, which is one."""
    return _HEAD.match(data) is not None or _ARRAY.match(data[:4096]) is not None


def read_pickle(data: bytes, budget: Budget) -> Part:
    """What loading the pickle runs, as source. Never raises on content."""
    array = _ARRAY.match(data[:4096])
    stream = BytesIO(data[array.end() if array else 0 :])
    machine, whole = _Machine(), False
    for _ in range(_MOST_PICKLES):
        whole = machine.run(stream)
        if not whole or not _HEAD.match(stream.getbuffer()[stream.tell() : stream.tell() + 16]):
            break
    budget.spend(len(machine.source))
    if machine.lines:
        yield Member("pickle.py", machine.source, Context.PYTHON)
    if not whole:
        yield Oddity("tree-unknown-binary", "pickle", "a pickle that breaks off or is longer than what is read")


@dataclass
class _Machine:
    """The stack holds sources of values, lists of them that are still filled, and marks."""

    lines: list[str] = field(default_factory=list)
    imports: dict[str, None] = field(default_factory=dict)
    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    steps: int = 0
    made: int = 0
    text: int = 0

    @property
    def source(self) -> str:
        """All of it: what is imported first, then every call in its order."""
        return "".join(f"import {name}\n" for name in self.imports) + "".join(f"{line}\n" for line in self.lines)

    def run(self, stream: BytesIO) -> bool:
        """Go through one pickle; False when it broke off or a budget ran out."""
        self.stack.clear()
        try:
            for opcode, argument, _ in pickletools.genops(stream):
                self.steps += 1
                if self.steps > _MOST_STEPS or len(self.lines) > _MOST_LINES:
                    return False
                self._step(opcode, argument)
        except (ValueError, IndexError, KeyError, OverflowError, MemoryError):
            return False
        return True

    def _step(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        name = opcode.name
        if name in _STEPS:
            _STEPS[name](self, argument)
        elif name == "MARK":
            self.stack.append(_MARK)
        elif opcode.stack_after and not opcode.stack_before:  # a plain value
            self.push(_source(argument) if argument is not None else _PLAIN.get(name, "None"))

    def push(self, value: str) -> None:
        """The source of a value, which counts."""
        self.text += len(value)
        if self.text > _MOST_TEXT:
            raise MemoryError
        self.stack.append(value)

    def pop(self) -> str:
        """The source of what is on top."""
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark where a value is due")
        return _text(value)

    def to_mark(self) -> list[str]:
        """The sources of what lies above the last mark, which goes, too."""
        at = len(self.stack) - 1 - self.stack[::-1].index(_MARK)
        values = [_text(each) for each in self.stack[at + 1 :]]
        del self.stack[at:]
        return values

    def call(self, function: str, arguments: str) -> None:
        """One line of source, and the name of its value."""
        self.made += 1
        self.lines.append(f"v{self.made} = {function}({arguments})"[:_LONGEST])
        self.push(f"v{self.made}")

    def name(self, module: str, qualified: str) -> None:
        """A function or class that is imported."""
        if _NAME.fullmatch(module) and _NAME.fullmatch(qualified):
            self.imports[module] = None
            self.push(f"{module}.{qualified}")
        else:
            self.push(f"getattr(__import__({module!r}), {qualified!r})"[:_LONGEST])


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(value)[:_LONGEST] + "]"
    return str(value)


def _source(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > _WIDEST:
        return "0"  # the digits of such a number take their time
    return repr(value[:_LONGEST] if isinstance(value, str | bytes | bytearray) else value)[: 4 * _LONGEST]


def _reduce(machine: _Machine, _: Any) -> None:
    arguments, function = machine.pop(), machine.pop()
    inner = arguments[1:-1].rstrip(", ") if arguments[:1] == "(" and arguments[-1:] == ")" else f"*{arguments}"
    machine.call(function, inner)


def _new_named(machine: _Machine, _: Any) -> None:
    named, arguments, function = machine.pop(), machine.pop(), machine.pop()
    machine.call(function, f"*{arguments}, **{named}")


def _instance(machine: _Machine, argument: Any) -> None:
    values = machine.to_mark()
    machine.name(*str(argument).split(" ", 1))
    machine.call(machine.pop(), ", ".join(values))


def _object(machine: _Machine, _: Any) -> None:
    function, *values = machine.to_mark()
    machine.call(function, ", ".join(values))


def _build(machine: _Machine, _: Any) -> None:
    state, value = machine.pop(), machine.pop()
    machine.lines.append(f"{value}.__setstate__({state})"[:_LONGEST])
    machine.stack.append(value)


def _named(machine: _Machine, argument: Any) -> None:
    machine.name(*str(argument).split(" ", 1))


def _stacked(machine: _Machine, _: Any) -> None:
    qualified, module = machine.pop(), machine.pop()
    machine.name(module.strip("'\""), qualified.strip("'\""))


def _tuple(count: int | None) -> Callable[[_Machine, Any], None]:
    def made(machine: _Machine, _: Any) -> None:
        values = machine.to_mark() if count is None else [machine.pop() for _ in range(count)][::-1]
        machine.push(f"({', '.join(values)}{',' if len(values) == 1 else ''})"[: 4 * _LONGEST])

    return made


def _listed(machine: _Machine, _: Any) -> None:
    machine.stack.append(machine.to_mark()[:_LONGEST])


def _added(count: int | None) -> Callable[[_Machine, Any], None]:
    def added(machine: _Machine, _: Any) -> None:
        values = machine.to_mark() if count is None else [machine.pop() for _ in range(count)][::-1]
        target = machine.stack[-1]
        if isinstance(target, list) and len(target) < _LONGEST:
            target += values

    return added


def _dict(machine: _Machine, _: Any) -> None:
    values = machine.to_mark()
    pairs = map(": ".join, zip(values[::2], values[1::2], strict=False))
    machine.push("{" + ", ".join(pairs)[:_LONGEST] + "}")


def _keep(machine: _Machine, argument: Any) -> None:
    machine.memo[len(machine.memo) if argument is None else argument] = machine.stack[-1]


def _again(machine: _Machine, argument: Any) -> None:
    machine.stack.append(machine.memo[argument])


def _drop(machine: _Machine, _: Any) -> None:
    machine.stack.pop()


def _drop_to_mark(machine: _Machine, _: Any) -> None:
    machine.to_mark()


def _twice(machine: _Machine, _: Any) -> None:
    machine.stack.append(machine.stack[-1])


def _persistent(machine: _Machine, _: Any) -> None:
    machine.stack.append("None")


def _nothing(machine: _Machine, _: Any) -> None:
    return


_PLAIN: Final = {
    "NONE": "None", "NEWTRUE": "True", "NEWFALSE": "False", "EMPTY_TUPLE": "()", "EMPTY_DICT": "{}",
    "EMPTY_SET": "set()",
}  # fmt: skip
_STEPS: Final[dict[str, Callable[[_Machine, Any], None]]] = {
    "REDUCE": _reduce, "NEWOBJ": _reduce, "NEWOBJ_EX": _new_named, "INST": _instance, "OBJ": _object, "BUILD": _build,
    "GLOBAL": _named, "STACK_GLOBAL": _stacked,
    "TUPLE": _tuple(None), "TUPLE1": _tuple(1), "TUPLE2": _tuple(2), "TUPLE3": _tuple(3),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]), "LIST": _listed,
    "APPEND": _added(1), "APPENDS": _added(None),
    "DICT": _dict, "SETITEM": _added(2), "SETITEMS": _added(None), "ADDITEMS": _added(None), "FROZENSET": _tuple(None),
    "MEMOIZE": _keep, "PUT": _keep, "BINPUT": _keep, "LONG_BINPUT": _keep,
    "GET": _again, "BINGET": _again, "LONG_BINGET": _again,
    "POP": _drop, "POP_MARK": _drop_to_mark, "DUP": _twice, "STOP": _drop,
    "PERSID": _persistent, "BINPERSID": lambda machine, _: machine.stack.__setitem__(-1, "None"),
    "PROTO": _nothing, "FRAME": _nothing, "READONLY_BUFFER": _nothing,
}  # fmt: skip

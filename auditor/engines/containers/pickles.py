"""Pickles, put down as the Python program that loading them runs; nothing in them is imported or called.

The machine is that of `pickletools` (protocols 0 to 5). Each call, state and addition becomes a line of source, which
the engine for Python judges; a module that no data needs is reported whatever is done with it. A pickle that breaks
off has run as far as it goes, so what it did before counts.
"""

from __future__ import annotations

import ast
import itertools
import keyword
import pickletools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.containers.model import Member, Oddity, Part
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.tables import table

__all__ = ["is_pickle", "read_pickle"]

_CALLS: Final = "container-pickle-call"
_MOST_STEPS: Final = 1_000_000
_MOST_PICKLES: Final = 64  # one behind the other, as PyTorch's older files have them
_MOST_LINES: Final = 5_000
_MOST_TEXT: Final = 1 << 20  # characters of all lines
_LONGEST: Final = 1 << 16  # characters of one text
_SHORT: Final = 200  # characters of a value that is written where it is used
_WIDEST: Final = 256  # bits of a number whose digits are written
_PROBED: Final = 6  # steps after which bytes are believed to be a pickle
_PROBED_BYTES: Final = 1 << 20
_PROTOCOL: Final = re.compile(rb"\x80[\x02-\x05]")
_ARRAYS: Final = "joblib.numpy_pickle"  # puts bytes of arrays between the steps, which then mean nothing
_ARRAY: Final = b"\x93NUMPY"
_PATH: Final = compiled(r"\.(?:pkl|pickle|pck|joblib|dill|pt|pth|ckpt|sav)$", re.IGNORECASE)
_PLAIN: Final = compiled(r"-?[\d.]+(?:e[+-]?\d+)?|None|True|False|b?(['\"])\1")


def is_pickle(path: str, data: bytes) -> bool:
    """True for bytes that begin as a pickle with its protocol, a NumPy array of objects, or any in a file named so."""
    told = _PROTOCOL.match(data) or (_PATH.search(path) and not data.startswith(b"PK"))
    if data.startswith(_ARRAY):
        return _probed(data[_array(data) :])
    return told is not None and (_probed(data[:_PROBED_BYTES]) or _modules_in_bytes().search(data) is not None)


def read_pickle(data: bytes) -> Part:
    """What loading the pickle runs, as source, and modules in it that no data needs. Never raises on content.

    `pickletools` is stricter than what loads pickles: where it stops, the bytes are searched for names of modules.
    """
    stream = BytesIO(data[_array(data) :])
    machine, whole = _Machine(), False
    for _ in range(_MOST_PICKLES):
        whole = machine.run(stream)
        if not whole or not _probed(stream.getbuffer()[stream.tell() : stream.tell() + 4096].tobytes()):
            break
    arrays = any(name.endswith(_ARRAYS) for name in machine.imports)
    for name in [*machine.doubts, *(() if arrays else machine.unnamed)]:
        yield Oddity(_CALLS, name[:200], f"loading it brings in {name[:200]}, which no data needs")
    source = _parsed(machine.source)
    if source:
        yield Member("pickle.py", source, Context.PYTHON)
    if not whole:
        rest = stream.getbuffer()[stream.tell() :].tobytes()
        if (found := _modules_in_bytes().search(rest)) is not None and not machine.doubts:
            yield Oddity(
                _CALLS, repr(found[0][:80]), "it breaks off for this reader, and names such a module behind that"
            )
        yield Oddity("tree-unknown-binary", "pickle", "a pickle that breaks off or is longer than what is read")


def _array(data: bytes) -> int:
    """Where the content of a NumPy file begins (its header's length stands at byte 8); 0 for any other file."""
    if not data.startswith(_ARRAY):
        return 0
    wide = 2 if data[6:7] == b"\1" else 4
    return 8 + wide + int.from_bytes(data[8 : 8 + wide], "little")


def _probed(data: bytes) -> bool:
    """Whether the first steps can be made, or all of them."""
    try:
        steps = [opcode.name for opcode, _, _ in itertools.islice(pickletools.genops(data), _PROBED)]
    except (ValueError, OverflowError, MemoryError):
        return False
    return steps[-1:] == ["STOP"] if len(steps) < _PROBED else True


def _parsed(source: str) -> str:
    """The source, or those of its lines that are Python."""
    if _is_python(source):
        return source
    return "".join(line + "\n" for line in source.splitlines() if _is_python(line))


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


@cache
def _starting() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    known = table("pickles")
    return frozenset(known["modules"]), frozenset(known["inside"]), frozenset(known["functions"])


@cache
def _modules_in_bytes() -> re.Pattern[bytes]:
    kept = rb"(?:\x94|q.|r.{4})?"  # as it is when the text is memoized
    parts = []
    for name in sorted(_starting()[1] - {"builtins"}):
        length, said = re.escape(bytes([len(name)])), re.escape(name.encode())
        parts.append(rb"[ci]%b\n\w{1,40}\n" % said)
        parts.append(rb"(?:\x8c%b|X%b\0\0\0|U%b)%b%b[\x8cXUch]" % (length, length, length, said, kept))
    called = rb"(?:eval|exec|execfile|compile|__import__|open)"
    parts.append(rb"[ci](?:builtins|__builtin__)\n%b\n" % called)
    parts.append(rb"\x8c\x08builtins%b\x8c.%b" % (kept, called))
    return re.compile(b"|".join(parts), re.DOTALL)


@dataclass
class _Machine:
    """The stack holds sources of values, each short: a text, a name, or a variable of a line above."""

    lines: list[str] = field(default_factory=list)
    imports: dict[str, None] = field(default_factory=dict)
    doubts: dict[str, None] = field(default_factory=dict)
    unnamed: dict[str, None] = field(default_factory=dict)
    stack: list[str] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, str] = field(default_factory=dict)
    steps: int = 0
    made: int = 0
    text: int = 0

    @property
    def source(self) -> str:
        """All of it: what is imported first, then every line in its order."""
        return "".join(f"import {name}\n" for name in self.imports) + "".join(f"{line}\n" for line in self.lines)

    def run(self, stream: BytesIO) -> bool:
        """Go through one pickle; False when it broke off or a budget ran out."""
        self.stack.clear()
        self.marks.clear()
        try:
            for opcode, argument, _ in pickletools.genops(stream):
                self.steps += 1
                if self.steps > _MOST_STEPS:
                    return False
                self._step(opcode, argument)
        except (ValueError, IndexError, KeyError, OverflowError):
            return False
        return True

    def _step(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        name = opcode.name
        if name in _STEPS:
            _STEPS[name](self, argument)
        elif opcode.stack_after and not opcode.stack_before:  # a plain value
            self.stack.append(self.value(argument) if argument is not None else _VALUES.get(name, "None"))

    def value(self, value: Any) -> str:
        """The source of a plain value; a long one gets a line of its own."""
        if isinstance(value, int) and value.bit_length() > _WIDEST:
            return "0"
        said = repr(value[:_LONGEST] if isinstance(value, str | bytes | bytearray) else value)
        return said if len(said) <= _SHORT else self.line(said)

    def line(self, said: str) -> str:
        """A variable for what is `said`, in a new line."""
        self.made += 1
        self.say(f"v{self.made} = {said}")
        return f"v{self.made}"

    def say(self, line: str) -> None:
        """Keep a line while there is room; the steps go on without."""
        self.text += len(line)
        if len(self.lines) < _MOST_LINES and self.text <= _MOST_TEXT:
            self.lines.append(line)

    def pop(self) -> str:
        """What is on top, above the last mark."""
        if self.marks and len(self.stack) <= self.marks[-1]:
            raise ValueError("a mark where a value is due")
        return self.stack.pop()

    def to_mark(self) -> list[str]:
        """What lies above the last mark, which goes, too."""
        at = self.marks.pop()
        values = self.stack[at:]
        del self.stack[at:]
        return values

    def call(self, function: str, arguments: str) -> None:
        """Push what `function` gives."""
        self.stack.append(self.line(f"{function}({arguments})"))

    def name(self, module: str, qualified: str) -> None:
        """Push a function or class that is imported; inner parts of its name may be modules of their own."""
        modules, inside, functions = _starting()
        parts = f"{module}.{qualified}".split(".")
        if parts[0] in modules or not inside.isdisjoint(parts[1:-1]) or f"{module}.{qualified}" in functions:
            self.doubts[f"{module}.{qualified}"] = None
        if all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
            self.imports[module] = None
            self.stack.append(f"{module}.{qualified}")
        else:
            self.unnamed[f"{module}.{qualified}"] = None
            self.stack.append("None")


def _joined(values: list[str]) -> str:
    """The values as arguments, as many of them as a line may hold."""
    return ", ".join(values[:_SHORT])


def _arguments(said: str) -> str:
    return said[1:-1].rstrip(", ") if said[:1] == "(" and said[-1:] == ")" else f"*{said}"


def _reduce(machine: _Machine, _: Any) -> None:
    arguments, function = machine.pop(), machine.pop()
    machine.call(function, _arguments(arguments))


def _new_named(machine: _Machine, _: Any) -> None:
    named, arguments, function = machine.pop(), machine.pop(), machine.pop()
    machine.call(function, f"*{arguments}, **{named}")


def _instance(machine: _Machine, argument: Any) -> None:
    values = machine.to_mark()
    machine.name(*str(argument).split(" ", 1))
    machine.call(machine.pop(), _joined(values))


def _object(machine: _Machine, _: Any) -> None:
    function, *values = machine.to_mark()
    machine.call(function, _joined(values))


def _build(machine: _Machine, _: Any) -> None:
    state, value = machine.pop(), machine.pop()
    machine.say(f"{value}.__setstate__({state})")
    machine.stack.append(value)


def _named(machine: _Machine, argument: Any) -> None:
    machine.name(*str(argument).split(" ", 1))


def _stacked(machine: _Machine, _: Any) -> None:
    qualified, module = machine.pop(), machine.pop()
    if module[:1] in "'\"" and qualified[:1] in "'\"":
        machine.name(ast.literal_eval(module), ast.literal_eval(qualified))
    else:
        machine.unnamed["a name that is made at run time"] = None
        machine.stack.append("None")


def _extended(machine: _Machine, _: Any) -> None:
    machine.unnamed["an extension by its number"] = None
    machine.stack.append("None")


def _tuple(count: int | None) -> Callable[[_Machine, Any], None]:
    def made(machine: _Machine, _: Any) -> None:
        values = machine.to_mark() if count is None else [machine.pop() for _ in range(count)][::-1]
        said = f"({_joined(values)}{',' if len(values) == 1 else ''})"
        machine.stack.append(said if len(said) <= _SHORT else machine.line(said))

    return made


def _empty(said: str) -> Callable[[_Machine, Any], None]:
    def made(machine: _Machine, _: Any) -> None:
        machine.stack.append(machine.line(said))

    return made


def _listed(machine: _Machine, _: Any) -> None:
    machine.stack.append(machine.line(f"[{_joined(machine.to_mark())}]"))


def _appended(count: int | None) -> Callable[[_Machine, Any], None]:
    def added(machine: _Machine, _: Any) -> None:
        for value in machine.to_mark() if count is None else [machine.pop()]:
            if not _PLAIN.fullmatch(value):  # numbers tell nothing
                machine.say(f"{machine.stack[-1]}.append({value})")

    return added


def _pairs(values: list[str]) -> Iterator[tuple[str, str]]:
    return zip(values[::2], values[1::2], strict=False)


def _set(count: int | None) -> Callable[[_Machine, Any], None]:
    def added(machine: _Machine, _: Any) -> None:
        values = machine.to_mark() if count is None else [machine.pop(), machine.pop()][::-1]
        for key, value in _pairs(values):
            if not _PLAIN.fullmatch(value):
                machine.say(f"{machine.stack[-1]}[{key}] = {value}")

    return added


def _dict(machine: _Machine, _: Any) -> None:
    pairs = itertools.islice(_pairs(machine.to_mark()), _SHORT)
    machine.stack.append(machine.line("{" + ", ".join(map(": ".join, pairs)) + "}"))


def _keep(machine: _Machine, argument: Any) -> None:
    machine.memo[len(machine.memo) if argument is None else int(argument)] = machine.stack[-1]


def _again(machine: _Machine, argument: Any) -> None:
    machine.stack.append(machine.memo[int(argument)])


def _mark(machine: _Machine, _: Any) -> None:
    machine.marks.append(len(machine.stack))


def _drop(machine: _Machine, _: Any) -> None:
    if machine.marks and machine.marks[-1] == len(machine.stack):
        machine.marks.pop()  # as the C implementation does
    else:
        machine.stack.pop()


def _drop_to_mark(machine: _Machine, _: Any) -> None:
    machine.to_mark()


def _twice(machine: _Machine, _: Any) -> None:
    machine.stack.append(machine.stack[-1])


def _persistent(machine: _Machine, _: Any) -> None:
    machine.stack.append("None")


def _persistent_on_top(machine: _Machine, _: Any) -> None:
    machine.pop()
    machine.stack.append("None")


def _nothing(machine: _Machine, _: Any) -> None:
    return


_VALUES: Final = {"NONE": "None", "NEWTRUE": "True", "NEWFALSE": "False", "EMPTY_TUPLE": "()"}
_STEPS: Final[dict[str, Callable[[_Machine, Any], None]]] = {
    "REDUCE": _reduce, "NEWOBJ": _reduce, "NEWOBJ_EX": _new_named, "INST": _instance, "OBJ": _object, "BUILD": _build,
    "GLOBAL": _named, "STACK_GLOBAL": _stacked, "EXT1": _extended, "EXT2": _extended, "EXT4": _extended,
    "TUPLE": _tuple(None), "TUPLE1": _tuple(1), "TUPLE2": _tuple(2), "TUPLE3": _tuple(3), "FROZENSET": _tuple(None),
    "EMPTY_LIST": _empty("[]"), "EMPTY_DICT": _empty("{}"), "EMPTY_SET": _empty("set()"), "LIST": _listed,
    "APPEND": _appended(1), "APPENDS": _appended(None), "DICT": _dict, "SETITEM": _set(2), "SETITEMS": _set(None),
    "ADDITEMS": _drop_to_mark, "MEMOIZE": _keep, "PUT": _keep, "BINPUT": _keep, "LONG_BINPUT": _keep,
    "GET": _again, "BINGET": _again, "LONG_BINGET": _again, "MARK": _mark,
    "POP": _drop, "POP_MARK": _drop_to_mark, "DUP": _twice, "STOP": _nothing,
    "PERSID": _persistent, "BINPERSID": _persistent_on_top,
    "PROTO": _nothing, "FRAME": _nothing, "READONLY_BUFFER": _nothing,
}  # fmt: skip

"""A list of system calls as data, carried out by a program of two hundred bytes (`tape_image`).

Building a sandbox in a forked interpreter costs milliseconds, most of it page faults. As a tape, the same calls
in the same order cost what the kernel takes. Every step names the layer it belongs to; the first that fails
reports its address and errno over a socket, and nothing after it runs.

Memory of the program: `BASE` holds the failure report and the failure routine's address, then steps, then data.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.syscalls import table

__all__ = [
    "ANY",
    "BASE",
    "FAILURE",
    "HEADER",
    "SIZE",
    "At",
    "Cell",
    "Label",
    "Program",
    "Step",
    "Tape",
    "Word",
    "strings",
]

BASE = 0x1000_0000
SIZE = 0x40_0000
"""Where the tape lies in the program's memory, and how much room it has, in bytes."""
FAILURE = struct.Struct("=QQ")
"""The report of a failure: the step's address and the errno."""
ANY = -1
"""As `tolerate`: go on after any error."""

HEADER = struct.Struct("=QQQQ")
"""What a tape begins with; its first step lies behind it."""
_STEP = struct.Struct("=10q")
_EQUAL, _DIFFERENT = -1, -2
_STRINGS_ALIGN = 8


@dataclass(frozen=True)
class Cell:
    """A place in the tape's memory, `offset` bytes into its data."""

    offset: int

    def plus(self, distance: int) -> Cell:
        """The place `distance` bytes behind this one."""
        return Cell(self.offset + distance)


@dataclass(frozen=True)
class At:
    """A place at a fixed address of the program's memory, for tapes that share it."""

    address: int

    def plus(self, distance: int) -> At:
        """The place `distance` bytes behind this one."""
        return At(self.address + distance)


@dataclass(frozen=True)
class Word:
    """As an argument: what a cell holds when the step is carried out."""

    cell: Cell | At


class Label:
    """A place to jump to; `Tape.mark` sets it."""

    def __init__(self) -> None:
        self.index = -1


@dataclass(frozen=True)
class Step:
    """What a step is for: its layer and a description for people."""

    layer: str
    detail: str


Argument = int | bytes | Cell | At | Word | Label | None


@dataclass(frozen=True)
class Program:
    """A finished tape for memory at `base`. `cells` gives the offset of a named cell in `image`."""

    image: bytes
    steps: Mapping[int, Step]
    cells: Mapping[str, int]
    base: int = BASE
    room: int = SIZE

    @property
    def tail(self) -> int:
        """The address of the first byte after the image, where a caller's own data goes."""
        return self.base + len(self.image)

    def patched(self, values: Mapping[str, int], tail: bytes = b"") -> bytearray:
        """The image with named cells set, and `tail` behind it. Raises ValueError when that is more than `room`."""
        image = bytearray(self.image)
        for name, value in values.items():
            struct.pack_into("=q", image, self.cells[name], value)
        image += tail
        if len(image) > self.room:
            raise ValueError(f"a tape has room for {self.room} bytes, not {len(image)}")
        return image


class Tape:
    """Collects steps for one architecture, the running one unless named.

    Arguments are numbers, bytes (kept in the data, NUL-terminated), cells by address, None for 0.
    """

    def __init__(self, arch: str | None = None) -> None:
        self._numbers = table(arch)
        self._rows: list[tuple[int, tuple[Argument, ...], Cell | At | None, int]] = []
        self._steps: list[Step] = []
        self._data = bytearray()
        self._known: dict[bytes, Cell] = {}
        self._names: dict[str, Cell] = {}
        self._points: list[tuple[Cell, Cell | At | int]] = []

    def call(
        self,
        layer: str,
        name: str,
        *arguments: Argument,
        into: Cell | At | None = None,
        tolerate: int = 0,
        why: str = "",
    ) -> None:
        """Add a system call. `into` receives its result or -errno; after the error `tolerate` the next step follows."""
        self._rows.append((self._number(name), arguments, into, tolerate))
        self._steps.append(Step(layer, why or _describe(name, arguments)))

    def jump_if_equal(self, one: Cell | At, other: Cell | At, target: Label | At) -> None:
        """Go on at `target` when the low 32 bits of both cells are equal."""
        self._compare(_EQUAL, one, other, target)

    def jump_unless_equal(self, one: Cell | At, other: Cell | At, target: Label | At) -> None:
        """Go on at `target` when the low 32 bits of both cells differ."""
        self._compare(_DIFFERENT, one, other, target)

    def require_equal(self, layer: str, why: str, one: Cell | At, other: Cell | At) -> None:
        """Fail as `layer` unless the low 32 bits of both cells are equal."""
        held = Label()
        self.jump_if_equal(one, other, held)
        self.call(layer, "close", -1, why=why)
        self.mark(held)

    def mark(self, label: Label) -> None:
        """Let `label` mean the next step."""
        label.index = len(self._rows)

    def data(self, content: bytes) -> Cell:
        """Constant bytes, kept once however often they are asked for."""
        if content not in self._known:
            self._known[content] = self.space(content)
        return self._known[content]

    def space(self, content: bytes) -> Cell:
        """Bytes of their own, for the program to change."""
        self._data += bytes(-len(self._data) % _STRINGS_ALIGN)
        cell = Cell(len(self._data))
        self._data += content
        return cell

    def point(self, cell: Cell, target: Cell | At | int) -> None:
        """Let eight bytes of the data hold the address of `target`, or a number."""
        self._points.append((cell, target))

    def cell(self, value: int = 0, name: str = "") -> Cell:
        """A number of its own; with `name`, one that `Program.patched` can set."""
        made = self.space(struct.pack("=q", value))
        if name:
            self._names[name] = made
        return made

    def finish(self, on_failure: Label | None, base: int = BASE, room: int = SIZE) -> Program:
        """Lay out steps and data for `room` bytes at `base`.

        `on_failure` is where a failed step leads; None for a tape that follows on another one, whose routine it uses.
        """
        first = base + HEADER.size
        rows = [[number, *(self._interned(part) for part in words)] for number, words, _, _ in self._rows]
        start = first + len(rows) * _STEP.size
        routine = 0 if on_failure is None else first + on_failure.index * _STEP.size
        image = bytearray(HEADER.pack(0, 0, routine, 0))
        for row, (_, _, into, tolerate) in zip(rows, self._rows, strict=True):
            resolved, indirect = [row[0]], 0
            for index, part in enumerate(row[1:]):
                if isinstance(part, Word):
                    indirect |= 1 << index
                    part = part.cell
                if isinstance(part, Label):
                    part = first + part.index * _STEP.size
                resolved.append(_address(part, start))
            resolved += [0] * (7 - len(resolved))
            image += _STEP.pack(*resolved, 0 if into is None else _address(into, start), indirect, tolerate)
        steps = {first + index * _STEP.size: step for index, step in enumerate(self._steps)}
        offset = len(image)
        for cell, target in self._points:
            struct.pack_into("=q", self._data, cell.offset, _address(target, start))
        image += self._data
        image += bytes(-len(image) % _STRINGS_ALIGN)
        names = {name: offset + cell.offset for name, cell in self._names.items()}
        return Program(bytes(image), steps, names, base, room)

    def _compare(self, kind: int, one: Cell | At, other: Cell | At, target: Label | At) -> None:
        self._rows.append((kind, (one, other, target), None, 0))
        self._steps.append(Step("setup", "compare"))

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            raise KernelError("syscalls", 0, f"{name} does not exist on this architecture")
        return self._numbers[name]

    def _interned(self, part: Argument) -> int | Cell | At | Word | Label:
        if isinstance(part, bytes):
            return self.data(part + b"\0")
        return 0 if part is None else part


def _address(part: int | Cell | At, start: int) -> int:
    if isinstance(part, Cell):
        return start + part.offset
    return part.address if isinstance(part, At) else part


def strings(words: Sequence[bytes], address: int) -> bytes:
    """A NULL-terminated vector of C strings as execve takes it, laid out for memory at `address`."""
    room = 8 * (len(words) + 1)
    body, places = bytearray(), []
    for word in words:
        places.append(address + room + len(body))
        body += word + b"\0"
    vector = struct.pack(f"={len(words) + 1}Q", *places, 0) + body
    return vector + bytes(-len(vector) % _STRINGS_ALIGN)


def _describe(name: str, arguments: Sequence[Argument]) -> str:
    texts = [part.decode("utf-8", "replace") for part in arguments if isinstance(part, bytes) and part]
    return " ".join([name, *texts])

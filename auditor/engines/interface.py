"""How an engine plugs in: what it is handed (`SourceFile`, made of `Segment`s) and how it answers (`Emitter`).

To add an engine, add a module to this folder that binds ``ENGINE`` to an instance; nothing else is touched.
An engine never writes, never connects, never runs anything, and keeps no state between trees.
An exception that leaves an engine is a finding (incomplete is not clean), never a stopped audit.

Division of work on one piece of code: a language engine (`order` < 50) that has *parsed a segment whole* calls
`Emitter.understood`; regex rules marked ``fallback: true`` are then not applied to it. Text that will be executed
(``os.system("…")``, a decoded payload) is handed back with `Emitter.derive` and audited as what it is.

Rule ids: every id an engine reports is an entry of a ``rules/*.yaml`` file (top-level key ``rules``), so that
`auditor explain` and the verdict know it. An entry without ``patterns`` names its engine (``engine: python_ast``).
One thing has one id, whichever engine sees it; the same id on the same line is reported once.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from skillkeep.auditor.interface import AuditOptions, Capability, Location, Observation, Severity
from skillkeep.tree import TreeEntry, Unread

__all__ = [
    "CONTINUED", "HEAD", "HOOKS", "Context", "Emitter", "Engine", "Mark", "ProgramEngine", "Segment", "SourceFile",
    "SourceTree",
]  # fmt: skip

HEAD: Final = 16
"""Bytes that a format is told by."""
HOOKS: Final = "core.hookspath"
"""What findings about the hooks of one repository name as their subject."""


class Context(StrEnum):
    """What a piece of text is to the machine or agent that will meet it."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    TYPESCRIPT = "typescript"
    SHELL = "shell"
    POWERSHELL = "powershell"
    RUBY = "ruby"
    INSTRUCTION = "instruction"  # prose an agent obeys: Markdown body without its fences, comments included
    FENCED = "fenced"  # every fenced block, besides the language it is sniffed as
    CONFIG = "config"  # JSON, YAML, TOML, ini, dotfiles
    METADATA = "metadata"  # front matter
    FILENAME = "filename"
    TEXT = "text"  # anything else that decodes


CONTINUED: Final = {Context.SHELL: "\\\n", Context.POWERSHELL: "`\n"}
"""What ends a line of a command that goes on in the next."""

CODE: Final = frozenset(
    {Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT, Context.SHELL, Context.POWERSHELL, Context.RUBY}
)


class Mark(NamedTuple):
    """Where a line of a segment's text stands: its line and column in the file, and its line in the cell it is of."""

    line: int
    column: int
    in_cell: int


@dataclass(frozen=True)
class Segment:
    """A piece of one file in one context.

    `first_line` is the file's line of the text's first line; `indent` the columns cut from every line.
    `marks` say where each line stands when they do not simply follow each other, as in a notebook's JSON.
    When `anchor` is set (derived text), every place in the segment is shown as that location.
    """

    path: str
    context: Context
    text: str
    first_line: int = 1
    indent: int = 0
    anchor: Location | None = None
    provenance: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    member: int = 0  # how many steps lead to the container's member that the text is of; 0 for none

    @property
    def is_example(self) -> bool:
        """True for what a block of code in a page shows."""
        return any(step.startswith("fence") for step in self.provenance)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate([len(line) + 1 for line in self.text.split("\n")[:-1]])]

    def forget(self) -> None:
        """Drop what was computed for `locate`; it is computed again when asked for."""
        self.__dict__.pop("_starts", None)
        self.__dict__.pop("_bare", None)

    def locate(self, start: int, end: int) -> Location:
        """The place of the characters ``[start, end)`` of `text`."""
        if self.anchor is not None:
            return self.anchor
        line, column = self._point(start)
        end_line, end_column = self._point(max(start, end))
        return Location(self.path, line, column, end_line, end_column)

    def place(self, line: int, column: int, end_line: int, end_column: int) -> Location:
        """The place of a span given in `text`'s own lines (1-based) and columns (1-based, characters)."""
        if self.anchor is not None:
            return self.anchor
        if self.marks:
            return Location(self.path, *self._marked(line - 1, column - 1), *self._marked(end_line - 1, end_column - 1))
        shift = self.first_line - 1
        return Location(self.path, line + shift, column + self.indent, end_line + shift, end_column + self.indent)

    def _point(self, offset: int) -> tuple[int, int]:
        index = bisect_right(self._starts, offset) - 1
        if self.marks:
            return self._marked(index, offset - self._starts[index])
        return self.first_line + index, offset - self._starts[index] + 1 + self.indent

    def _marked(self, index: int, column: int) -> tuple[int, int]:
        mark = self.marks[min(index, len(self.marks) - 1)]
        return mark.line, mark.column + column + self.indent

    def steps(self, at: Location, excerpt: str) -> tuple[str, ...]:
        """The provenance of what is shown `at` a place of this segment, with the line in its cell or member."""
        if self.marks and at.line:
            number = self.marks[max(bisect_right(self.marks, (at.line, at.column, sys.maxsize)) - 1, 0)].in_cell
            return (f"{self.provenance[0]}, line {number}", *self.provenance[1:])
        found = self.text.find(excerpt) if self.member and excerpt else -1
        if found >= 0:
            number = self.first_line + self.text.count("\n", 0, found)
            at_member = self.member - 1
            named = f"{self.provenance[at_member]}, line {number}"
            return (*self.provenance[:at_member], named, *self.provenance[self.member :])
        return self.provenance

    def line_at(self, offset: int) -> str:
        """The whole line of `text` that holds the character at `offset`."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return self.text[start : len(self.text) if end < 0 else end]


@dataclass(frozen=True)
class SourceFile:
    """One file as engines see it. `text` is None when the bytes are not text. Derived text has `depth` > 0.

    A member of a container is derived and has a `name`, its path in there; `path` stays that of the container.
    """

    path: str
    data: bytes
    text: str | None
    executable: bool
    segments: tuple[Segment, ...]
    depth: int = 0
    name: str = ""

    @property
    def is_text(self) -> bool:
        """True when the bytes are text, told without reading it."""
        return self.text is not None

    @property
    def head(self) -> bytes:
        """The first 16 bytes, which tell what many a format is."""
        return self.data[:HEAD]

    @property
    def whole(self) -> bool:
        """True for a file of the tree or of a container, False for a piece of text found inside a file."""
        return not self.depth or bool(self.name)

    @property
    def is_program(self) -> bool:
        """True where all of it is code of some language, whatever its name says."""
        return any(each.context in CODE and not each.provenance for each in self.segments)

    @property
    def known_as(self) -> str:
        """The path that says what the file is: its own, also inside a container."""
        return self.name or self.path

    @property
    def place(self) -> Location | None:
        """Where everything in a derived file is shown, or None for a file of the tree."""
        return self.segments[0].anchor if self.depth and self.segments else None

    def of(self, *contexts: Context) -> tuple[Segment, ...]:
        """The segments in any of `contexts`."""
        return tuple(segment for segment in self.segments if segment.context in contexts)

    def own(self, *contexts: Context) -> tuple[Segment, ...]:
        """Those in any of `contexts` that are no examples of documentation."""
        return tuple(each for each in self.of(*contexts) if not each.is_example)


@dataclass(frozen=True)
class SourceTree:
    """All files of the tree, after every `scan_file`; for what needs more than one file."""

    root: Path
    files: tuple[SourceFile, ...]
    options: AuditOptions
    declared: frozenset[str] = field(default_factory=frozenset)  # names the manifest and documents declare
    entries: tuple[TreeEntry, ...] = ()
    unread: tuple[Unread, ...] = ()
    observations: tuple[Observation, ...] = ()
    capabilities: tuple[Capability, ...] = ()  # what all `scan_file`, and earlier engines' `scan_tree`, told, unsettled

    def get(self, path: str) -> SourceFile | None:
        """The file at `path`, or None."""
        return next((item for item in self.files if item.path == path), None)

    def texts(self) -> dict[str, SourceFile]:
        """The files that are text, by path."""
        return {file.path: file for file in self.files if file.is_text}


class Emitter(Protocol):
    """Where an engine's answers go. Bound to one engine and one file (or the tree)."""

    @property
    def notes(self) -> dict[str, Any]:
        """What the engine notes in `scan_file` for its own `scan_tree`; it lives as long as the audit of this tree."""

    def finding(
        self,
        rule: str,
        at: Location,
        excerpt: str,
        message: str = "",
        *,
        segment: Segment | None = None,
        subject: str = "",
        severity: Severity | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        """Report `rule` (an id of the rulebook; an unknown one raises `AuditError`).

        `segment` gives the provenance. `subject` is what the rule is about, such as a variable's name: a rule
        with ``when_declared`` becomes that other rule when the tool declares the subject. `severity` overrides
        the rule's own, for engines that judge one construct by what it holds. `hosts` get what is sent, where
        that is known better than by the line, which may hold a whole script.
        """

    def capability(self, kind: str, value: str, at: Location) -> None:
        """The code wants `value`; `kind` as in `Capability`."""

    def derive(
        self,
        text: str | bytes,
        context: Context | None,
        at: Location,
        via: str,
        parent: Segment | None = None,
        name: str = "",
    ) -> None:
        """Audit `text` too, as found at `at` through the step `via` (``base64``, ``os.system``).

        `context` None lets the classifier sniff it, or cut it as the file `name` when it is a container's member.
        Depth and bytes are bounded; what is cut is a finding.
        """

    def understood(self, segment: Segment) -> None:
        """The engine parsed all of `segment`; rules marked ``fallback`` are not needed for it."""

    def was_understood(self, segment: Segment) -> bool:
        """True when a language engine called `understood` for this very segment."""

    def incomplete(self, path: str, reason: str) -> None:
        """The engine could not read `path` fully: a ledger entry and a WARN finding (`audit-incomplete`)."""


class Engine(ABC):
    """Reads files inside the confined worker.

    `order` sorts engines: language parsers below 50, decoders below 50, regex rules 50, the rest above.
    """

    name: ClassVar[str]
    order: ClassVar[int] = 60
    version: ClassVar[str] = "1"

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge one file. Derived text (`file.depth` > 0) arrives here as well."""
        return

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Judge what needs several files. Called once, after every `scan_file`."""
        return


class ProgramEngine(ABC):
    """An analyser that is a program of its own, run by the parent in its own confined child after the worker."""

    name: ClassVar[str]
    version: ClassVar[str] = "1"

    @abstractmethod
    def absent(self) -> str:
        """Why it cannot run on this machine, or an empty text when it can."""

    @abstractmethod
    def scan(self, root: Path, options: AuditOptions, emit: Emitter) -> None:
        """Judge the tree. Any exception is turned into an `audit-incomplete` finding by the caller."""

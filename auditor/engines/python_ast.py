"""The Python engine: parses every Python segment and has its calls judged.

Reads source as Python does, its coding line included (PEP 263), of newer and older versions too. What no Python could
parse is incomplete in a file, and left to the regex rules in a snippet.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.imitated import report_imitated
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.python.collect import collect
from skillkeep.auditor.engines.python.dumped import LOADS, filled_elsewhere
from skillkeep.auditor.engines.python.held import Held
from skillkeep.auditor.engines.python.judge import Part, judge
from skillkeep.auditor.engines.python.links import Module, Snippet, groups, words_of_importers
from skillkeep.auditor.engines.python.program import Source
from skillkeep.auditor.engines.python.scopes import Collected
from skillkeep.auditor.syntax.other_python import python_tree

__all__ = ["ENGINE", "PythonEngine"]

_CODING: Final = compiled(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_PLAIN_CODECS: Final = frozenset(
    {"utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1", "iso-8859-15", "cp1252"}
)
_MOST_LINKED: Final = 2 << 20  # characters
_MOST_KEPT: Final = 256 << 10  # characters whose trees wait for the other files: a tree takes forty times its source
_PROMPT: Final = compiled(r"^([ \t]*)(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)


class PythonEngine(Engine):
    """Python by its syntax tree: every file by itself, then those that import each other as one program."""

    name: ClassVar[str] = "python"
    order: ClassVar[int] = 10
    version: ClassVar[str] = "2"

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge every Python segment of the file."""
        for segment in file.of(Context.PYTHON):
            codec = _declared_codec(segment.text)
            if codec is not None:
                _recode(segment, codec, file, emit)
            with _without_collection():
                _segment(segment, _is_module(file, segment), emit)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Judge the files that import each other once more, each with what it takes from the others."""
        report_imitated(tree, emit)
        read = _reads(emit).files
        waiting = {path: each.held for path, each in read.items()}
        files = {file.path: file for file in tree.files if file.path in read}
        try:
            for group in groups([each.module for each in read.values()]):
                with _without_collection():
                    told = _program([(files[module.path], read[module.path]) for module in group], emit)
                for module in group if told else ():
                    del waiting[module.path]
            for at, command in filled_elsewhere(tree, emit.notes.get(LOADS, ())):
                message = f"what is loaded is brought by another command: {command}"
                emit.finding("python-deserialise", at, command, message)
            for path in [each for each in waiting if read[each].asks and read[each].used(emit)]:
                with _without_collection():
                    _program([(files[path], read[path])], emit)
        finally:
            emit.notes.clear()  # the trees go now, not with the audit
            for held in waiting.values():
                held.release()


@dataclass
class _Read:
    """A file that was judged by itself: what it imports, what waits for others, and its tree unless that is large."""

    module: Module
    held: Held
    found: Collected | None
    asks: bool = False  # whether an answer rests on all callers of a function

    def used(self, emit: Emitter) -> frozenset[str]:
        """The words of the snippets of the tree that may import it."""
        return words_of_importers(self.module, _reads(emit).snippets)


@dataclass
class _Reads:
    """All such files of the tree by their paths, the characters whose trees are kept, and snippets that import."""

    files: dict[str, _Read] = field(default_factory=dict)
    kept: int = 0
    snippets: list[Snippet] = field(default_factory=list)

    def add(self, module: Module, held: Held, found: Collected) -> None:
        """Keep the tree while there is room, and where another file may want it."""
        keeps = module.foreign and self.kept + module.size <= _MOST_KEPT
        self.kept += module.size if keeps else 0
        self.files[module.path] = _Read(module, held, found if keeps else None)


def _reads(emit: Emitter) -> _Reads:
    reads: _Reads = emit.notes.setdefault("reads", _Reads())
    return reads


def _segment(segment: Segment, is_module: bool, emit: Emitter) -> None:
    text = segment.text
    if segment.provenance and ">>>" in text:
        text = _PROMPT.sub(r"\1", text)
    known = _collected(segment, text, emit)
    if known is None:
        return
    found, whole = known
    target: Emitter = emit
    if is_module:
        held = Held(emit)
        module = Module.of(segment.path, text, found.imports)
        _reads(emit).add(module, held, found)
        target = held if module.foreign else emit
    elif (snippet := Snippet.of(segment.path, text, found.imports)).foreign:
        _reads(emit).snippets.append(snippet)
    source = Source(segment.path, found)
    try:
        exhausted = judge([Part(source, segment, target)])
    except RecursionError:
        emit.incomplete(segment.path, "its expressions are nested too deeply to be judged")
        return
    if is_module:
        _reads(emit).files[segment.path].asks = source.written is not None
    if exhausted:
        emit.incomplete(segment.path, "its constants are too costly to be folded")
    elif whole and text == segment.text:
        emit.understood(segment)


def _is_module(file: SourceFile, segment: Segment) -> bool:
    return not file.depth and segment.anchor is None and not segment.provenance


def _recode(segment: Segment, codec: str, file: SourceFile, emit: Emitter) -> None:
    """Python reads this source through another codec, which can turn a comment into code."""
    end = segment.text.find("\n")
    place = segment.locate(0, end if end >= 0 else len(segment.text))
    message = f"the source is read as {codec}"
    emit.finding("python-source-encoding", place, segment.text[:120], message, segment=segment)
    try:
        text = file.data.decode(codec)
    except (LookupError, UnicodeError):
        emit.incomplete(segment.path, f"its declared encoding {codec} cannot be read")
        return
    without_line = "\n".join(text.split("\n")[2:]) if _CODING.match(text.split("\n")[0]) else text
    emit.derive(without_line, Context.PYTHON, place, codec, segment)


def _collected(segment: Segment, text: str, emit: Emitter) -> tuple[Collected, bool] | None:
    """What a walk over the segment's tree finds, and whether that is all of it.

    None when it cannot be parsed. What cannot be read of a file is a finding.
    """
    try:
        tree, left_out = python_tree(text)
        if left_out and not segment.provenance:
            lines = ", ".join(map(str, sorted(set(left_out))))
            emit.incomplete(
                segment.path, f"it is not valid Python in line {lines}, so only patterns were searched there"
            )
        return collect(tree), not left_out
    except (SyntaxError, ValueError) as error:
        if not segment.provenance:  # a snippet may be anything
            line = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
            emit.incomplete(segment.path, f"it is not valid Python{line}, so only patterns were searched")
    except (RecursionError, MemoryError):
        emit.incomplete(segment.path, "its nesting is too deep to be parsed, so only patterns were searched")
    return None


def _program(group: Sequence[tuple[SourceFile, _Read]], emit: Emitter) -> bool:
    """Judge files together; False when that could not be done, which is told where the files themselves could be."""
    first = group[0][0].path
    if sum(each.module.size for _, each in group) > _MOST_LINKED:
        emit.incomplete(first, "the files that import each other are too large to be followed together")
        return False
    parts = []
    for file, known in group:
        for segment in (each for each in file.of(Context.PYTHON) if _is_module(file, each)):
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                found = known.found or collect(python_tree(segment.text)[0])
                source = Source(segment.path, found, "sys.path" in segment.text, used=known.used(emit))
                parts.append(Part(source, segment, emit))
    try:
        exhausted = judge(parts)
    except RecursionError:
        exhausted = True
    if exhausted:
        emit.incomplete(first, "the files that import each other are too costly to be followed together")
    return not exhausted and len(parts) == len(group)


@contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage collection while one tree is made and read: its nodes all stay alive, so looking is for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _declared_codec(text: str) -> str | None:
    """The codec a coding line in the first two lines names, when it is not a plain one."""
    for line in text.split("\n", 2)[:2]:
        if found := _CODING.match(line):
            name = found[1].lower().replace("_", "-")
            return None if name in _PLAIN_CODECS else name
        if line.strip() and not line.lstrip().startswith("#"):
            return None
    return None


ENGINE = PythonEngine()

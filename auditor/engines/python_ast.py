"""The Python engine: parses every Python segment and has its calls judged.

Reads source as Python does, its coding line included (PEP 263). What Python itself could not parse is incomplete
in a file, and left to the regex rules in a snippet.
"""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.python.collect import collect
from skillkeep.auditor.engines.python.credentials import Credentials
from skillkeep.auditor.engines.python.egress import Egress
from skillkeep.auditor.engines.python.execution import Execution
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.folding import Folder
from skillkeep.auditor.engines.python.names import Names
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.tables import table

__all__ = ["ENGINE", "PythonEngine"]

_CODING: Final = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_PLAIN_CODECS: Final = frozenset(
    {"utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1", "iso-8859-15", "cp1252"}
)
_PROMPT: Final = re.compile(r"^([ \t]*)(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)


class PythonEngine(Engine):
    """Python by its syntax tree."""

    name: ClassVar[str] = "python"
    order: ClassVar[int] = 10

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge every Python segment of the file."""
        for segment in file.of(Context.PYTHON):
            codec = _declared_codec(segment.text)
            if codec is not None:
                self._recode(segment, codec, file, emit)
            with _without_collection():
                self._segment(segment, emit)

    def _recode(self, segment: Segment, codec: str, file: SourceFile, emit: Emitter) -> None:
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

    def _segment(self, segment: Segment, emit: Emitter) -> None:
        is_snippet = bool(segment.provenance)
        text = _PROMPT.sub(r"\1", segment.text) if is_snippet and ">>>" in segment.text else segment.text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            if not is_snippet:
                line = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
                emit.incomplete(segment.path, f"it is not valid Python{line}, so only patterns were searched")
            return
        except (RecursionError, MemoryError):
            emit.incomplete(segment.path, "its nesting is too deep to be parsed, so only patterns were searched")
            return
        try:
            exhausted = _judge(tree, segment, emit)
        except RecursionError:
            emit.incomplete(segment.path, "its expressions are nested too deeply to be judged")
            return
        if exhausted:
            emit.incomplete(segment.path, "its constants are too costly to be folded")
            return
        if text == segment.text:
            emit.understood(segment)


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


def _judge(tree: ast.Module, segment: Segment, emit: Emitter) -> bool:
    """Judge every call, subscript and decorator; True when a budget ran out."""
    sinks = table("python")
    found = collect(tree)
    names = Names(found)
    folder = Folder(names)
    site = Site(segment, emit, found, names, folder)
    flow = Flow(site, sinks)
    execution, credentials, egress = Execution(site, flow, sinks), Credentials(site, sinks), Egress(site, flow, sinks)
    for call, scope in found.calls:
        called = names.resolve(call.func, scope)
        execution.judge(call, scope, called)
        credentials.call(call, scope, called)
        egress.judge(call, scope, called)
    for node, scope in found.subscripts:
        credentials.subscript(node, scope)
    for decorator, scope in found.decorators:
        execution.decorated(decorator, scope)
    execution.joined(connects=egress.opens_socket)
    credentials.mentions()
    return names.exhausted or folder.exhausted or flow.exhausted


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

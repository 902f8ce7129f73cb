"""The JavaScript and TypeScript engine: reads every such segment as tokens and has its calls judged."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.javascript.bindings import collect_bindings
from skillkeep.auditor.engines.javascript.judge import Judge
from skillkeep.auditor.engines.javascript.reader import Reader
from skillkeep.auditor.engines.javascript.tokens import TooDeepError, tokenize
from skillkeep.auditor.engines.tables import table

_GLOBALS = frozenset({"globalThis", "window", "global", "self", "atob", "unescape", "decodeURIComponent", "String"})
_STRUCTURE = frozenset({"require", "import", "createRequire", "module", "Reflect", "Object", "os", "path", "Buffer"})

__all__ = ["ENGINE", "JavaScriptEngine"]


class JavaScriptEngine(Engine):
    """JavaScript, TypeScript and JSX by their tokens."""

    name: ClassVar[str] = "javascript"
    order: ClassVar[int] = 11

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge every segment of these languages."""
        for segment in file.of(Context.JAVASCRIPT, Context.TYPESCRIPT):
            self._segment(segment, emit)

    def _segment(self, segment: Segment, emit: Emitter) -> None:
        try:
            tokens = tokenize(segment.text)
        except TooDeepError:
            emit.incomplete(segment.path, "its templates are nested too deep to be judged")
            return
        reader = Reader(tokens, collect_bindings(tokens), _heads())
        Judge(segment, emit, reader, table("javascript")).run()
        if reader.exhausted:
            emit.incomplete(segment.path, "its expressions are too costly to be folded")
        elif tokens.damaged and not segment.provenance:
            emit.incomplete(segment.path, "a comment or template is never closed, so only a part was understood")
        elif not tokens.damaged:
            emit.understood(segment)


@cache
def _heads() -> frozenset[str]:
    """The first parts of every name in the table, which are the ones worth following."""
    sinks = table("javascript")
    names = [name for entry in sinks.values() for name in entry]
    return frozenset(name.partition(".")[0].removesuffix("()") for name in names) | _STRUCTURE | _GLOBALS


ENGINE = JavaScriptEngine()

"""The JavaScript and TypeScript engine: parses every such segment and has its calls judged."""

from __future__ import annotations

from typing import ClassVar

from skillkeep.auditor.engines.imitated import report_imitated
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.javascript.judge import judge
from skillkeep.auditor.engines.javascript.modules import ALONE
from skillkeep.auditor.engines.javascript.program import read_program
from skillkeep.auditor.engines.javascript.tool import Tool
from skillkeep.auditor.syntax import UnparsedError, parse

__all__ = ["ENGINE", "JavaScriptEngine"]


class JavaScriptEngine(Engine):
    """JavaScript, TypeScript and JSX by their syntax trees."""

    name: ClassVar[str] = "javascript"
    order: ClassVar[int] = 11
    version: ClassVar[str] = "2"

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge every segment of these languages."""
        for segment in file.of(Context.JAVASCRIPT, Context.TYPESCRIPT):
            self._segment(segment, emit)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Judge again, with what the others give it, each module that imports a source or a sender of secrets."""
        report_imitated(tree, emit)
        tool = Tool(
            segment
            for file in tree.files
            for segment in file.own(Context.JAVASCRIPT, Context.TYPESCRIPT)
            if not segment.provenance
        )
        for module in tool.connected():
            if module.program is not None:
                judge(module.program, module.segment, emit, module)

    def _segment(self, segment: Segment, emit: Emitter) -> None:
        try:
            syntax = parse(segment.context, segment.text)
        except UnparsedError as error:
            emit.incomplete(segment.path, str(error))
            return
        program = read_program(syntax)
        if judge(program, segment, emit, ALONE):
            emit.incomplete(segment.path, "its expressions are too many or too deep to be followed")
        elif program.too_deep:
            emit.incomplete(segment.path, "its functions are nested too deep to be judged")
        elif syntax.complete:
            emit.understood(segment)
        elif not segment.provenance:
            line = segment.locate(*syntax.errors[0]).line
            emit.incomplete(segment.path, f"it is not valid code (line {line}), so only a part was understood")


ENGINE = JavaScriptEngine()

"""Where the judges of one Python segment stand: its tree, its names and values, and the way to report."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate

from skillkeep.auditor.engines.interface import Context, Emitter, Segment
from skillkeep.auditor.engines.python.folding import Folder
from skillkeep.auditor.engines.python.names import Names
from skillkeep.auditor.engines.python.scopes import Collected, Scope
from skillkeep.auditor.engines.python.sources import argument
from skillkeep.auditor.engines.python.values import UNKNOWN, Unknown, Value
from skillkeep.auditor.interface import Location, Severity

__all__ = ["Site"]

_LONGEST_EXCERPT = 400


@dataclass(eq=False)
class Site:
    """One parsed segment. Positions of nodes (UTF-8 columns) become places in the audited file."""

    segment: Segment
    emit: Emitter
    found: Collected
    names: Names
    folder: Folder
    reported: set[tuple[str, int, int, str]] = field(default_factory=set)

    @cached_property
    def _lines(self) -> list[str]:
        return self.segment.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate([len(line) + 1 for line in self._lines])]

    def offset(self, line: int, column: int) -> int:
        """Character offset of a parser position (1-based line, 0-based UTF-8 column)."""
        index = min(max(line - 1, 0), len(self._lines) - 1)
        text = self._lines[index]
        cut = column if text.isascii() else len(text.encode("utf-8")[:column].decode("utf-8", "ignore"))
        return self._starts[index] + min(cut, len(text))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of `node` in the segment's text."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None)
        start = self.offset(line, column)
        return start, max(start, self.offset(end_line, end_column if end_column is not None else column))

    def at(self, node: ast.AST) -> Location:
        """The place of `node` in the audited file."""
        return self.segment.locate(*self.span(node))

    def excerpt(self, node: ast.AST) -> str:
        """The source text of `node`, at most a few hundred characters of it."""
        start, end = self.span(node)
        return self.segment.text[start : min(end, start + _LONGEST_EXCERPT)]

    def report(
        self,
        rule: str,
        node: ast.AST,
        message: str = "",
        *,
        subject: str = "",
        severity: Severity | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        """Report `rule` at `node`, once."""
        start, end = self.span(node)
        if (key := (rule, start, end, subject)) in self.reported:
            return
        self.reported.add(key)
        emit = partial(self.emit.finding, segment=self.segment, subject=subject, severity=severity, hosts=hosts)
        emit(rule, self.at(node), self.excerpt(node), message)

    def capability(self, kind: str, value: str, node: ast.AST) -> None:
        """The code wants `value`."""
        self.emit.capability(kind, value, self.at(node))

    def derive(self, text: str | bytes, context: Context | None, node: ast.AST, via: str) -> None:
        """Have `text`, which `node` executes or decodes, audited as what it is."""
        self.emit.derive(text, context, self.at(node), via, self.segment)

    def fold(self, node: ast.AST | None, scope: Scope) -> Value:
        """The value of `node`; `UNKNOWN` for None."""
        return UNKNOWN if node is None else self.folder.fold(node, scope)

    def judged(self, node: ast.AST | None, scope: Scope) -> tuple[Value, tuple[str, ...]]:
        """As `fold`, with the decoding layers that the value went through, outermost first."""
        return (UNKNOWN, ()) if node is None else self.folder.judged(node, scope)

    def argument(self, call: ast.Call, where: list[int | str]) -> ast.expr | None:
        """The judged argument of `call`: a position first, then keywords."""
        return argument(call, where)

    def keyword(self, call: ast.Call, name: str, scope: Scope) -> Value:
        """The value of a keyword argument; None when it is not given and nothing is spread into the call."""
        for item in call.keywords:
            if item.arg == name:
                return self.fold(item.value, scope)
            if item.arg is None:
                spread = self.fold(item.value, scope)
                if isinstance(spread, Unknown) or not isinstance(spread, dict):
                    return UNKNOWN
                if name in spread:
                    return spread[name]
        return None

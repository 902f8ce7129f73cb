"""One JavaScript segment while it is judged: where findings, capabilities and derived text go."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.interface import Context, Emitter, Segment
from skillkeep.auditor.engines.javascript.derived import Derived
from skillkeep.auditor.engines.javascript.flow import Flow
from skillkeep.auditor.engines.javascript.resolve import Resolver
from skillkeep.auditor.interface import Location, Severity

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Site"]

_LONGEST_EXCERPT: Final = 300


class Site:
    """Reports each thing once."""

    def __init__(self, segment: Segment, emit: Emitter, resolver: Resolver) -> None:
        self.segment = segment
        self.resolver = resolver
        self.flow = Flow(resolver)
        if "".join(segment.provenance[:1]).startswith("fence"):
            self.flow.derived = Derived(resolver)
        self._emit = emit
        self._reported: set[tuple[str, int, str, frozenset[str] | None]] = set()

    def at(self, node: Node) -> Location:
        """The place of a node."""
        return self.segment.locate(*self.resolver.program.syntax.span(node))

    def report(
        self,
        rule: str,
        node: Node,
        message: str,
        *,
        subject: str = "",
        severity: Severity | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        """A finding at `node`."""
        start, end = self.resolver.program.syntax.span(node)
        if (key := (rule, start, subject, hosts)) in self._reported:
            return
        self._reported.add(key)
        excerpt = self.segment.text[start : min(end, start + _LONGEST_EXCERPT)]
        place = self.segment.locate(start, end)
        emit = partial(self._emit.finding, segment=self.segment, subject=subject, severity=severity, hosts=hosts)
        emit(rule, place, excerpt, message)

    def capability(self, kind: str, value: str, node: Node) -> None:
        """The code at `node` wants `value`."""
        self._emit.capability(kind, value, self.at(node))

    def derive(self, text: str, context: Context, node: Node, via: str) -> None:
        """Have `text`, which the call at `node` executes, audited as what it is."""
        self._emit.derive(text, context, self.at(node), via, self.segment)

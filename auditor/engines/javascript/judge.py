"""Judges the calls and reads of one JavaScript program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.imitated import note_signing
from skillkeep.auditor.engines.interface import Emitter, Segment
from skillkeep.auditor.engines.javascript.described import describes, judge_described
from skillkeep.auditor.engines.javascript.execution import Execution
from skillkeep.auditor.engines.javascript.lost import Lost
from skillkeep.auditor.engines.javascript.modules import ALONE, Surroundings
from skillkeep.auditor.engines.javascript.program import Program
from skillkeep.auditor.engines.javascript.reach import Reach
from skillkeep.auditor.engines.javascript.resolve import Resolver
from skillkeep.auditor.engines.javascript.site import Site
from skillkeep.auditor.engines.javascript.words import words

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.scopes import Scope
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["judge"]

# A name that is written with an escape, or put together for a computed member or module.
_PUT_TOGETHER: Final = (
    r"\\[ux]|\b(?:globalThis|global|Reflect)\b|\brequire\s*[;,)\n]"
    r"|\b(?:window|self|top|parent|frames|this|require|import)\s*(?:\?\.\s*)?"
    r"(?:\[|\(\s*(?!['\"][^'\"\n]*['\"]\s*\)))"
)
_ENVIRONMENT: Final = compiled(rf"\b(?:process|Deno|Bun)\b|import\s*\.\s*meta|{_PUT_TOGETHER}")
_RUNNERS: Final = compiled(
    r"\b(?:eval|Function|execScript|vm2?|child_process|shelljs|execa|[bB]un|zx|dax-sh|node-cmd|_compile|constructor)\b|"
    + _PUT_TOGETHER
)


def judge(program: Program, segment: Segment, emit: Emitter, surroundings: Surroundings) -> bool:
    """Judge every call and every variable that is read; True when a budget ran out before all was judged."""
    resolver = Resolver(program, words(), surroundings)
    site = Site(segment, emit, resolver)
    execution, reach = Execution(site, words()), Reach(site, words())
    whole, text = surroundings is not ALONE, program.syntax.text
    hands = whole or _RUNNERS.search(text) is not None
    tells = describes(text)
    for node, scope in program.calls:
        paths, arguments = _call(node, scope, resolver, (execution, reach))
        if arguments:
            execution.fed(node, scope, arguments)
        if arguments and hands:
            execution.handed(paths[0] if paths else "", arguments, scope)
        if arguments and tells:
            judge_described(site, node, scope, arguments)
    execution.joined()
    if hands:
        Lost(site, words()).judge()
    if whole or _ENVIRONMENT.search(text):
        for node, scope in program.members:
            reach.member(node, scope)
        reach.destructured()
    reach.mentions()
    if site.flow.derived is not None and site.flow.derived.used:
        note_signing(segment, site.flow.derived.used, emit)
    return resolver.exhausted


def _call(
    node: Node, scope: Scope, resolver: Resolver, judges: tuple[Execution, Reach]
) -> tuple[tuple[str, ...], list[Node]]:
    """Judge one call; what is called, and with what."""
    callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    paths = resolver.value(callee, scope).paths
    arguments = resolver.arguments(node)
    for path in paths:
        for each in judges:
            each.judge(node, scope, path, arguments)
    return paths, arguments

"""Judges the calls and reads of one JavaScript program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkeep.auditor.engines.interface import Emitter, Segment
from skillkeep.auditor.engines.javascript.execution import Execution
from skillkeep.auditor.engines.javascript.modules import Surroundings
from skillkeep.auditor.engines.javascript.program import Program
from skillkeep.auditor.engines.javascript.reach import Reach
from skillkeep.auditor.engines.javascript.resolve import Resolver
from skillkeep.auditor.engines.javascript.site import Site
from skillkeep.auditor.engines.javascript.words import words

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.scopes import Scope
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["judge"]


def judge(program: Program, segment: Segment, emit: Emitter, surroundings: Surroundings) -> bool:
    """Judge every call and every variable that is read; True when a budget ran out before all was judged."""
    resolver = Resolver(program, words(), surroundings)
    site = Site(segment, emit, resolver)
    execution, reach = Execution(site, words()), Reach(site, words())
    for node, scope in program.calls:
        _call(node, scope, resolver, execution, reach)
    execution.joined()
    if _reads_environment(program):
        for node, scope in program.members:
            reach.member(node, scope)
        reach.destructured()
    reach.mentions()
    return resolver.exhausted


def _call(node: Node, scope: Scope, resolver: Resolver, execution: Execution, reach: Reach) -> None:
    callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    paths = resolver.value(callee, scope).paths
    arguments = resolver.arguments(node)
    for path in paths:
        execution.judge(node, scope, path, arguments)
        reach.judge(node, scope, path, arguments)
    if arguments:
        execution.handed(paths[0] if paths else "", arguments, scope)


def _reads_environment(program: Program) -> bool:
    """False when no name of the file can lead to the environment, so that its members need no look."""
    text = program.syntax.text
    return "\\" in text or any(word in text for word in ("env", "process", "require", "import", "global"))

"""Interpreters that a program starts without a script: what is typed into them, or given as their input, they run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.fed import reading
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.javascript.site import Site
from skillkeep.auditor.engines.javascript.texts import HOLE
from skillkeep.auditor.engines.javascript.values import Value

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.scopes import Scope
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Typed"]

_WAITING: Final = frozenset({"-i", "-l", "-li", "-il", "-s", "-"})  # of shells
_READING: Final = frozenset({"-", "-s"})
_FEEDING: Final = compiled(r"(?:^|\.)(?:pipe|pipeTo|pipeline|write|end)$")
_INPUT: Final = compiled(r"\bstdin\b")


class Typed:
    """Follows the interpreters of one program. `shell` is where one of these is a shell that waits for orders."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._waiting = ""  # the interpreter that was started last
        self.shell: Node | None = None

    def started(
        self, node: Node, scope: Scope, name: str, words: Collection[str], options: Sequence[Node], *, is_shell: bool
    ) -> None:
        """The interpreter `name` was started with these arguments; `options` may hold its input: ``{input: "…"}``."""
        if not (_WAITING if is_shell else _READING).issuperset(words):
            return
        self._waiting = name
        if is_shell:
            self.shell = node
        for option in options:
            objects = self._site.resolver.value(option, scope).objects
            if objects:
                self._run(node, name, self._site.resolver.names.member(Value(objects=objects), "input"))

    def fed(self, node: Node, scope: Scope, arguments: Sequence[Node]) -> None:
        """``shell.stdin.write("…")``, ``fetched.pipe(shell.stdin)``: something is typed into an interpreter."""
        callee = node.child_by_field_name("function")
        if callee is None or not self._waiting:
            return
        source = self._site.resolver.program.syntax.source
        into = bool(_INPUT.search(source(callee)))
        if not (into or any(_INPUT.search(source(each)) for each in arguments[:4])):
            return
        if not _FEEDING.search(source(callee)):
            return
        if any("download" in self._site.flow.labels(each, scope) for each in (*arguments, callee)):
            self._site.report("javascript-downloaded-execution", node, "a shell is given what came from the network")
        elif into and arguments:
            self._run(node, self._waiting, self._site.resolver.value(arguments[0], scope))

    def _run(self, node: Node, interpreter: str, given: Value) -> None:
        for text in given.texts:
            if text.strip(HOLE).strip():
                script = reading(interpreter, text.replace(HOLE, "NOT_KNOWN"))
                self._site.derive(script, Context.SHELL, node, f"the input of {interpreter}")

"""Whether a function of a JavaScript file can be called by a name that stands nowhere in it.

``eval`` in a function sees every name around it. Names at the top of a script, and those that nothing declares, are
members of the global object, which takes a name made at run time, and which code made of a text sees as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.program import CLASSES, Program
from skillkeep.auditor.engines.javascript.scopes import Scope

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Ways"]

_GLOBALS: Final = frozenset({"globalThis", "window", "global", "self", "top", "parent", "frames"})
_MAKERS: Final = frozenset({"Function", "execScript"})  # code of a text that sees the global object
_RUNNERS: Final = frozenset(
    name for module in ("vm", "repl", "inspector") for name in (f"'{module}'", f"'node:{module}'")
)


class Ways:
    """The ways of one file to names that are made at run time, looked for once it matters."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._evaluates: bool | None = None
        self._global: frozenset[str] | None = None  # members that are read of the global object

    def reach(self, name: str, home: Scope) -> bool:
        """Whether `name`, bound in `home`, may be read without being written."""
        if self._evaluates is None:
            self._evaluates = self._meets("eval")
        if self._evaluates or home is not self._program.top:
            return self._evaluates
        if self._global is None:
            self._global = frozenset(map(self._key, self._held()))
        return self._runs_text or not self._global.isdisjoint({name, "", *_GLOBALS})

    def _meets(self, name: str) -> bool:
        """Whether the file reads the global `name`."""
        program = self._program
        called = (scope for _, scope in program.callers.get(name, ()))
        return any(scope.lookup(name) is None for scope in (*called, *program.scopes_of.get(name, ())))

    @cached_property
    def _runs_text(self) -> bool:
        source = self._program.syntax.source
        if "constructor" in self._program.method_calls or any(map(self._meets, _MAKERS)):
            return True
        return any(source(each).replace('"', "'") in _RUNNERS for each in self._program.strings)

    def _held(self) -> Iterator[Node]:
        """What stands for the global object: a name of it, and in a script ``this`` of no class."""
        for node, scope in self._program.used:
            if self._program.name(node) in _GLOBALS and scope.lookup(self._program.name(node)) is None:
                yield node
        queue = [self._program.syntax.root]
        while queue:
            node = queue.pop()
            if node.type == "this":
                yield node
            queue += [each for each in node.named_children if each.type not in CLASSES]

    def _key(self, node: Node) -> str:
        """The name of the member that is read of `node`; none where another one may be, or `node` goes elsewhere."""
        around = node.parent
        if around is None or around.type != "member_expression":
            return ""
        holder, member = around.child_by_field_name("object"), around.child_by_field_name("property")
        return self._program.name(member) if member is not None and holder is not None and holder.id == node.id else ""

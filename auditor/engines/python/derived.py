"""What a signing library makes of a private key for everybody to see: an address, a public key, a signature.

None of them tells the key, when the key goes in whole: of a single letter of it an address would tell which it was.
That is asked in the blocks of pages only, whose libraries are those of a registry. A program may bring its own.
"""

from __future__ import annotations

import ast
from typing import Final

from skillkeep.auditor.engines.python.names import Names
from skillkeep.auditor.engines.python.scopes import CHOSEN, Binding, Scope
from skillkeep.auditor.engines.tables import table

__all__ = ["Derived"]

_DEEPEST: Final = 6


class Derived:
    """Asks it of one block."""

    def __init__(self, names: Names, environment: frozenset[str]) -> None:
        self._names = names
        self._environment = environment
        data = table("python")
        self._shown: dict[str, list[str]] = data["derived"]
        self._signing: dict[str, int] = data["signing"]
        self._whole: dict[str, bool] = {}
        self.used: set[str] = set()  # libraries that were believed
        self._held: set[str] | None = None

    def is_public(self, node: ast.Attribute, names: tuple[str, ...], scope: Scope) -> bool:
        """True for a member that tells nothing of the key that its object was made of."""
        maker, _, member = names[0].rpartition("().") if len(names) == 1 else ("", "", "")
        if member not in self._shown.get(maker, ()) or not self._is_made(node.value, scope):
            return False
        shown = self._is_plain(names[0], scope) and self._is_of_whole_keys(maker, scope)
        self.used |= {maker.partition(".")[0]} if shown else set()
        return shown

    def signs_with(self, node: ast.expr, names: tuple[str, ...], scope: Scope) -> int | None:
        """Which argument of a call of `node` is a key that its answer does not tell."""
        at = self._signing.get(names[0]) if len(names) == 1 else None
        if at is None or not self._is_imported(node, scope) or not self._is_plain(names[0], scope):
            return None
        self.used.add(names[0].partition(".")[0])
        return at

    def _is_made(self, node: ast.expr, scope: Scope) -> bool:
        """True for an object that is made by a call, and for the one name of it, by which nobody else gets it."""
        if isinstance(node, ast.Name):
            found = self._only(node, scope)
            made = found is not None and found[0].kind == "value" and isinstance(found[0].node, ast.Call)
            return made and node.id not in self._handed_on(scope)
        return isinstance(node, ast.Call)

    def _handed_on(self, scope: Scope) -> set[str]:
        """The names whose object is used as a whole: what else has it may put something of its own into it."""
        if self._held is None:
            nodes = list(ast.walk(scope.module.owner))
            plain = [each for each in nodes if isinstance(each, ast.Attribute) and not each.attr.startswith("_")]
            bases = {id(each.value) for each in plain if isinstance(each.ctx, ast.Load)}
            loads = (each for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
            self._held = {each.id for each in loads if id(each) not in bases}
        return self._held

    @staticmethod
    def _only(node: ast.Name, scope: Scope) -> tuple[Binding, Scope] | None:
        bound = scope.lookup(node.id)
        return (bound[1][0], bound[0]) if bound is not None and len(bound[1]) == 1 else None

    def _is_imported(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """True for what is imported, a member of it, or what a call of that made, under its one name."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if isinstance(node, ast.Call) and depth < _DEEPEST:
            return self._is_imported(node.func, scope, depth + 1)
        found = self._only(node, scope) if isinstance(node, ast.Name) else None
        if found is None or depth >= _DEEPEST:
            return False
        binding, home = found
        made = binding.node if binding.kind == "value" and isinstance(binding.node, ast.Call) else None
        return binding.kind == "import" or (made is not None and self._is_imported(made, home, depth + 1))

    def _is_plain(self, name: str, scope: Scope) -> bool:
        """True where the text puts nothing of its own under a step of `name`."""
        stored = self._names.found(scope).attributes
        return CHOSEN not in stored and not any(step in stored for step in name.replace("()", "").split("."))

    def _is_of_whole_keys(self, maker: str, scope: Scope) -> bool:
        if maker not in self._whole:
            self._whole[maker] = False
            self._whole[maker] = self._is_plain(maker, scope) and all(
                self._is_imported(call.func, home) and self._is_whole(call.args[0] if call.args else None, home)
                for call, home in self._names.found(scope).calls
                if maker in self._names.resolve(call.func, home)
            )
        return self._whole[maker]

    def _is_whole(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> bool:
        """True for a variable of the environment, by whatever name, and nothing but it."""
        if depth > _DEEPEST:
            return False
        if isinstance(node, ast.Name):
            found = self._only(node, scope)
            given = found[0].node if found is not None and found[0].kind == "value" else None
            return found is not None and isinstance(given, ast.expr) and self._is_whole(given, found[1], depth + 1)
        if isinstance(node, ast.Subscript):
            return "os.environ" in self._names.resolve(node.value, scope) and isinstance(node.slice, ast.Constant)
        if not isinstance(node, ast.Call) or not node.args:
            return False
        read = not self._environment.isdisjoint(self._names.resolve(node.func, scope))
        return read and all(isinstance(each, ast.Constant) for each in node.args)

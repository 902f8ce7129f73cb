"""What a signing library makes of a private key for everybody to see: an address, a public key, a signature.

None of them tells the key, when the key goes in whole: of a single letter of it a public key would tell which it was.
That is asked in the blocks of pages only, whose libraries are those of a registry. A program may bring its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.javascript.inner import WRAPPERS
from skillkeep.auditor.engines.javascript.scopes import ANY, Binding, Scope

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.resolve import Resolver
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Derived"]

_CHANGING: Final = compiled(  # what puts something else under a name of the library's
    r"\b(?:assign|defineProperty|defineProperties|setPrototypeOf|__proto__|prototype|Proxy|Reflect|merge|extends|eval"
    r"|Function|mock\w*|vi|jest|sinon|proxyquire|__define[GS]etter__|lodash|underscore|jquery|jQuery)\b"
    r"|(?<![\w.])(?:_|\$)\.|\bwith\s*\("
)
_SPELLING: Final = frozenset(  # how a key is written, all of it
    {"bs58.decode", "bs58.default.decode", "Uint8Array.from", "Uint8Array", "JSON.parse", "Buffer.from"}
)
_DEEPEST: Final = 6


class Derived:
    """Asks it of one block."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._whole: dict[str, bool] = {}
        self.used: set[str] = set()  # libraries that were believed

    def is_public(self, node: Node | None, paths: tuple[str, ...], scope: Scope) -> bool:
        """True for a member that tells nothing of the key that its object was made of."""
        maker, _, member = paths[0].rpartition("().") if len(paths) == 1 else ("", "", "")
        if node is None or member not in self._resolver.words.derived.get(maker, ()):
            return False
        shown = self._is_made(node.child_by_field_name("object"), scope) and self._is_of_whole_keys(maker)
        self.used |= {maker.partition(".")[0]} if shown else set()
        return shown

    def signs_with(self, node: Node | None, paths: tuple[str, ...], scope: Scope) -> int | None:
        """Which argument of a call of `node` is a key that its answer does not tell."""
        at = self._resolver.words.signing.get(paths[0]) if len(paths) == 1 else None
        if at is None or not self._is_imported(node, scope) or not self._is_plain(paths[0]):
            return None
        self.used.add(paths[0].partition(".")[0])
        return at

    def _is_made(self, node: Node | None, scope: Scope) -> bool:
        """True for an object that is made by a call, and for the one name of it."""
        if node is not None and node.type == "identifier":
            binding = self._only(node, scope)
            node = binding.node if binding is not None and binding.kind == "value" and not binding.members else None
        return node is not None and node.type in {"call_expression", "new_expression"}

    def _only(self, node: Node, scope: Scope) -> Binding | None:
        bound = scope.lookup(self._resolver.program.name(node))
        return bound[1][0] if bound is not None and len(bound[1]) == 1 else None

    def _is_imported(self, node: Node | None, scope: Scope) -> bool:
        """True for what is imported, and a member of it, under its one name."""
        while node is not None and node.type == "member_expression":
            node = node.child_by_field_name("object")
        binding = self._only(node, scope) if node is not None and node.type == "identifier" else None
        if binding is not None and binding.kind == "value" and binding.node is not None:
            called = binding.node.child_by_field_name("function") if binding.node.type == "call_expression" else None
            return called is not None and self._resolver.program.name(called) == "require"
        return binding is not None and binding.kind == "import"

    def _is_plain(self, path: str) -> bool:
        """True where the text puts nothing of its own under a step of `path`."""
        program = self._resolver.program
        stored = program.properties
        steps = path.replace("()", "").split(".")
        put = any(each.path == "=" for step in steps for each in stored.get(step, ()))
        return not put and ANY not in stored and not _CHANGING.search(program.syntax.text)

    def _is_of_whole_keys(self, maker: str) -> bool:
        if maker not in self._whole:
            self._whole[maker] = False
            self._whole[maker] = self._is_plain(maker) and all(
                self._is_whole(given, scope) for given, scope in self._keys(maker)
            )
        return self._whole[maker]

    def _keys(self, maker: str) -> list[tuple[Node | None, Scope]]:
        """What each call of `maker` takes first."""
        found: list[tuple[Node | None, Scope]] = []
        for node, scope in self._resolver.program.calls:
            callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            if maker in self._resolver.value(callee, scope).paths:
                given = next(iter(self._resolver.arguments(node)), None)
                found.append((given if self._is_imported(callee, scope) else None, scope))
        return found

    def _is_whole(self, node: Node | None, scope: Scope, depth: int = 0) -> bool:
        """True for a variable of the environment, by whatever name and in whatever spelling, and nothing but it."""
        resolver = self._resolver
        if node is None or depth > _DEEPEST:
            return False
        if node.type in WRAPPERS:
            return bool(node.named_children) and self._is_whole(node.named_children[0], scope, depth + 1)
        if node.type == "identifier":
            binding = self._only(node, scope)
            plain = binding is not None and binding.kind == "value" and not binding.members
            return binding is not None and plain and self._is_whole(binding.node, binding.scope, depth + 1)
        if node.type in {"call_expression", "new_expression"}:
            callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            spells = callee is not None and resolver.program.name(callee) in _SPELLING
            given = resolver.arguments(node)
            rest = all(each.type == "string" for each in given[1:])
            return spells and bool(given) and rest and self._is_whole(given[0], scope, depth + 1)
        paths = resolver.value(node, scope).paths if node.type == "member_expression" else ()
        return len(paths) == 1 and (resolver.words.variable_of(paths[0]) or "?") != "?"

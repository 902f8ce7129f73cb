"""Addresses that only a variable of the user's changes: ``const BASE = process.env.ACME_BASE_URL || "https://…"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.javascript.inner import WRAPPERS, inner_nodes
from skillkeep.auditor.engines.javascript.resolve import Resolver
from skillkeep.auditor.engines.javascript.scopes import Scope
from skillkeep.auditor.engines.javascript.texts import HOLE

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["override_of"]

_SETTING: Final = compiled(r"process\.env\.([A-Z][A-Z0-9_]*_(?:URL|URI|BASE|ENDPOINT|HOST|SERVER|SITE))")
_KEEPING: Final = frozenset({"replace", "trim", "trimEnd"})  # of which the address's text is known as well
_DEEPEST: Final = 8


def override_of(resolver: Resolver, node: Node | None, scope: Scope, depth: int = 0) -> str:
    """The variable that may be another beginning of the address `node`, all else being known; empty for none."""
    if node is None or depth > _DEEPEST:
        return ""
    kind, inner = node.type, inner_nodes(node)
    further: list[tuple[Node | None, Scope]] = []
    if kind in WRAPPERS:
        further = [(inner[0] if inner else None, scope)]
    elif kind == "template_string" and inner and inner[0].type == "template_substitution":
        begins = inner[0].start_byte == node.start_byte + 1
        further = [(each, scope) for each in inner_nodes(inner[0])[:1]] if begins else []
    elif kind == "identifier" and (bound := scope.lookup(resolver.program.name(node))) is not None:
        plain = len(bound[1]) == 1 and bound[1][0].kind == "value" and not bound[1][0].members
        further = [(bound[1][0].node, bound[1][0].scope)] if plain else []
    elif kind == "new_expression" and resolver.value(node.child_by_field_name("constructor"), scope).paths == ("URL",):
        further = [(each, scope) for each in resolver.arguments(node)] if len(resolver.arguments(node)) == 1 else []
    elif kind == "call_expression":
        further = [(_receiver(resolver, node), scope)]
    elif kind == "binary_expression":
        operator = node.child_by_field_name("operator")
        if operator is not None and operator.type in {"||", "??"}:
            return _chosen(resolver, node, scope)
        further = [(node.child_by_field_name("left"), scope)] if operator is not None and operator.type == "+" else []
    found = {override_of(resolver, each, home, depth + 1) for each, home in further}
    return found.pop() if len(found) == 1 else ""


def _receiver(resolver: Resolver, call: Node) -> Node | None:
    target = call.child_by_field_name("function")
    if target is None or target.type != "member_expression":
        return None
    key = target.child_by_field_name("property")
    return target.child_by_field_name("object") if key is not None and resolver.program.name(key) in _KEEPING else None


def _chosen(resolver: Resolver, node: Node, scope: Scope) -> str:
    """``process.env.NAME || text``, where the file puts nothing into that variable."""
    left, right = (resolver.value(node.child_by_field_name(side), scope) for side in ("left", "right"))
    found = _SETTING.fullmatch(left.paths[0]) if len(left.paths) == 1 and not left.texts else None
    told = bool(right.texts) and not any(HOLE in text for text in right.texts)
    return found[1] if found and told and found[1] not in resolver.program.properties else ""

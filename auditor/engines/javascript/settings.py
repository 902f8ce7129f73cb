"""What gives the environment back as it was: libraries that check settings, ``Object.assign`` of a fresh object.

``schema.parse(process.env).NAME`` is that variable and no other, when the schema is made of a library's own calls and
its functions see one field each and keep nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.inner import inner_nodes
from skillkeep.auditor.engines.javascript.scopes import FUNCTIONS, Binding, Scope
from skillkeep.auditor.engines.javascript.values import UNKNOWN, Value, union

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.resolve import Resolver
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Settings", "checked_member"]

_CHECKED: Final = "<checked>."
_ENVIRONMENT: Final = Value(paths=("process.env",))
_MOST_NODES: Final = 4_000
_PARTS: Final = frozenset(
    {
        "call_expression", "arguments", "member_expression", "object", "pair", "array", "parenthesized_expression",
        "spread_element", "unary_expression", "binary_expression", "string", "number", "regex", "true", "false",
        "null", "undefined", "property_identifier", "string_fragment", "escape_sequence", "regex_pattern",
        "regex_flags", "comment",
        "as_expression", "satisfies_expression", "type_identifier", "type_arguments", "template_string",
    }
)  # fmt: skip
_KEEPING: Final = frozenset(
    {
        "assignment_expression", "augmented_assignment_expression", "update_expression", "this", "variable_declarator",
        "yield_expression", "throw_statement", "class", "import", "meta_property", *FUNCTIONS,
    }
)  # fmt: skip
_KEYS: Final = frozenset({"property_identifier", "string", "number"})
_PURE: Final = frozenset({"Number", "parseInt", "parseFloat", "Boolean", "String", "JSON", "isNaN", "undefined"})


def checked_member(path: str, name: str) -> Value | None:
    """The member `name` of what a check that tells of success gave, None when `path` is no such answer."""
    if not path.startswith(_CHECKED):
        return None
    return _ENVIRONMENT if path == f"{_CHECKED}{name}" else UNKNOWN


class Settings:
    """Answers of one program."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._words = resolver.words.settings
        self._left = _MOST_NODES

    def of(self, path: str, node: Node, arguments: list[Node], scope: Scope) -> Value | None:
        """The value of the call `node` of `path` when it is the environment, or a fresh object with all of it."""
        if path == "Object.assign" and len(arguments) > 1 and arguments[0].type == "object":
            return self._merged(arguments, scope)
        if (place := self._words.readers.get(path)) is not None:
            told = [each for index, each in enumerate(arguments) if index != place]
            given = place < len(arguments) and self._is_environment(self._resolver.value(arguments[place], scope))
            return _ENVIRONMENT if given and all(self._is_plain(each, scope) for each in told) else None
        member = self._words.check(path)
        if member is None or not arguments or not self._is_environment(self._resolver.value(arguments[0], scope)):
            return None
        callee = node.child_by_field_name("function")
        schema = callee.child_by_field_name("object") if callee is not None else None
        stored = self._resolver.program.properties.get(path.rpartition(".")[2], ())
        if schema is None or any(each.path == "=" for each in stored) or not self._is_plain(schema, scope):
            return None
        return Value(paths=(f"{_CHECKED}{member}",)) if member else _ENVIRONMENT

    def _merged(self, arguments: list[Node], scope: Scope) -> Value | None:
        """The environment, and objects whose members are all written down, put together."""
        values = [self._resolver.value(each, scope) for each in arguments]
        own = [not self._is_environment(value) for value in values]
        told = all(_is_told(node) for node, other in zip(arguments, own, strict=True) if other)
        return union(values) if told and not all(own) else None

    def _is_environment(self, value: Value) -> bool:
        return bool(value.paths) and all(path in self._resolver.words.environment for path in value.paths)

    def _is_plain(self, root: Node, scope: Scope) -> bool:
        """True for what is made of the library's calls, constants and functions that keep nothing."""
        queue, seen = [(root, scope)], set[int]()
        while queue:
            node, home = queue.pop()
            self._left -= 1
            if self._left < 0 or not self._resolver.spend(1):
                return False
            if node.id in seen:
                continue
            seen.add(node.id)
            if node.type == "identifier":
                if not self._follows(node, home, queue):
                    return False
            elif node.type in FUNCTIONS:
                if not self._is_pure(node, home):
                    return False
            elif node.type not in _PARTS:
                return False
            else:
                queue.extend((child, home) for child in node.named_children)
        return True

    def _follows(self, node: Node, scope: Scope, queue: list[tuple[Node, Scope]]) -> bool:
        """True for a name of the library, or one whose values are all in sight; these are then in the queue."""
        bound = scope.lookup(self._resolver.program.name(node))
        for binding in bound[1] if bound is not None else ():
            if self._is_library(binding):
                continue
            if binding.kind != "value" or binding.members or binding.node is None:
                return False
            queue.append((binding.node, binding.scope))
        return bound is not None

    def _is_library(self, binding: Binding) -> bool:
        if binding.kind != "import" and (binding.node is None or binding.node.type != "call_expression"):
            return False
        value = self._resolver.names.binding(binding)
        return bool(value.paths) and all(self._words.is_library(path) for path in value.paths)

    def _is_pure(self, node: Node, scope: Scope) -> bool:
        """True for a function of one value that names nothing but it and what makes numbers and texts."""
        program = self._resolver.program
        inner = program.functions.get(node.id)
        body = node.child_by_field_name("body")
        if inner is None or body is None or len(inner.names) > 1:
            return False
        queue = [body]
        while queue:
            each = queue.pop()
            self._left -= 1
            if self._left < 0 or each.type in _KEEPING:
                return False
            if each.type in {"identifier", "shorthand_property_identifier"}:
                name = program.name(each)
                if name not in inner.names and (name not in _PURE or scope.lookup(name) is not None):
                    return False
            queue.extend(inner_nodes(each))
        return True


def _is_told(node: Node) -> bool:
    """True for ``{name: value}`` with no member under a name that is not written, and none that is worked out."""
    return node.type == "object" and all(
        child.type in {"shorthand_property_identifier", "comment"}
        or (child.type == "pair" and (key := child.child_by_field_name("key")) is not None and key.type in _KEYS)
        for child in node.named_children
    )

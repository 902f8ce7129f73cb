"""Works out Ruby's expressions; calls are handed to the judge, and everything inside them is visited on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.ruby.texts import unescaped
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.engines.tree_site import TreeSite
from skillkeep.auditor.engines.values import HOLE, NOTHING, UNKNOWN, Value, joined, listed

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Folder", "TooDeepError"]

_DEPTH: Final = 90
_MOST_STEPS: Final = 300_000
_STRINGS: Final = frozenset(
    {"string", "delimited_symbol", "subshell", "regex", "bare_string", "bare_symbol", "chained_string"}
)
_TRANSPARENT: Final = frozenset(
    {
        "parenthesized_statements",
        "interpolation",
        "begin",
        "block_argument",
        "splat_argument",
        "argument_list",
        "body_statement",
        "block_body",
        "then",
        "else",
        "ensure",
        "do",
    }
)
_SYMBOLS: Final = frozenset({"simple_symbol", "hash_key_symbol"})
_NAMES: Final = frozenset({"identifier", "constant", "instance_variable", "global_variable", "class_variable"})


class TooDeepError(ValueError):
    """Expressions are nested deeper than they are followed."""


class Folder:
    """Works out one node at a time. `call` judges a call, `define` a method, `shell` a text in backticks,
    `listing` ``Dir[…]``."""

    def __init__(
        self,
        site: TreeSite,
        call: Callable[[Node], Value],
        define: Callable[[Node], None],
        shell: Callable[[Node, Value], Value],
        listing: Callable[[Node, list[Value]], Value],
    ) -> None:
        self._site = site
        self._call = call
        self._define = define
        self._shell = shell
        self._listing = listing
        self._depth = 0
        self._documents: dict[int, Node] = {}

    def documents(self, root: Node) -> None:
        """Find which here-document belongs to which mark: they come in the same order."""
        marks: list[int] = []
        stack = [root]
        while stack:
            node = stack.pop()
            if node.type == "heredoc_beginning":
                marks.append(node.start_byte)
            elif node.type == "heredoc_body" and marks:
                self._documents[marks.pop(0)] = node
            stack.extend(reversed(node.children))

    def value(self, node: Node) -> Value:
        """What `node` stands for; everything below it is judged. Raises `TooDeepError`."""
        self._site.steps += 1
        if self._site.steps > _MOST_STEPS:
            return UNKNOWN
        self._depth += 1
        if self._depth > _DEPTH:
            raise TooDeepError
        value = self._value(node, node.type)
        self._depth -= 1
        return value

    def statements(self, node: Node) -> Value:
        """Judge the parts of `node` in order; the value of the last."""
        value = UNKNOWN
        labels = NOTHING
        for child in node.children:
            if child.is_named and child.type != "comment":
                value = self.value(child)
                labels |= value.labels
        return value.labelled(labels) if node.type in {"if", "case", "conditional", "while"} else value

    def _value(self, node: Node, kind: str) -> Value:
        if kind == "call" or kind == "super" or kind == "yield":
            return self._call(node)
        if kind in _NAMES:
            return self._name(node)
        if kind in _STRINGS:
            return self._string(node, kind)
        if kind in _SYMBOLS:
            return Value(self._site.source(node).strip(":"))
        if kind == "integer":
            return Value(_whole_number(self._site.source(node).replace("_", "").lower()))
        if kind in {"array", "string_array", "symbol_array"}:
            return listed(tuple(self.value(child) for child in node.named_children if child.type != "comment"))
        if kind == "binary":
            return self._binary(node)
        if kind in {"assignment", "operator_assignment"}:
            return self._assigned(node, kind)
        if kind == "element_reference":
            return self._element(node)
        if kind in _TRANSPARENT:
            return self.statements(node)
        return self._other(node, kind)

    def _other(self, node: Node, kind: str) -> Value:
        if kind == "heredoc_beginning":
            return self._document(node)
        if kind in {"method", "singleton_method"}:
            self._define(node)
            return UNKNOWN
        if kind == "scope_resolution":
            return Value(HOLE, kind=self._site.source(node))
        if kind == "pair":
            values = [self.value(child) for child in node.named_children]
            return values[-1] if values else UNKNOWN
        if kind == "hash":
            return Value(HOLE, NOTHING.union(*(self.value(child).labels for child in node.named_children)))
        if kind == "character":
            return Value(self._site.source(node)[1:])
        if kind == "heredoc_body" or kind == "comment":
            return UNKNOWN
        if kind == "class" or kind == "module":
            return self.statements(node)
        return self.statements(node)

    def _name(self, node: Node) -> Value:
        name = self._site.source(node)
        known = self._site.variables.get(name)
        if known is not None:
            return known
        if name == "ENV":
            return Value(HOLE, frozenset({"environment"}), kind="ENV")
        if node.type == "identifier":
            return self._call(node)
        return Value(HOLE, kind=name if node.type == "constant" else "")

    def _string(self, node: Node, kind: str) -> Value:
        raw = self._site.source(node)
        plain = raw.startswith(("'", "%q", "%w", "%i"))
        parts = []
        for child in node.named_children:
            if child.type == "interpolation":
                inner = self.statements(child)
                parts.append(Value(inner.text, inner.labels))
            elif child.type in {"string", "bare_string"}:
                parts.append(self.value(child))
            else:
                text = self._site.source(child)
                parts.append(Value(text if plain else unescaped(text)))
        value = joined(tuple(parts))
        return self._shell(node, value) if kind == "subshell" else value

    def _document(self, node: Node) -> Value:
        body = self._documents.get(node.start_byte)
        mark = self._site.source(node)
        if body is None:
            return UNKNOWN
        parts = []
        for child in body.named_children:
            if child.type == "interpolation":
                inner = self.statements(child)
                parts.append(Value(inner.text, inner.labels))
            elif child.type == "heredoc_content":
                parts.append(Value(self._site.source(child)))
        value = joined(tuple(parts))
        return self._shell(node, value) if "`" in mark else value

    def _binary(self, node: Node) -> Value:
        """``a + b + c``, which the grammar nests to the left."""
        rest: list[tuple[str, Node]] = []
        while node.type == "binary" and len(node.children) == 3:
            rest.append((node.children[1].type, node.children[2]))
            node = node.children[0]
        value, target = self.value(node), self._site.source(node)
        for operator, right in reversed(rest):
            value = self._combined(operator, value, self.value(right))
            if operator == "<<" and node.type in _NAMES:
                self._site.variables[target] = value
        return value

    @staticmethod
    def _combined(operator: str, left: Value, right: Value) -> Value:
        labels = left.labels | right.labels
        if operator == "<<" and left.items is not None:
            return listed((*left.items, right))
        if operator == "+" and left.items is not None and right.items is not None:
            return listed(left.items + right.items)
        if operator in {"+", "<<"}:
            return joined((left, right))
        if operator == "*" and left.known and right.text.isdecimal() and len(right.text) < 4:
            return Value(left.text * int(right.text), labels)
        if operator == "/":  # Pathname
            return Value(f"{left.text.rstrip('/')}/{right.text}", labels)
        if operator in {"||", "or"}:
            return left.labelled(labels) if left.known else right.labelled(labels)
        return Value(HOLE, labels)

    def _assigned(self, node: Node, kind: str) -> Value:
        target, right = node.children[0], node.children[-1]
        value = self.value(right)
        if target.type == "left_assignment_list":
            parts = value.items or ()
            for at, child in enumerate(each for each in target.named_children if each.type in _NAMES):
                one = parts[at] if at < len(parts) else Value(HOLE, value.labels)
                self._site.variables[self._site.source(child)] = one
            return value
        if target.type not in _NAMES:
            return self._kept_elsewhere(target, value)
        name = self._site.source(target)
        if kind == "operator_assignment":
            operator = self._site.source(node.children[1]).strip("=")
            value = self._combined(operator, self._site.variables.get(name, UNKNOWN), value)
        before = self._site.variables.get(name, UNKNOWN)
        self._site.variables[name] = value.labelled(before.labels)
        return value

    def _kept_elsewhere(self, target: Node, value: Value) -> Value:
        """``request.body = value``, ``hash["a"] = value``: what holds it has its labels."""
        holder = target
        while holder.type in {"call", "element_reference", "element_assignment"} and holder.child_count:
            holder = holder.children[0]
        name = self._site.source(holder)
        if holder.type in _NAMES and name != "ENV":
            self._site.variables[name] = self._site.variables.get(name, UNKNOWN).labelled(value.labels)
        return value

    def _element(self, node: Node) -> Value:
        target = self.value(node.children[0])
        given = [self.value(child) for child in node.named_children[1:]]
        if target.kind == "ENV":
            return self.environment(given[0] if given else UNKNOWN, node)
        if target.kind == "Dir" and given:
            return self._listing(node, given)
        if target.kind == "Hash" and given:
            return given[0]
        index = given[0].text if given else ""
        if target.items is not None and index.lstrip("-").isdecimal() and len(index) < 5:
            place = int(index)
            if -len(target.items) <= place < len(target.items):
                return target.items[place]
        return Value(HOLE, target.labels)

    def environment(self, name: Value, node: Node) -> Value:
        """The environment variable `name`, read at `node`."""
        if not name.known:
            return UNKNOWN
        if name.text == "HOME":
            return Value("~")
        if secrets().variable(name.text):
            self._site.capability("env", name.text, node)
            message = f"reads the secret {name.text} from the environment"
            self._site.report("code-credential-env", node, message, subject=name.text)
            return Value(HOLE, frozenset({f"secret:{name.text}"}))
        if not secrets().plain(name.text):
            self._site.capability("env", name.text, node)
        return UNKNOWN


def _whole_number(text: str) -> str:
    """``0x65`` as ``101``; what is no number stays."""
    base = {"0x": 16, "0b": 2, "0o": 8}.get(text[:2], 10)
    try:
        return str(int(text, base)) if len(text) < 12 else text
    except ValueError:
        return text

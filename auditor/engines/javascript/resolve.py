"""Which names, texts and functions an expression may stand for. Bounded in depth and steps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.javascript.calls import Calls
from skillkeep.auditor.engines.javascript.inner import inner_nodes, saying
from skillkeep.auditor.engines.javascript.names import Names
from skillkeep.auditor.engines.javascript.scopes import FUNCTIONS, Scope
from skillkeep.auditor.engines.javascript.texts import HOLE, NUMBERS, arithmetic, number_of, string_value, unescape
from skillkeep.auditor.engines.javascript.values import UNKNOWN, Value, joined, text_value, union
from skillkeep.auditor.engines.javascript.words import Words
from skillkeep.auditor.engines.values import PLACE_OF_PROGRAM

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.modules import Surroundings
    from skillkeep.auditor.engines.javascript.program import Program
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Resolver"]

_DEEPEST: Final = 48
_BETTER: Final = 12
_STEPS: Final = 40_000
_STEPS_A_CHARACTER: Final = 1  # ordinary code takes a tenth of it
_WRAPPERS: Final = frozenset(
    {
        "parenthesized_expression", "await_expression", "non_null_expression", "as_expression", "satisfies_expression",
        "type_assertion", "spread_element", "instantiation_expression",
    }
)  # fmt: skip
_LINKS: Final = frozenset({"member_expression", "subscript_expression", "call_expression"}) | _WRAPPERS
_MOST_ITEMS: Final = 20_000
_PROGRAM: Final = compiled(r"(?:[\w.~-]*/)*(?P<name>[A-Za-z][\w-]{1,40})")
_PLACE_OF_PROGRAM: Final = compiled(rf"process\.env\.{PLACE_OF_PROGRAM}$")
_A_NUMBER: Final = text_value("10", number=True)  # stands for one that is not known


class Resolver:
    """Values of the expressions of one program."""

    def __init__(self, program: Program, words: Words, surroundings: Surroundings) -> None:
        self.program = program
        self.words = words
        self.surroundings = surroundings
        self.names = Names(self)
        self.calls = Calls(self)
        self._left = _STEPS + _STEPS_A_CHARACTER * len(program.syntax.text)
        self._memo: dict[int, Value] = {}
        self._shallow: dict[Hashable, int] = {}
        self._depth = 0
        self.cuts = 0  # how often the depth ended a question

    @property
    def exhausted(self) -> bool:
        """True when the budget of steps ran out or something lay too deep, so that some answers are empty."""
        return self._left <= 0 or self.cuts > 0

    def spend(self, steps: int) -> bool:
        """Take steps from the budget; False when it is empty."""
        self._left -= steps
        return self._left > 0

    def value(self, node: Node | None, scope: Scope) -> Value:
        """What `node`, read in `scope`, may stand for."""
        if node is None:
            return UNKNOWN
        known = self._memo.get(node.id)
        if known is not None and self.accepts(node.id):
            return known
        if self._depth >= _DEEPEST or not self.spend(1):
            self.cuts += 1
            return UNKNOWN
        self._depth += 1
        try:
            return self._chain(node, scope, self.cuts)
        finally:
            self._depth -= 1

    def _chain(self, node: Node, scope: Scope, before: int) -> Value:
        """Down to the first name of ``a.b(c)[d]``, then up again, without recursion."""
        links: list[Node] = []
        inner: Node | None = node
        value: Value | None = None
        while inner is not None and value is None:
            node = inner
            if node.type not in _LINKS:
                value = self._primary(node, scope)
                self._remember(node, value, before)
                break
            links.append(node)
            inner = _inside(node)
            value = self._memo.get(inner.id) if inner is not None and self.accepts(inner.id) else None
        value = value if value is not None else UNKNOWN
        for link in reversed(links):
            if not self.spend(1):
                return UNKNOWN
            value = self._linked(link, value, scope)
            self._remember(link, value, before)
        return value

    def _remember(self, node: Node, value: Value, before: int) -> None:
        self._memo[node.id] = value
        self.note(node.id, before)

    def note(self, key: Hashable, before: int) -> None:
        """Remember at which depth the answer to `key` was found, when the limit of depth cut something off since."""
        if self.cuts != before:
            self._shallow[key] = self._depth
        elif self._shallow:
            self._shallow.pop(key, None)

    def accepts(self, key: Hashable) -> bool:
        """True when a remembered answer may be used: a question asked from much less deep is asked again."""
        depth = self._shallow.get(key) if self._shallow else None
        if depth is None:
            return True
        if self._depth < depth - _BETTER:
            return False
        self.cuts += 1
        return True

    def framed(self, memo: dict[int, Value]) -> dict[int, Value]:
        """Swap the memory of expressions, for a call that is followed with its own arguments."""
        old, self._memo = self._memo, memo
        return old

    def _linked(self, node: Node, value: Value, scope: Scope) -> Value:
        if node.type == "member_expression":
            key = node.child_by_field_name("property")
            return self.names.member(value, self.program.name(key) if key is not None else "?")
        if node.type == "subscript_expression":
            return self._subscript(node, value, scope)
        if node.type == "call_expression":
            return self.calls.result(node, value, scope)
        return value

    def _subscript(self, node: Node, value: Value, scope: Scope) -> Value:
        names = self.value(node.child_by_field_name("index"), scope)
        known = [text for text in names.texts if HOLE not in text]
        if not known and (choices := self.names.choices(value)):
            return union(choices)
        known = known or ["?"]
        members = [self.names.member(value, name, computed=True) for name in known]
        return union(members).marked(names.decoded)

    def arguments(self, call: Node) -> list[Node]:
        """The argument expressions of a call; a tagged template is one."""
        listed = call.child_by_field_name("arguments")
        if listed is None:
            return []
        if listed.type == "template_string":
            return [listed]
        return inner_nodes(listed)

    def _primary(self, node: Node, scope: Scope) -> Value:
        kind = node.type
        if kind in {"identifier", "shorthand_property_identifier"}:
            return self.names.value(self.program.name(node), scope)
        if kind == "string":
            return text_value(string_value(self.program.syntax, node))
        if kind == "number":
            text = self.program.syntax.source(node)
            number = number_of(text)
            return text_value(text if number is None else str(number), number=True)
        if kind == "template_string":
            return self._template(node, scope)
        if kind in FUNCTIONS:
            function = self.program.functions.get(node.id)
            return Value(functions=(function,)) if function is not None else UNKNOWN
        if kind == "array":
            return self._array(node, scope)
        if kind == "object":
            return Value(objects=((node, scope),))
        if kind in {"this", "import"}:
            return Value(paths=(kind,))
        return self._compound(node, scope)

    def _compound(self, node: Node, scope: Scope) -> Value:
        kind = node.type
        if kind == "binary_expression":
            return self._binary(node, scope)
        if kind == "new_expression":
            return self.calls.made(node, self.value(node.child_by_field_name("constructor"), scope), scope)
        if kind == "ternary_expression":
            branches = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
            return union([self.value(branch, scope) for branch in saying(branches)] or [UNKNOWN])
        if kind == "sequence_expression":
            return self.value(inner[-1], scope) if (inner := inner_nodes(node)) else UNKNOWN
        if kind == "assignment_expression":
            return self.value(node.child_by_field_name("right"), scope)
        if kind == "meta_property":
            return Value(paths=(self.program.syntax.source(node),))
        if kind == "unary_expression":
            return self._unary(node, scope)
        return UNKNOWN

    def _unary(self, node: Node, scope: Scope) -> Value:
        operator = node.child_by_field_name("operator")
        value = self.value(node.child_by_field_name("argument"), scope)
        sign = operator.type if operator is not None else ""
        number = number_of(value.text) if value.text is not None else None
        if number is None or sign not in {"-", "+", "~"}:
            return UNKNOWN
        return text_value(str(-number if sign == "-" else ~number if sign == "~" else number), number=True)

    def _template(self, node: Node, scope: Scope) -> Value:
        """Its pieces in order; the grammar gives no node to every piece of text, so gaps are read as text."""
        syntax = self.program.syntax
        parts: list[Value] = []
        at = syntax.offset(node.start_byte) + 1
        for child in node.named_children:
            if child.type != "template_substitution":
                continue
            start, end = syntax.span(child)
            parts.append(text_value(unescape(syntax.text[at:start])))
            inner = inner_nodes(child)
            part = self.value(inner[0], scope) if inner else UNKNOWN
            parts.append(_A_NUMBER if not part.texts and inner and self._is_number(inner[0], scope) else part)
            at = end
        parts.append(text_value(unescape(syntax.text[at : syntax.offset(node.end_byte) - 1])))
        return joined(parts)

    def _is_number(self, node: Node, scope: Scope) -> bool:
        """True for what is a number whatever it is made of: no command and no secret fits into it."""
        if node.type == "identifier":
            bound = scope.lookup(self.program.name(node))
            return bound is not None and all(
                each.kind == "value"
                and each.node is not None
                and not each.members
                and each.node.type == "call_expression"
                and self._is_number(each.node, each.scope)
                for each in bound[1]
            )
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        return called is not None and not NUMBERS.isdisjoint(self.value(called, scope).paths)

    def _array(self, node: Node, scope: Scope) -> Value:
        items: list[Value] = []
        for child in inner_nodes(node):
            if not self.spend(1) or len(items) > _MOST_ITEMS:
                self._left = min(self._left, 0)  # what is cut off could matter
                break
            value = self.value(child, scope)
            if child.type != "spread_element":
                items.append(value)
            elif value.items is not None:
                items.extend(value.items)
            elif value.text is not None:
                items.extend(text_value(each) for each in value.text[:_MOST_ITEMS])
            else:
                items.append(UNKNOWN)
        return Value(items=tuple(items))

    def _binary(self, node: Node, scope: Scope) -> Value:
        operator = _operator(node)
        if operator == "+":
            return self._sum(node, scope)
        first, second = node.child_by_field_name("left"), node.child_by_field_name("right")
        left, right = self.value(first, scope), self.value(second, scope)
        if operator in {"||", "??"}:
            return (
                right
                if not saying([first])
                else union((_program_or(left, right), right) if saying([second]) else [left])
            )
        if operator == "&&":
            return right
        return self._number(operator, left, right)

    def _number(self, operator: str, left: Value, right: Value) -> Value:
        first = number_of(left.text) if left.text is not None else None
        second = number_of(right.text) if right.text is not None else None
        if first is None or second is None:
            return UNKNOWN
        result = arithmetic(operator, first, second)
        decoded = left.decoded or right.decoded
        return UNKNOWN if result is None else text_value(str(result), number=True, decoded=decoded)

    def _sum(self, node: Node, scope: Scope) -> Value:
        """``a + b + c``: its operands from left to right; numbers are added up to the first text."""
        operands: list[Node] = []
        inner: Node | None = node
        while inner is not None and inner.type == "binary_expression" and _operator(inner) == "+":
            right = inner.child_by_field_name("right")
            operands.extend([right] if right is not None else [])
            inner = inner.child_by_field_name("left")
        operands.extend([inner] if inner is not None else [])
        return self.added(self.value(operand, scope) for operand in reversed(operands))

    def added(self, values: Iterable[Value]) -> Value:
        """The value of a chain of ``+``."""
        listed = list(values)
        while len(listed) > 1 and listed[0].number and listed[1].number:
            listed[:2] = [self._number("+", listed[0], listed[1])]
        return listed[0] if len(listed) == 1 else joined(map(_as_text, listed))

    def texts(self, nodes: Sequence[Node], scope: Scope) -> list[str | None]:
        """The one text of each expression, or None."""
        return [self.value(node, scope).text for node in nodes]


def _program_or(left: Value, right: Value) -> Value:
    """``process.env.ACME_PATH || "acme"``: the variable tells where that very program lies."""
    named = right.text is not None and _PROGRAM.fullmatch(right.text)
    if not named or left.texts or not left.paths or not all(map(_PLACE_OF_PROGRAM.match, left.paths)):
        return left
    return Value(left.paths, (f"{HOLE}/bin/{named['name']}",))


def _as_text(value: Value) -> Value:
    """A list in a sum of texts becomes its items with commas."""
    if value.items is None or len(value.items) > 1:
        return value
    return value.items[0] if value.items else text_value("")


def _inside(node: Node) -> Node | None:
    """The expression that a link of a chain begins with."""
    if node.type == "call_expression":
        return node.child_by_field_name("function")
    if node.type in _WRAPPERS:
        inner = inner_nodes(node)
        return (inner[-1] if node.type == "type_assertion" else inner[0]) if inner else None
    return node.child_by_field_name("object")


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""

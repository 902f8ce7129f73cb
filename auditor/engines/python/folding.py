"""Constant folding: what an expression evaluates to, as far as the file alone tells, without running any of it."""

from __future__ import annotations

import ast
import operator
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from skillkeep.auditor.engines.python.application import HOME_VARIABLES, fold_call, program_of
from skillkeep.auditor.engines.python.callers import arguments_for
from skillkeep.auditor.engines.python.names import Names
from skillkeep.auditor.engines.python.operators import binary, compare
from skillkeep.auditor.engines.python.scopes import CHOSEN, Binding, Scope
from skillkeep.auditor.engines.python.values import (
    HOLE,
    MAX_ITEMS,
    UNKNOWN,
    OneOf,
    Unknown,
    Value,
    alternatives,
    bounded,
    elements_of,
    lift,
    once_set,
    one_of,
    parts_of,
    texts_of,
    with_hole,
)

__all__ = ["CONSTANT_ENDS", "UNTOLD", "Folder"]

_STEPS: Final = 200_000
_DEPTH: Final = 60
_MOST_PUT: Final = 64
_CONSTANTS: Final[dict[str, Any]] = {
    "os.sep": "/", "os.linesep": "\n", "os.pathsep": ":", "os.curdir": ".", "os.path.sep": "/",
    "sys.executable": "python",
    "string.ascii_letters": string.ascii_letters, "string.ascii_lowercase": string.ascii_lowercase,
    "string.ascii_uppercase": string.ascii_uppercase, "string.digits": string.digits,
    "string.printable": string.printable, "string.hexdigits": string.hexdigits,
    "string.punctuation": string.punctuation,
}  # fmt: skip
_CONSTANT: Final = frozenset({str, bytes, int, float, bool, type(None)})
_LINE: Final = operator.attrgetter("line")
# What binds a name to something that its own scope does not tell.
UNTOLD: Final = frozenset({"param", "rest", "more", "opaque", "define", "caught"})
CONSTANT_ENDS: Final = frozenset(name.rpartition(".")[2] for name in _CONSTANTS)
_WORTH_HIDING: Final = 8  # characters


class Folder:
    """Folds expressions of a program. `layers` collects the decoders that the last folded expression went through.

    `frames` hold what the parameters of a comprehension or an applied function stand for while its body is folded.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        names.folder = self
        self.layers: list[str] = []
        self._left = _STEPS
        self._depth = 0
        self._cut = False
        self._open: set[int] = set()
        self._open_attributes: set[tuple[int, str]] = set()
        self.frames: list[dict[str, Value]] = []
        self.applied: list[int] = []  # ids of the functions that are being applied
        self._memo: dict[tuple[int, str], tuple[Value, tuple[str, ...]]] = {}
        self._near: dict[tuple[int, str], tuple[Value, tuple[str, ...]]] = {}
        self._shaped: dict[tuple[int, str], tuple[Value, tuple[str, ...]]] = {}
        self._passed = True  # whether what callers pass for a parameter is looked at
        self._holes = False  # whether a text of which some parts are told shows that there may be others

    @property
    def exhausted(self) -> bool:
        """True when the budget of steps or of depth ran out, so that an answer is `UNKNOWN` for want of it."""
        return self._left <= 0 or self._cut

    def fold(self, node: ast.AST, scope: Scope) -> Value:
        """The value of `node`, `UNKNOWN` when it cannot be told or costs too much to tell."""
        kind = node.__class__
        handler = _FOLDERS.get(kind)
        if handler is None or self._left <= 0:
            return UNKNOWN
        if self._depth > _DEPTH:
            self._cut = True
            return UNKNOWN
        self._left -= 1
        if kind is ast.Constant:
            return self._constant(node, scope)  # type: ignore[arg-type]
        self._depth += 1
        try:
            return handler(self, node, scope)
        finally:
            self._depth -= 1

    def near(self, node: ast.AST, scope: Scope) -> Value:
        """The value of `node` as far as its own function and what lies around it tell: much cheaper than `fold`."""
        outer, self._passed = self._passed, False
        try:
            return self.fold(node, scope)
        finally:
            self._passed = outer

    def shaped(self, node: ast.AST, scope: Scope) -> Value:
        """The value of `node`; a text made of a part that can also be another one has a hole in its place as well."""
        outer, self._memo, self._holes = self._memo, self._shaped, True
        try:
            return self.fold(node, scope)
        finally:
            self._memo, self._holes = outer, False

    def judged(self, node: ast.AST, scope: Scope) -> tuple[Value, tuple[str, ...]]:
        """The value of `node` and the decoding layers it went through, outermost first."""
        outer, self.layers = self.layers, []
        value = self.fold(node, scope)
        found, self.layers = tuple(dict.fromkeys(self.layers)), outer
        return value, found

    def _constant(self, node: ast.Constant, _scope: Scope) -> Value:
        return bounded(node.value) if node.value.__class__ in _CONSTANT else UNKNOWN

    def _name(self, node: ast.Name, scope: Scope) -> Value:
        for frame in reversed(self.frames):
            if node.id in frame:
                return frame[node.id]
        bound = scope.lookup(node.id)
        if bound is None:
            return self.members([f"{star}.{node.id}" for star in scope.module.stars], scope.module)
        return self.of_name(node.id, *bound)

    def of_name(self, name: str, home: Scope, bindings: list[Binding]) -> Value:
        """The value of a name in the scope that binds it."""
        key = (id(home), name)
        memo = self._memo if self._passed else self._near
        known = memo.get(key) or self._memo.get(key)
        if known is not None:
            self.layers.extend(known[1])
            return known[0]
        if id(bindings) in self._open:
            return UNKNOWN
        if not self._passed and len(bindings) == 1 and bindings[0].kind in UNTOLD:
            return UNKNOWN
        self._open.add(id(bindings))
        outer, self.layers, frames, self.frames = self.layers, [], self.frames, []
        value = self._of_bindings(bindings, home)
        if name in home.fed:
            value = self._grown(value, [put for put in home.fed[name] if not put[0]])
        self._open.discard(id(bindings))
        memo[key] = (value, tuple(self.layers))
        self.layers, self.frames = [*outer, *self.layers], frames
        return value

    def members(self, names: Iterable[str], scope: Scope) -> Value:
        """What qualified names stand for in other files of the program; `UNKNOWN` when one is not a constant there."""
        found: list[Value] = []
        for member in (each for name in names for each in self.names.program.target(name, scope)):
            if member.name.startswith("."):
                found.append(self._stored(member.name[1:], member.scope))
            else:
                found.append(self.of_name(member.name, member.scope, member.scope.bindings.get(member.name, [])))
        return one_of(found) if found else UNKNOWN

    def _of_bindings(self, bindings: list[Binding], home: Scope) -> Value:
        """Plain assignments are alternatives; augmented ones build on what stands before them."""
        value: Value = None
        seen: list[Value] = []
        ordered = sorted(bindings[:2048], key=_LINE) if len(bindings) > 1 else bindings
        for binding in ordered:
            if binding.kind == "augment" and binding.node is not None and seen:
                step = self.fold(binding.node, home)
                value = binary(binding.operator, one_of(seen), step)
                inside = any(first <= binding.line <= last for first, last in home.loops)
                seen = [*seen, value, UNKNOWN] if inside else [value]
            elif binding.kind == "value" and binding.node is not None:
                seen.append(self.fold(binding.node, home))
            elif binding.kind == "element" and binding.node is not None:
                seen.append(elements_of(self.fold(binding.node, home)))
            elif binding.kind == "part" and binding.node is not None:
                seen.append(parts_of(elements_of(self.fold(binding.node, home)), binding.index))
            elif binding.kind == "item" and binding.node is not None:
                seen.append(lift(lambda items, at=binding.index: items[at], self.fold(binding.node, home)))
            elif binding.kind == "param":
                given = arguments_for(self.names, binding, home) if self._passed else []
                seen += [self.fold(item, scope) for item, scope in given]
                seen.append(UNKNOWN)
            elif binding.kind == "import":
                seen.append(self.members((binding.name,), home))
            else:
                seen.append(UNKNOWN)
        return one_of(seen)

    def _grown(self, value: Value, put: Sequence[tuple[str, ast.expr, Scope]]) -> Value:
        """A list, with what is appended to it somewhere: as many more items, in any place of them but the first."""
        if not put or not any(isinstance(each, tuple) for each in alternatives(value)):
            return value
        more: list[Value] = []
        for _, node, scope in put[:_MOST_PUT]:
            item = self.fold(node, scope)
            more += item if isinstance(item, tuple) else () if isinstance(item, int) else (item,)
        grown = tuple(more) + ((UNKNOWN,) if len(put) > _MOST_PUT else ())
        return lift(lambda items: (*items, *grown) if isinstance(items, tuple) else items, value)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        linked = self.names.program.linked
        if linked or node.attr in CONSTANT_ENDS:
            names = self.names.resolve(node, scope)
            for name in names:
                if name in _CONSTANTS:
                    return _CONSTANTS[name]
            if linked and not isinstance(value := self.members(names, scope), Unknown):
                return value
        return self._stored(node.attr, scope)

    def _stored(self, attribute: str, scope: Scope) -> Value:
        """What the file of `scope` stores under an attribute's name."""
        stored = [pair for pair in self.names.found(scope).attributes.get(attribute, ()) if pair[0].kind != "fed"]
        key = (id(self.names.found(scope)), attribute)
        if not stored or len(stored) > 4 or key in self._open_attributes:
            return UNKNOWN
        self._open_attributes.add(key)
        values = [
            self.fold(item.node, home) if item.kind == "value" and item.node is not None else UNKNOWN
            for item, home in stored
        ]
        self._open_attributes.discard(key)
        return one_of([*values, UNKNOWN] if CHOSEN in self.names.found(scope).attributes else values)

    def _binop(self, node: ast.BinOp, scope: Scope) -> Value:
        # A long ``a + b + c`` leans left; walking it in a loop keeps the depth for what is really nested.
        chain: list[ast.BinOp] = [node]
        while isinstance(chain[-1].left, ast.BinOp) and len(chain) < MAX_ITEMS:
            chain.append(chain[-1].left)
        value = self.fold(chain[-1].left, scope)
        for step in reversed(chain):
            right = self.fold(step.right, scope)
            if self._holes and isinstance(step.op, ast.Add) and any(map(texts_of, (value, right))):
                value, right = with_hole(value), with_hole(right)
            value = binary(step.op, value, right)
        return value

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> Value:
        parts = [with_hole(part) if self._holes else part for part in (self.fold(each, scope) for each in node.values)]
        if not any(isinstance(part, OneOf) for part in parts):
            return bounded("".join(part if isinstance(part, str) else HOLE for part in parts))
        text: Value = ""
        for value in parts:
            text = binary(_ADD, text, value if not isinstance(value, Unknown) else HOLE)
        return text

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> Value:
        value = self.fold(node.value, scope)
        spec = self.fold(node.format_spec, scope) if node.format_spec is not None else ""
        if isinstance(value, Unknown) and not spec and self._is_number(node.value, scope):
            return _A_NUMBER
        if isinstance(value, Unknown) or spec not in {"", "c", "d", "x", "s"} or node.conversion not in {-1, 115}:
            return HOLE
        return lift(
            lambda item: HOLE if item is None else format(item, spec), once_set(value)
        )  # if not yet, it will be

    def _is_number(self, node: ast.expr, scope: Scope) -> bool:
        """True for what is a number whatever it is made of: no command and no secret fits into it."""
        if isinstance(node, ast.Name):
            bound = scope.lookup(node.id)
            return bound is not None and all(
                each.kind == "value" and isinstance(each.node, ast.Call) and self._is_number(each.node, bound[0])
                for each in bound[1]
            )
        return isinstance(node, ast.Call) and not _NUMBERS.isdisjoint(self.names.resolve(node.func, scope))

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        base = self.fold(node.value, scope)
        if isinstance(base, Unknown):
            name = self.fold(node.slice, scope) if "os.environ" in self.names.resolve(node.value, scope) else UNKNOWN
            return "~" if isinstance(name, str) and name in HOME_VARIABLES else UNKNOWN
        if isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            bounds = [self.fold(end, scope) if end else None for end in ends]
            backwards = isinstance(bounds[2], int) and bounds[2] < 0
            if backwards and isinstance(base, str | bytes) and len(base) >= _WORTH_HIDING:
                self.layers.append("a text backwards")
            return lift(lambda items, *at: items[slice(*at)], base, *bounds)
        return lift(operator.getitem, base, self.fold(node.slice, scope))

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Value:
        items: list[Value] = []
        for item in node.elts[: MAX_ITEMS + 1]:
            if isinstance(item, ast.Starred):
                inner = self.fold(item.value, scope)
                items.extend(inner if isinstance(inner, tuple | str | bytes) else (UNKNOWN,))
            else:
                items.append(self.fold(item, scope))
        return bounded(tuple(items))

    def _dict(self, node: ast.Dict, scope: Scope) -> Value:
        table: dict[Any, Value] = {}
        for key, value in zip(node.keys[: MAX_ITEMS + 1], node.values, strict=False):
            folded = self.fold(key, scope) if key is not None else UNKNOWN
            if isinstance(folded, str | bytes | int):
                table[folded] = self.fold(value, scope)
        return bounded(table) if len(table) == len(node.keys) else UNKNOWN

    def _branches(self, node: ast.IfExp, scope: Scope) -> Value:
        return one_of([self.fold(node.body, scope), self.fold(node.orelse, scope)])

    def _either(self, node: ast.BoolOp, scope: Scope) -> Value:
        if not isinstance(known := program_of(self, node, scope), Unknown):
            return known
        return one_of([self.fold(value, scope) for value in node.values])

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.fold(node.operand, scope)
        if isinstance(node.op, ast.USub):
            return lift(operator.neg, value)
        if isinstance(node.op, ast.Invert):
            return lift(operator.invert, value)
        return lift(operator.not_, value) if isinstance(node.op, ast.Not) else value

    def _inner(self, node: ast.NamedExpr | ast.Await | ast.Starred, scope: Scope) -> Value:
        return self.fold(node.value, scope)

    def _compare(self, node: ast.Compare, scope: Scope) -> Value:
        if len(node.ops) != 1:
            return UNKNOWN
        return compare(node.ops[0], self.fold(node.left, scope), self.fold(node.comparators[0], scope))

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope) -> Value:
        """``[f(x) for x in constants if g(x)]`` with one plain ``for``."""
        loop = node.generators[0]
        if len(node.generators) != 1 or loop.is_async:
            return UNKNOWN
        return self.mapped(loop.target, self.fold(loop.iter, scope), node.elt, scope, loop.ifs)

    def mapped(
        self, target: ast.expr, items: Value, body: ast.expr, scope: Scope, conditions: Sequence[ast.expr] = ()
    ) -> Value:
        """`body` for every one of `items` that fulfils `conditions`, as a tuple."""
        if not isinstance(items, tuple | str | bytes) or len(items) > MAX_ITEMS:
            return UNKNOWN
        results: list[Value] = []
        for item in items:
            frame = _frame(target, item)
            if frame is None:
                return UNKNOWN
            self.frames.append(frame)
            kept = [self.fold(each, scope) for each in conditions]
            value = self.fold(body, scope) if all(each for each in kept) else None
            self.frames.pop()
            if any(isinstance(each, Unknown | OneOf) for each in (value, *kept)):
                return UNKNOWN
            if all(kept):
                results.append(value)
        return tuple(results)


_ADD: Final = ast.Add()
_NUMBERS: Final = frozenset(
    {"builtins.int", "builtins.float", "builtins.len", "builtins.ord", "os.getpid", "time.time"}
)
_A_NUMBER: Final = "10"  # stands for one that is not known


def _frame(target: ast.expr, item: Value) -> dict[str, Value] | None:
    if isinstance(target, ast.Name):
        return {target.id: item}
    if isinstance(target, ast.Tuple) and isinstance(item, tuple) and len(item) == len(target.elts):
        names = [name.id for name in target.elts if isinstance(name, ast.Name)]
        return dict(zip(names, item, strict=True)) if len(names) == len(item) else None
    return None


_FOLDERS: Final[dict[type[ast.AST], Callable[..., Value]]] = {
    ast.Constant: Folder._constant,
    ast.Name: Folder._name,
    ast.Attribute: Folder._attribute,
    ast.BinOp: Folder._binop,
    ast.JoinedStr: Folder._joined,
    ast.FormattedValue: Folder._formatted,
    ast.Subscript: Folder._subscript,
    ast.List: Folder._sequence,
    ast.Tuple: Folder._sequence,
    ast.Set: Folder._sequence,
    ast.Dict: Folder._dict,
    ast.IfExp: Folder._branches,
    ast.BoolOp: Folder._either,
    ast.UnaryOp: Folder._unary,
    ast.NamedExpr: Folder._inner,
    ast.Await: Folder._inner,
    ast.ListComp: Folder._comprehension,
    ast.GeneratorExp: Folder._comprehension,
    ast.SetComp: Folder._comprehension,
    ast.Compare: Folder._compare,
    ast.Call: fold_call,
}

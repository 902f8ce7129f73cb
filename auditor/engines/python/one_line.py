"""What a loop over a file of settings takes out of it: single lines that it names, or all of them into the environment.

``for line in open(path): if line.startswith("ACME_KEY="): key = line[9:]`` asks for one variable, as
``grep '^ACME_KEY=' path`` does, and a loop that ends in ``os.environ[name] = value`` is what ``source path`` is. Both
hold only where nothing else in the function can see the file or the line: whatever is not understood is more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["TAKEN_IN", "taken_lines"]

TAKEN_IN: Final[frozenset[str]] = frozenset()
"""No variable by itself: all lines become the program's own environment."""

_LINE: Final = compiled(r"(?:export )?(?P<name>[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)+)=")
_LOOKS: Final = frozenset({"strip", "lstrip", "rstrip", "startswith", "endswith", "lower", "upper", "isspace"})
_CUTS: Final = frozenset({"strip", "lstrip", "rstrip"})
_DIVIDES: Final = frozenset({"split", "partition", "strip", "lstrip", "rstrip", "removeprefix", "replace"})
_LINES: Final = frozenset({"readlines", "splitlines", "split", "read", "read_text", "strip"})
_MOST_NODES, _MOST_LOOPS = 20_000, 50  # of a file; in a larger one nothing is excused
_TESTS: Final = (
    ast.Name, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.cmpop, ast.boolop, ast.unaryop,
    ast.expr_context,
)  # fmt: skip
_NUMBERS: Final = (ast.Constant, ast.Slice, ast.UnaryOp, ast.unaryop)
_ALL_NAMES: Final = frozenset(
    {
        "locals", "vars", "globals", "eval", "exec", "dir", "f_locals", "f_globals", "f_back", "inspect", "gc",
        "settrace", "setprofile", "capture_locals",
    }
)  # fmt: skip


def taken_lines(tree: ast.AST) -> dict[int, frozenset[str]]:
    """By the id of a call that opens or reads a file: the variables whose lines alone are taken out, or `TAKEN_IN`."""
    found: dict[int, frozenset[str]] = {}
    every = list(islice(ast.walk(tree), _MOST_NODES + 1))
    loops = sum(isinstance(node, ast.For) for node in every)
    if len(every) > _MOST_NODES or loops > _MOST_LOOPS or any(map(_sees_all_names, every)):
        return found
    plain = _has_plain_os(tree)
    for function in every:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue  # what a module or a class binds is seen from elsewhere
        nodes = list(ast.walk(function))
        if any(isinstance(node, ast.Global | ast.Nonlocal | ast.ClassDef) for node in nodes):
            continue
        for loop in nodes:
            if isinstance(loop, ast.For) and (calls := _reading(loop, nodes)):
                names = _names_taken(loop, nodes)
                if names or (names is TAKEN_IN and plain):
                    found.update((id(call), names) for call in calls)
    return found


def _has_plain_os(tree: ast.AST) -> bool:
    """True when ``os`` is that module and nothing else in all of the file."""
    imported = False
    for node in ast.walk(tree):
        if isinstance(node, ast.alias) and (node.asname or node.name) in {"os", "*"}:
            if node.name != "os":
                return False
            imported = True
        named = node.id if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else None
        if "os" in (named, getattr(node, "name", None), getattr(node, "arg", None)) and not isinstance(node, ast.alias):
            return False
    return imported


def _sees_all_names(node: ast.AST) -> bool:
    """True for what reaches all names of a function at once, from in it or from elsewhere."""
    spelled = (getattr(node, field, "") for field in ("id", "attr", "arg", "name", "module"))
    return not _ALL_NAMES.isdisjoint(each for each in spelled if isinstance(each, str))


def _reading(loop: ast.For, nodes: Sequence[ast.AST]) -> list[ast.Call]:
    """The calls that give `loop` its lines, when nothing but the loop gets what they give."""
    calls: list[ast.Call] = []
    left: ast.expr = loop.iter
    for _ in range(6):
        if isinstance(left, ast.Call):
            calls.append(left)
            if not isinstance(left.func, ast.Attribute) or left.func.attr not in _LINES:
                break
            left = left.func.value
        elif isinstance(left, ast.Name) and (given := _given(left.id, nodes)) is not None:
            left = given
        else:
            break
    return calls


def _given(name: str, nodes: Sequence[ast.AST]) -> ast.expr | None:
    """What `name` is bound to, by one assignment or ``with``, when it is read once."""
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
    if sorted(type(use.ctx).__name__ for use in uses) != ["Load", "Store"]:
        return None
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and node.targets[0] in uses:
            return node.value
        if isinstance(node, ast.withitem) and node.optional_vars in uses:
            return node.context_expr
    return None


def _names_taken(loop: ast.For, nodes: Sequence[ast.AST]) -> frozenset[str] | None:
    """The variables whose lines alone leave the loop, `TAKEN_IN`, or None."""
    if not isinstance(loop.target, ast.Name) or loop.orelse:
        return None
    known = {loop.target.id}
    names: set[str] = set()
    kept = False
    left = list(reversed(loop.body))
    while left:
        statement = left.pop()
        if _is_guard(statement, known):
            continue
        if (bound := _bound(statement, known)) is not None:
            if names:
                return None  # the next turn of the loop takes what this one has bound
            known |= bound
        elif (taken := _taken(statement, known)) is not None:
            names |= taken
        elif _keeps(statement, known):
            kept = True
        elif isinstance(statement, ast.If) and not statement.orelse and not left and _only_looks(statement.test, known):
            left += reversed(statement.body)  # ``if line and "=" in line: …`` around all the rest, instead of a guard
        else:
            return None
    inside = {id(node) for node in ast.walk(loop)}
    if any(isinstance(node, ast.Name) and node.id in known and id(node) not in inside for node in nodes):
        return None
    if kept:
        return None if names else TAKEN_IN
    return frozenset(names) or None


def _is_guard(statement: ast.stmt, known: set[str]) -> bool:
    """``if not line or line.startswith("#"): continue``."""
    if not isinstance(statement, ast.If) or statement.orelse or not _only_looks(statement.test, known):
        return False
    return len(statement.body) == 1 and isinstance(statement.body[0], ast.Continue)


def _only_looks(test: ast.expr, known: set[str]) -> bool:
    """True for a test that hands nothing of the line on: an object of the program could keep what it is asked for."""
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and node.id not in known:
            return False
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom | ast.Lambda | ast.comprehension):
            return False
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS):
            return False
        if isinstance(node, ast.Call) and not _is_of_line(node.func.value, known):  # type: ignore[attr-defined]
            return False
    return True


def _is_of_line(node: ast.expr, known: set[str], methods: frozenset[str] = _CUTS) -> bool:
    """``line``, ``line.strip()``; with more `methods` ``line.split("=", 1)[1].strip('"')``."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
            if not all(isinstance(each, ast.Constant) for each in (*node.args, *(k.value for k in node.keywords))):
                return False
            if node.func.attr == "replace" and [getattr(each, "value", None) for each in node.args[1:]] != [""]:
                return False  # another name could become the one that is asked for
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            if methods is _CUTS or not all(isinstance(each, _NUMBERS) for each in ast.walk(node.slice)):
                return False
            node = node.value
        else:
            return isinstance(node, ast.Name) and node.id in known


def _bound(statement: ast.stmt, known: set[str]) -> set[str] | None:
    """The names that get the line or parts of it: ``line = line.strip()``, ``name, value = line.split("=", 1)``."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    names: Iterable[ast.expr] = target.elts if isinstance(target, ast.Tuple) else [target]
    values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    if not all(isinstance(name, ast.Name) for name in names):
        return None
    if not all(_is_of_line(value, known, _DIVIDES) for value in values):
        return None
    return {name.id for name in names if isinstance(name, ast.Name)}


def _taken(statement: ast.stmt, known: set[str]) -> set[str] | None:
    """``if line.startswith("ACME_KEY="): …``, which may do with it what it likes."""
    found: set[str] = set()
    while isinstance(statement, ast.If):
        parts = statement.test.values if isinstance(statement.test, ast.BoolOp) else [statement.test]
        if isinstance(statement.test, ast.BoolOp) and not isinstance(statement.test.op, ast.And):
            return None
        told = [(part, _line_named(part, known)) for part in parts]
        names = [name for _, name in told if name]
        if len(names) != 1 or not all(name or _only_looks(part, known) for part, name in told):
            return None
        found.add(names[0])
        if not statement.orelse:
            return found
        if len(statement.orelse) != 1:
            return None
        statement = statement.orelse[0]
    return None


def _line_named(test: ast.expr, known: set[str]) -> str:
    """The variable of ``line.startswith("ACME_KEY=")`` or ``name == "ACME_KEY"``, or an empty text."""
    asked: ast.expr | None = None
    end = ""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        if len(test.args) == 1 and not test.keywords and _is_of_line(test.func.value, known):
            asked = test.args[0]
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        asked, end = (test.comparators[0], "=") if _is_of_line(test.left, known, _DIVIDES) else (None, "")
    if not isinstance(asked, ast.Constant) or not isinstance(asked.value, str):
        return ""
    spelled = _LINE.fullmatch(asked.value + end)
    return spelled["name"] if spelled is not None else ""


def _keeps(statement: ast.stmt, known: set[str]) -> bool:
    """``os.environ.setdefault(name, value)``, ``os.environ[name] = value``, under a test that only looks."""
    if isinstance(statement, ast.If):
        tested = all(
            isinstance(node, _TESTS) and getattr(node, "id", "os") in {"os", *known}
            for node in ast.walk(statement.test)
        )
        return tested and not statement.orelse and all(_keeps(each, known) for each in statement.body)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        kept = isinstance(call.func, ast.Attribute) and call.func.attr == "setdefault"
        return (
            kept
            and _is_environment(call.func.value)  # type: ignore[attr-defined]
            and not call.keywords
            and all(_is_of_line(each, known, _DIVIDES) for each in call.args)
        )
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return (
            isinstance(target, ast.Subscript)
            and _is_environment(target.value)
            and _is_of_line(target.slice, known, _DIVIDES)
            and _is_of_line(statement.value, known, _DIVIDES)
        )
    return False


def _is_environment(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "environ" and getattr(node.value, "id", "") == "os"

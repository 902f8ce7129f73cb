"""Calls written in a roundabout way, put plainly in the tree: what is called is then seen where it is called.

``f.__call__(x)``, ``[f][0](x)``, ``f(*[x])``, ``getattr(o, "m")(x)``, ``partial(f, x)()`` and ``apply(f, x)``, where
`apply` does nothing but call, are ``f(x)``. A name that the file binds itself is believed only as its own function.
"""

from __future__ import annotations

import ast
from typing import Final

__all__ = ["Reducer"]

_ROUNDS: Final = 8
_LOAD: Final = ast.Load()
_MAKERS: Final = frozenset({"getattr", "partial", "methodcaller", "attrgetter", "vars"})


class Reducer:
    """Reduces the calls of one file, in place; `changed` are those that it changed."""

    def __init__(self, tree: ast.Module) -> None:
        self.changed: list[ast.Call] = []
        self._tree = tree
        self._known: frozenset[str] | None = None
        self._callers = {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _only_calls(node.args, node.body)
        }

    def __call__(self, call: ast.Call) -> None:
        """Put `call` plainly."""
        changed = False
        for _ in range(_ROUNDS):
            if not (_spread(call) or self._once(call)):
                break
            changed = True
        if changed:
            self.changed.append(call)

    def _once(self, call: ast.Call) -> bool:
        function = call.func
        if isinstance(function, ast.Attribute):
            if function.attr != "__call__":
                return False
            call.func = function.value
        elif isinstance(function, ast.Subscript):
            picked = _picked(function.value, function.slice) or self._of_table(function)
            if picked is None:
                return False
            call.func = picked
        elif isinstance(function, ast.Call):
            return self._made(call, function)
        elif self._calls_first(function) and call.args and not isinstance(call.args[0], ast.Starred):
            call.func, call.args = call.args[0], call.args[1:]
        else:
            return False
        return True

    def _made(self, call: ast.Call, maker: ast.Call) -> bool:
        """`call` calls what another call makes."""
        name, given = self._maker(maker.func), maker.args
        if name == "getattr" and len(given) in {2, 3} and (method := _text(given[1])):
            call.func = ast.copy_location(ast.Attribute(given[0], method, _LOAD), maker)
        elif name == "partial" and given and not isinstance(given[0], ast.Starred):
            call.func, call.args = given[0], [*given[1:], *call.args]
            call.keywords = [*maker.keywords, *call.keywords]
        elif name == "methodcaller" and given and call.args and (method := _text(given[0])):
            call.func = ast.copy_location(ast.Attribute(call.args[0], method, _LOAD), maker)
            call.args, call.keywords = given[1:], maker.keywords
        elif isinstance(maker.func, ast.Call) and self._maker(maker.func.func) == "attrgetter" and len(given) == 1:
            chosen = _text(maker.func.args[0]) if len(maker.func.args) == 1 else ""
            if not chosen:
                return False
            call.func = ast.copy_location(ast.Attribute(given[0], chosen, _LOAD), maker)
        else:
            return False
        return True

    def _of_table(self, node: ast.Subscript) -> ast.expr | None:
        """``vars(o)["m"]`` and ``o.__dict__["m"]``."""
        name, table = _text(node.slice), node.value
        if not name:
            return None
        if isinstance(table, ast.Attribute) and table.attr == "__dict__":
            return ast.copy_location(ast.Attribute(table.value, name, _LOAD), node)
        if isinstance(table, ast.Call) and len(table.args) == 1 and self._maker(table.func) == "vars":
            return ast.copy_location(ast.Attribute(table.args[0], name, _LOAD), node)
        return None

    def _maker(self, function: ast.expr) -> str:
        """Which of `_MAKERS` is called, by a name that nothing in the file gives to something else."""
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name if name in _MAKERS and name not in self._own else ""

    def _calls_first(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Lambda):
            return _only_calls(function.args, [ast.Return(function.body)])
        return isinstance(function, ast.Name) and function.id in self._callers

    @property
    def _own(self) -> frozenset[str]:
        if self._known is None:
            names = {getattr(node, "name", "") for node in ast.walk(self._tree) if not isinstance(node, ast.alias)}
            names |= {each.id for each in ast.walk(self._tree)
                      if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}  # fmt: skip
            names |= {each.arg for each in ast.walk(self._tree) if isinstance(each, ast.arg)}
            names |= {each.asname for each in ast.walk(self._tree) if isinstance(each, ast.alias) and each.asname}
            self._known = frozenset(name for name in names if isinstance(name, str))
        return self._known


def _only_calls(arguments: ast.arguments, body: list[ast.stmt]) -> bool:
    """True for a function whose whole body is ``return f(*rest, **more)`` with its own first argument `f`."""
    if len(body) != 1 or not isinstance(body[0], ast.Return) or not isinstance(body[0].value, ast.Call):
        return False
    call, named = body[0].value, [*arguments.posonlyargs, *arguments.args]
    if len(named) != 1 or arguments.kwonlyargs or arguments.vararg is None or len(call.args) != 1:
        return False
    rest = call.args[0]
    return (
        isinstance(call.func, ast.Name) and call.func.id == named[0].arg
        and isinstance(rest, ast.Starred) and isinstance(rest.value, ast.Name)
        and rest.value.id == arguments.vararg.arg and all(each.arg is None for each in call.keywords)
    )  # fmt: skip


def _spread(call: ast.Call) -> bool:
    """``f(*[x], **{"a": y})`` as ``f(x, a=y)``."""
    changed = False
    if any(each.__class__ is ast.Starred and each.value.__class__ in {ast.List, ast.Tuple} for each in call.args):
        parts = [each.value.elts if isinstance(each, ast.Starred) and isinstance(each.value, ast.List | ast.Tuple)
                 else [each] for each in call.args]  # fmt: skip
        call.args, changed = [item for part in parts for item in part], True
    if any(each.arg is None and each.value.__class__ is ast.Dict for each in call.keywords):
        named: list[ast.keyword] = []
        for each in call.keywords:
            table = each.value if each.arg is None else None
            keys = [_text(key) for key in table.keys] if isinstance(table, ast.Dict) else []
            if isinstance(table, ast.Dict) and all(keys):
                named += [ast.copy_location(ast.keyword(key, value), value)
                          for key, value in zip(keys, table.values, strict=True)]  # fmt: skip
                changed = True
            else:
                named.append(each)
        call.keywords = named
    return changed


def _picked(table: ast.expr, at: ast.expr) -> ast.expr | None:
    """The member that a constant picks out of a table which is written there."""
    chosen = at.value if isinstance(at, ast.Constant) else None
    if isinstance(table, ast.List | ast.Tuple) and isinstance(chosen, int) and 0 <= chosen < len(table.elts):
        return None if any(isinstance(each, ast.Starred) for each in table.elts) else table.elts[chosen]
    if isinstance(table, ast.Dict) and chosen is not None:
        pairs = reversed(list(zip(table.keys, table.values, strict=True)))
        return next((value for key, value in pairs if isinstance(key, ast.Constant) and key.value == chosen), None)
    return None


def _text(node: ast.expr | None) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and value.isidentifier() else ""

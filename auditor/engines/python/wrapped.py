"""Commands that a function of the program puts together out of what its callers pass: ``run("auth", "token")``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.engines.python.callers import arguments_for, local_calls
from skillkeep.auditor.engines.python.scopes import Binding, Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import Value

__all__ = ["wrapped_commands"]

_MOST: Final = 64
_COPIES: Final = frozenset({"list", "tuple"})

Command = tuple[list[Value], ast.expr]  # its words, and where a caller gives them


def wrapped_commands(site: Site, argument: ast.expr | None, scope: Scope) -> Iterator[Command]:
    """The commands that calls in this file make of a list whose end, or all of it, is a parameter; at most 64."""
    before, tail = _split(argument)
    bound = scope.lookup(tail.id) if tail is not None else None
    if bound is None:
        return
    first = [site.fold(each, scope) for each in before]
    for binding in bound[1]:
        yield from islice(_passed(site, binding, bound[0], first), _MOST)


def _split(argument: ast.expr | None) -> tuple[list[ast.expr], ast.Name | None]:
    """``["git", *rest]``, ``["git"] + list(rest)`` and ``rest``: the elements before the name, and the name."""
    if isinstance(argument, ast.Name):
        return [], argument
    if isinstance(argument, ast.Call) and len(argument.args) == 1 and isinstance(argument.func, ast.Name):
        return _split(argument.args[0]) if argument.func.id in _COPIES else ([], None)
    if isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Add) and isinstance(argument.left, ast.List):
        before, tail = _split(argument.right)
        return [*argument.left.elts, *before], tail
    if isinstance(argument, ast.List | ast.Tuple) and argument.elts:
        *before, last = argument.elts
        if isinstance(last, ast.Starred) and not any(isinstance(each, ast.Starred) for each in before):
            inner, tail = _split(last.value)
            return [*before, *inner], tail
    return [], None


def _passed(site: Site, binding: Binding, home: Scope, first: list[Value]) -> Iterator[Command]:
    if binding.kind == "rest":
        for call, scope in local_calls(site.names, binding, home):
            given = call.args[max(binding.index, 0) :] if not _is_method(binding, call) else call.args
            if given and not any(isinstance(each, ast.Starred) for each in given):
                yield [*first, *(site.fold(each, scope) for each in given)], call
    elif binding.kind == "param":
        here = {id(each) for call, _ in local_calls(site.names, binding, home) for each in ast.walk(call)}
        for item, scope in arguments_for(site.names, binding, home):
            value = site.fold(item, scope) if id(item) in here else None
            if isinstance(value, tuple) and value:
                yield [*first, *value], item


def _is_method(binding: Binding, call: ast.Call) -> bool:
    """True where the function's first parameter is the object that `call` is a method of."""
    function = binding.node
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or not function.args.args:
        return False
    return function.args.args[0].arg in {"self", "cls"} and isinstance(call.func, ast.Attribute)

"""What is passed for a parameter: by calls of the function, by code it is handed to, by what it decorates."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from skillkeep.auditor.engines.python.mentions import is_only_called
from skillkeep.auditor.engines.python.names import Names
from skillkeep.auditor.engines.python.namespaces import are_calls_written
from skillkeep.auditor.engines.python.scopes import Binding, Scope

__all__ = ["Given", "all_arguments_for", "arguments_for", "functions_of", "link_calls", "local_calls"]

_MOST_CALLERS: Final = 256
_DEEPEST: Final = 4
_MAPPERS: Final = frozenset({"map", "starmap", "imap", "imap_unordered", "amap", "filter", "reduce", "gather"})

Given = tuple[ast.expr, Scope]


def arguments_for(names: Names, binding: Binding, home: Scope) -> list[Given]:
    """What the program passes for a parameter (kinds ``param``, ``rest`` and ``more``) of the function of `home`."""
    function = binding.node
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    parameters = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    made = function.name in {"__init__", "__new__"} and home.parent is not None
    method = bool(parameters) and parameters[0] in {"self", "cls"}
    found: list[Given] = []
    for call, scope in _calls(names, function, home):
        shift = 1 if method and (made or isinstance(call.func, ast.Attribute)) else 0
        found.extend((item, scope) for item in _passed(call, binding, shift))
    for call, at, scope in names.program.handed(function.name, home):
        found.extend((item, scope) for item in _handed(call, at, binding, function))
    return found


def all_arguments_for(names: Names, binding: Binding, home: Scope) -> list[Given] | None:
    """What is passed for a parameter of a function of the file, or None when others may pass something else.

    The function has a name of its own, which stands where it is called and nowhere else, in this file and in those
    that are judged with it, and each call fills the parameter.
    """
    function, outer = binding.node, home.parent
    if binding.kind != "param" or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or outer is None:
        return None
    source = names.program.source(home)
    calls = [pair for pair in source.found.callers.get(function.name, ()) if isinstance(pair[0].func, ast.Name)]
    outside = source.outside.get(id(function), ())
    plain = isinstance(outer.owner, ast.Module) and not function.decorator_list
    many = len(calls) + len(outside) > _MOST_CALLERS
    if not plain or not calls or len(outer.bindings.get(function.name, ())) != 1 or many:
        return None
    if _named(outer.owner)[function.name] != len(calls):
        return None
    if names.program.linked and not is_only_called(names.program, source, function.name, outside):
        return None
    if function.name in source.used or not are_calls_written(names, source, all_arguments_for):
        return None
    calls += outside
    passed = [list(_passed(call, binding, 0)) for call, _ in calls]
    if any(len(each) != 1 for each in passed):
        return None
    return [(each[0], scope) for each, (_, scope) in zip(passed, calls, strict=True)]


@lru_cache(maxsize=1)
def _named(tree: ast.AST) -> Counter[str]:
    """How often each name stands in `tree`."""
    return Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def local_calls(names: Names, binding: Binding, home: Scope) -> list[tuple[ast.Call, Scope]]:
    """The calls, in the same file, of the function that a parameter belongs to."""
    function = binding.node
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    return names.program.source(home).found.callers.get(function.name, [])[:_MOST_CALLERS]


def _calls(
    names: Names, function: ast.FunctionDef | ast.AsyncFunctionDef, home: Scope
) -> Iterator[tuple[ast.Call, Scope]]:
    source = names.program.source(home)
    callers, outer = source.found.callers, home.parent
    name = function.name
    if name in {"__init__", "__new__"} and outer is not None and isinstance(outer.owner, ast.ClassDef):
        name = outer.owner.name
    yield from callers.get(name, ())[:_MOST_CALLERS]
    yield from source.outside.get(id(function), ())[:_MOST_CALLERS]
    if outer is not None and isinstance(outer.owner, ast.FunctionDef) and _returns(outer, name):
        yield from callers.get(f"{outer.owner.name}()", ())[:_MOST_CALLERS]


def _returns(outer: Scope, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in outer.returns)


def _passed(call: ast.Call, binding: Binding, shift: int) -> Iterator[ast.expr]:
    index = binding.index - shift
    if binding.kind == "more":
        yield from (item.value for item in call.keywords)
        return
    if binding.kind == "rest":
        yield from call.args[max(index, 0) :]
        return
    starred = next((item for item in call.args[: index + 1] if isinstance(item, ast.Starred)), None)
    if starred is not None:
        yield starred
    elif 0 <= index < len(call.args):
        yield call.args[index]
    yield from (item.value for item in call.keywords if item.arg == binding.name or item.arg is None)


def _handed(call: ast.Call, at: int, binding: Binding, function: ast.AST) -> Iterator[ast.expr]:
    """``Thread(target=f, args=(x,))``, ``map(f, xs)``, ``submit(f, x)``, ``partial(f, x)``."""
    callee = call.func
    name = callee.id if isinstance(callee, ast.Name) else callee.attr if isinstance(callee, ast.Attribute) else ""
    index = max(binding.index, 0)
    spread = next((item.value for item in call.keywords if item.arg in {"args", "initargs"}), None)
    positional = call.args[at + 1 :] if at < len(call.args) else []
    if name in _MAPPERS:
        for item in positional:
            yield from item.elts if isinstance(item, ast.List | ast.Tuple | ast.Set) else (item,)
    elif isinstance(spread, ast.Tuple | ast.List):
        yield from spread.elts[index : index + 1] if binding.kind == "param" else spread.elts
    elif spread is not None:
        yield spread
    elif isinstance(positional[0] if positional else None, ast.Tuple | ast.List) and len(positional) == 1:
        yield from positional[0].elts  # type: ignore[attr-defined]
    else:
        yield from positional[index : index + 1] if binding.kind == "param" else positional
    yield from (item.value for item in call.keywords if item.arg in {binding.name, "kwargs"})


def link_calls(names: Names) -> None:
    """Tell every function of a linked program who calls it from another file."""
    program = names.program
    for source in program.sources if program.linked else ():
        for name, pairs in source.found.callers.items():
            if name.endswith("()"):
                continue
            for call, scope in pairs:
                for qualified in names.resolve(call.func, scope):
                    for member in program.target(qualified, scope):
                        if program.source(member.scope) is not source:
                            _call_of(names, member.scope, member.name, call, scope)
    names.forget()


def _call_of(names: Names, home: Scope, name: str, call: ast.Call, scope: Scope) -> None:
    target = names.program.source(home)
    for binding in home.bindings.get(name, ()):
        node = binding.node
        if isinstance(node, ast.ClassDef):
            inner = target.found.scopes[id(node)]
            for each in inner.bindings.get("__init__", ()):
                target.outside[id(each.node)].append((call, scope))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            target.outside[id(node)].append((call, scope))


def functions_of(names: Names, node: ast.AST, scope: Scope, depth: int = 0) -> Iterator[Scope | None]:
    """The bodies of the program's own functions that a called expression may be."""
    if depth > _DEEPEST:
        return
    if isinstance(node, ast.Lambda):
        yield names.inner(node, scope)
    elif isinstance(node, ast.Name) and (bound := scope.lookup(node.id)):
        for binding in bound[1][:64]:
            yield from _defined(names, binding, bound[0], depth)
            for given, home in arguments_for(names, binding, bound[0]) if binding.kind == "param" else ():
                yield from functions_of(names, given, home, depth + 1)
    elif isinstance(node, ast.Attribute) and not names.resolve(node.value, scope):
        for binding, home in names.found(scope).attributes.get(node.attr, ())[:64]:
            yield from _defined(names, binding, home, depth)


def _defined(names: Names, binding: Binding, home: Scope, depth: int) -> Iterator[Scope | None]:
    if binding.kind == "define":
        yield names.inner(binding.node, home)
    elif binding.kind == "value" and isinstance(binding.node, ast.Name | ast.Lambda | ast.Attribute):
        yield from functions_of(names, binding.node, home, depth + 1)

"""Folding of calls: decoders, pure functions and methods of the standard types, and the program's own functions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.python.functions import (
    DECODER_METHODS,
    DECODERS,
    FUNCTIONS,
    METHODS,
    decode_with,
    format_braces,
)
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.values import HOLE, MAX_ITEMS, UNKNOWN, OneOf, Unknown, Value, lift, one_of
from skillkeep.auditor.engines.values import PLACE_OF_PROGRAM

if TYPE_CHECKING:
    from skillkeep.auditor.engines.python.folding import Folder

__all__ = ["HOME_VARIABLES", "fold_call", "program_of"]

HOME_VARIABLES: Final = frozenset({"HOME", "USERPROFILE"})
_KEYWORDS: Final = frozenset({"encoding", "byteorder", "errors"})
_FILLED: Final = frozenset({"os.path.join", "pathlib.Path"})
_MOST_RETURNS: Final = 4
_NESTED: Final = 3
_MOST_LISTS: Final = 32
_PROGRAM: Final = compiled(r"[A-Za-z][\w-]{1,40}")
_PLACE_OF_PROGRAM: Final = compiled(PLACE_OF_PROGRAM)
_ENVIRONMENT: Final = frozenset({"os.getenv", "os.environ.get"})
_MANY_NUMBERS: Final = 6
_OF_NUMBERS: Final = frozenset({"builtins.bytes", "builtins.bytearray"})


def fold_call(folder: Folder, node: ast.Call, scope: Scope) -> Value:
    """The value of a call, `UNKNOWN` when it is not one of a pure function on known values."""
    function = node.func
    if function.__class__ is ast.Lambda:
        return _applied(folder, folder.names.inner(function, scope), node, scope)
    method = function if isinstance(function, ast.Attribute) else None
    unnamed = method is not None and method.attr not in _ENDS and not folder.names.program.linked
    names = () if unnamed else folder.names.resolve(function, scope)
    for name in names:
        value = _function(folder, name, node, scope)
        if not isinstance(value, Unknown):
            return value
    if method is not None:
        value = _method(folder, method, node, scope)
        return _own(folder, names, node, scope) if isinstance(value, Unknown) else value
    return _own(folder, names, node, scope)


def _function(folder: Folder, name: str, node: ast.Call, scope: Scope) -> Value:
    if name in DECODERS:
        layer, function = DECODERS[name]
        folder.layers.append(layer)
        return lift(function, *_arguments(folder, node, scope))
    if name in FUNCTIONS:
        arguments = _arguments(folder, node, scope)
        if name in _FILLED:
            arguments = [HOLE if isinstance(item, Unknown) else item for item in arguments]
        if name == "builtins.chr":
            folder.layers.append("chr")
        elif name in _OF_NUMBERS and _are_many(arguments[:1]):
            folder.layers.append("a list of numbers")
        return lift(FUNCTIONS[name], *arguments)
    special = _SPECIAL.get(name)
    return special(folder, node, scope) if special is not None else UNKNOWN


def _are_many(values: Sequence[Value]) -> bool:
    """Whether the one value is a list that is long enough to hide a command."""
    return any(isinstance(each, tuple) and len(each) >= _MANY_NUMBERS for each in values)


def _map(folder: Folder, node: ast.Call, scope: Scope) -> Value:
    if len(node.args) != 2:
        return UNKNOWN
    function, items = node.args[0], folder.fold(node.args[1], scope)
    if isinstance(function, ast.Lambda) and len(function.args.args) == 1:
        inner = folder.names.inner(function, scope) or scope
        return folder.mapped(ast.Name(function.args.args[0].arg), items, function.body, inner)
    for name in folder.names.resolve(function, scope):
        if name in FUNCTIONS and isinstance(items, tuple | str | bytes):
            folder.layers.append("map")
            return tuple(lift(FUNCTIONS[name], item) for item in items[:MAX_ITEMS])
    return UNKNOWN


def _reduce(folder: Folder, node: ast.Call, scope: Scope) -> Value:
    """``reduce(lambda a, b: …, items)`` and ``reduce(operator.add, items)``."""
    if len(node.args) not in {2, 3}:
        return UNKNOWN
    function, items = node.args[0], folder.fold(node.args[1], scope)
    if not isinstance(items, tuple | str | bytes) or len(items) > MAX_ITEMS:
        return UNKNOWN
    parts = list(items) if len(node.args) == 2 else [folder.fold(node.args[2], scope), *items]
    if isinstance(function, ast.Lambda) and len(function.args.args) == 2:
        inner = folder.names.inner(function, scope) or scope
        first, second = (each.arg for each in function.args.args)
        value = parts[0] if parts else UNKNOWN
        for part in parts[1:]:
            folder.frames.append({first: value, second: part})
            value = folder.fold(function.body, inner)
            folder.frames.pop()
        return value
    known = next((FUNCTIONS[name] for name in folder.names.resolve(function, scope) if name in FUNCTIONS), None)
    value = parts[0] if parts and known is not None else UNKNOWN
    for part in parts[1:]:
        value = lift(known, value, part) if known is not None else UNKNOWN
    return value


def _environment(folder: Folder, node: ast.Call, scope: Scope) -> Value:
    name = folder.fold(node.args[0], scope) if node.args else UNKNOWN
    if isinstance(name, str) and name in HOME_VARIABLES:
        return "~"
    return _program_or(name, folder.fold(node.args[1], scope)) if len(node.args) > 1 else UNKNOWN


def program_of(folder: Folder, node: ast.BoolOp, scope: Scope) -> Value:
    """``os.getenv("ACME_BIN") or "acme"``."""
    first, second = node.values[0], node.values[-1]
    if len(node.values) != 2 or not isinstance(first, ast.Call) or len(first.args) != 1:
        return UNKNOWN
    read = not _ENVIRONMENT.isdisjoint(folder.names.resolve(first.func, scope))
    return _program_or(folder.fold(first.args[0], scope), folder.fold(second, scope)) if read else UNKNOWN


def _program_or(variable: Value, default: Value) -> Value:
    """``getenv("ACME_PATH", "acme")``: that program, or where the variable tells that it lies."""
    if not isinstance(variable, str) or not isinstance(default, str) or not _PROGRAM.fullmatch(default):
        return UNKNOWN
    return one_of([default, f"{HOLE}/bin/{default}"]) if _PLACE_OF_PROGRAM.fullmatch(variable) else UNKNOWN


def _table(folder: Folder, node: ast.Call, scope: Scope) -> Value:
    """``dict(a=1)``, ``dict([("a", 1)])``."""
    known: dict[Any, Value] = {}
    for item in node.args:
        given = folder.fold(item, scope)
        if isinstance(given, dict):
            known.update(given)
        elif isinstance(given, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in given):
            known.update({key: value for key, value in given if isinstance(key, str | bytes | int)})
        else:
            return UNKNOWN
    if any(item.arg is None for item in node.keywords):
        return UNKNOWN
    return {**known, **{str(item.arg): folder.fold(item.value, scope) for item in node.keywords}}


def _extreme(folder: Folder, node: ast.Call, scope: Scope) -> Value:
    """``max`` and ``min`` of known things, by themselves or by their length."""
    given = [folder.fold(item, scope) for item in node.args]
    items = given[0] if len(given) == 1 else tuple(given)
    key = node.keywords[0].value if node.keywords else None
    by_length = key is not None and "builtins.len" in folder.names.resolve(key, scope)
    if (key is not None and not by_length) or len(node.keywords) > 1:
        return UNKNOWN
    choose = max if "builtins.max" in folder.names.resolve(node.func, scope) else min
    return lift(lambda each: choose(each, key=len) if by_length else choose(each), items)


def _decoder(folder: Folder, node: ast.Call, scope: Scope) -> Value:
    """``codecs.getdecoder("rot13")(text)``: the text and how much of it was read."""
    if not isinstance(node.func, ast.Call) or not node.func.args or not node.args:
        return UNKNOWN
    folder.layers.append("codec")
    codec, text = folder.fold(node.func.args[0], scope), folder.fold(node.args[0], scope)
    return lift(lambda data, name: (decode_with(data, name), len(data)), text, codec)


_SPECIAL: Final = {
    "builtins.map": _map,
    "functools.reduce": _reduce,
    "builtins.reduce": _reduce,
    "os.getenv": _environment,
    "os.environ.get": _environment,
    "builtins.dict": _table,
    "builtins.max": _extreme,
    "builtins.min": _extreme,
    "codecs.getdecoder()": _decoder,
}

_ENDS: Final = frozenset(name.rpartition(".")[2] for table in (DECODERS, FUNCTIONS, _SPECIAL) for name in table)


def _method(folder: Folder, function: ast.Attribute, node: ast.Call, scope: Scope) -> Value:
    if function.attr in DECODER_METHODS:
        folder.layers.append("hex")
        return lift(bytes.fromhex, *_arguments(folder, node, scope))
    method = METHODS.get(function.attr)
    if method is None:
        return UNKNOWN
    base = folder.fold(function.value, scope)
    if isinstance(base, Unknown) and function.attr != "joinpath":
        return UNKNOWN
    arguments = _arguments(folder, node, scope)
    if function.attr == "join" and arguments and isinstance(arguments[0], tuple):
        arguments[0] = _each_list(arguments[0])
    if function.attr in {"format", "joinpath"}:
        arguments = [HOLE if isinstance(item, Unknown) else item for item in arguments]
    if function.attr == "format" and node.keywords:
        return _named_format(folder, base, arguments, node, scope)
    if function.attr == "joinpath" and isinstance(base, Unknown):
        base = HOLE
    return lift(method, base, *arguments)


def _each_list(items: tuple[Value, ...]) -> Value:
    """A list for each combination of what its items can be, with holes for what is not known or too much."""
    size = 1
    spread: list[tuple[Value, ...]] = []
    for item in items:
        several = item.values if isinstance(item, OneOf) else (HOLE if isinstance(item, Unknown) else item,)
        if isinstance(item, OneOf) and not item.complete:
            several = (*several, HOLE)
        size *= len(several)
        spread.append(several if size <= _MOST_LISTS else (HOLE,))
        size = size if size <= _MOST_LISTS else size // len(several)
    return one_of(list(product(*spread)))


def _named_format(folder: Folder, base: Value, arguments: list[Value], node: ast.Call, scope: Scope) -> Value:
    names = [str(item.arg) for item in node.keywords if item.arg is not None]
    values = [folder.fold(item.value, scope) for item in node.keywords if item.arg is not None]
    values = [HOLE if isinstance(item, Unknown) else item for item in values]

    def formatted(template: Any, *given: Any) -> Any:
        return format_braces(
            template, *given[: len(arguments)], named=dict(zip(names, given[len(arguments) :], strict=True))
        )

    return lift(formatted, base, *arguments, *values)


def _arguments(folder: Folder, node: ast.Call, scope: Scope) -> list[Value]:
    arguments: list[Value] = []
    for item in node.args:
        if isinstance(item, ast.Starred):
            inner = folder.fold(item.value, scope)
            arguments.extend(inner if isinstance(inner, tuple) else (UNKNOWN,))
        else:
            arguments.append(folder.fold(item, scope))
    arguments.extend(folder.fold(item.value, scope) for item in node.keywords if item.arg in _KEYWORDS)
    return arguments


def _own(folder: Folder, names: tuple[str, ...], node: ast.Call, scope: Scope) -> Value:
    """A call of one of the program's own functions, when it has a single definition."""
    if not isinstance(node.func, ast.Name) and not folder.names.program.linked:
        return UNKNOWN
    bound = scope.lookup(node.func.id) if isinstance(node.func, ast.Name) else None
    bodies = [folder.names.inner(each.node, bound[0]) for each in bound[1]] if bound else []
    if not bound or all(body is None for body in bodies):
        members = [each for name in names for each in folder.names.program.target(name, scope)]
        pairs = [(each, member.scope) for member in members for each in member.scope.bindings.get(member.name, ())]
        bodies = [folder.names.inner(binding.node, home) for binding, home in pairs]
    return _applied(folder, bodies[0], node, scope) if len(bodies) == 1 else UNKNOWN


def _applied(folder: Folder, inner: Scope | None, node: ast.Call, scope: Scope) -> Value:
    """What a small function answers to these arguments, when it is nothing but a few returned expressions."""
    if inner is None or inner.kind != "function" or id(inner) in folder.applied or len(folder.applied) >= _NESTED:
        return UNKNOWN
    owner = inner.owner
    if not isinstance(owner, ast.FunctionDef | ast.Lambda) or not 0 < len(inner.returns) <= _MOST_RETURNS:
        return UNKNOWN
    if isinstance(owner, ast.FunctionDef) and owner.decorator_list:
        return UNKNOWN
    parameters = [each.arg for each in (*owner.args.posonlyargs, *owner.args.args)]
    if any(isinstance(item, ast.Starred) for item in node.args) or len(node.args) > len(parameters):
        return UNKNOWN
    frame = {name: folder.fold(item, scope) for name, item in zip(parameters, node.args, strict=False)}
    frame |= {str(item.arg): folder.fold(item.value, scope) for item in node.keywords if item.arg in parameters}
    changed = {name for name in frame if any(each.kind == "augment" for each in inner.bindings.get(name, ()))}
    frame = {name: value for name, value in frame.items() if name not in changed}
    outer, folder.frames = folder.frames, [frame]
    folder.applied.append(id(inner))
    value = one_of([folder.fold(each, inner) for each in inner.returns])
    folder.applied.pop()
    folder.frames = outer
    return value

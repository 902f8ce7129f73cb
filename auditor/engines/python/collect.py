"""One walk over a syntax tree: scopes and what binds their names, calls, subscripts and texts. No judgement here.

The walk is iterative, so a deeply nested tree cannot exhaust the stack, and visits every node once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Final

from skillkeep.auditor.engines.python.parts import (
    bind_captures,
    fill,
    is_table,
    part_of,
    put_into,
    set_attribute,
)
from skillkeep.auditor.engines.python.reduce import Reducer
from skillkeep.auditor.engines.python.scopes import CHOSEN, RAISED, Binding, Collected, Function, Scope

__all__ = ["collect"]

_SKIPPED: Final = frozenset(
    {
        str, bytes, int, float, complex, bool, type(None), type(...), ast.Load, ast.Store, ast.Del, ast.Name,
        ast.Pass, ast.Break, ast.Continue,
        *ast.operator.__subclasses__(), *ast.cmpop.__subclasses__(), *ast.boolop.__subclasses__(),
        *ast.unaryop.__subclasses__(),
    }
)  # fmt: skip
_SHORTEST: Final = 3  # characters: no shorter text says anything by itself
_LOAD: Final = ast.Load()
_PLAIN: Final = frozenset(
    {
        "ctx", "op", "ops", "id", "attr", "arg", "name", "kind", "conversion", "simple", "is_async", "type_comment",
        "level", "module", "rest", "kwd_attrs",
    }
)  # fmt: skip
_LISTS: Final = frozenset(
    {
        "args", "bases", "body", "cases", "comparators", "decorator_list", "elts", "finalbody", "generators",
        "handlers", "ifs", "items", "keys", "keywords", "kwd_patterns", "names", "orelse", "patterns", "targets",
        "type_params", "values",
    }
)  # fmt: skip


def _children(kind: type[ast.AST]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a kind of node that hold one node, and those that hold a list of nodes."""
    names = tuple(name for name in kind._fields if name not in _PLAIN)
    single = {"body", "orelse"} if kind in {ast.Lambda, ast.IfExp, ast.Expression} else set[str]()
    single |= {"args"} if kind in {ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef} else set()
    lists = tuple(name for name in names if name in _LISTS and name not in single)
    return tuple(name for name in names if name not in lists), lists


_CHILDREN: Final = {
    kind: _children(kind) for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)
}
_FEEDERS: Final = frozenset(
    {
        "append", "appendleft", "extend", "insert", "add", "update", "setdefault", "write", "writelines", "writestr",
        "put", "put_nowait", "add_header", "add_unredirected_header", "putheader", "attach", "set_payload",
        "set_content", "push", "feed", "read_string", "read_dict", "read_file", "readfp", "__setitem__",
    }
)  # fmt: skip


class _Walk:
    """State of one walk."""

    def __init__(self, tree: ast.Module) -> None:
        module = Scope("module", None, tree)
        self.found = Collected(module)
        self.plainly = Reducer(tree)
        self.found.plain = self.plainly.changed
        self.queue: list[tuple[Scope, list[ast.AST]]] = [(module, list(tree.body))]

    def run(self) -> Collected:
        while self.queue:
            scope, nodes = self.queue.pop()
            self._scope(scope, nodes)
        self.found.calls.sort(key=lambda pair: (pair[0].lineno, pair[0].col_offset))
        for name, part, node, scope in self.found.stored:
            bound = scope.lookup(name) if part.startswith("[") else None
            if bound is not None:
                bound[1].append(Binding("opaque", node.lineno))
        return self.found

    def _scope(self, scope: Scope, stack: list[ast.AST]) -> None:
        handlers, skipped = _HANDLERS, _SKIPPED
        pop, push, extend = stack.pop, stack.append, stack.extend
        children, texts, calls = _CHILDREN, self.found.texts, self.found.calls
        plainly = self.plainly
        attribute, constant, call, keyword = ast.Attribute, ast.Constant, ast.Call, ast.keyword
        while stack:
            node = pop()
            kind = node.__class__
            if kind in skipped:
                continue
            if kind is attribute or kind is keyword:  # the most frequent kinds of node
                push(node.value)  # type: ignore[attr-defined]
                continue
            if kind is constant:
                value = node.value  # type: ignore[attr-defined]
                if (value.__class__ is str or value.__class__ is bytes) and len(value) > _SHORTEST:
                    texts.append(node)  # type: ignore[arg-type]
                continue
            if kind is call:
                plainly(node)  # type: ignore[arg-type]
                calls.append((node, scope))  # type: ignore[arg-type]
                _called(self, node, scope)  # type: ignore[arg-type]
                push(node.func)  # type: ignore[attr-defined]
                extend(node.args)  # type: ignore[attr-defined]
                extend(node.keywords)  # type: ignore[attr-defined]
                continue
            handler = handlers.get(kind)
            if handler is not None and handler(self, scope, node, stack):
                continue
            values = node.__dict__
            singles, lists = children[kind]
            for name in singles:
                value = values[name]
                if value.__class__ not in skipped:
                    push(value)
            for name in lists:
                extend(values[name])
        for name in scope.outer:  # a `global` may stand below what it changes in this walk's order
            self.found.module.bindings.setdefault(name, []).extend(scope.bindings.pop(name, ()))

    def enter(self, scope: Scope, owner: ast.AST, kind: str, body: Iterable[ast.AST]) -> Scope:
        inner = Scope(kind, scope, owner, root=scope.module)
        self.found.scopes[id(owner)] = inner
        self.queue.append((inner, list(body)))
        return inner

    def bind_target(self, scope: Scope, target: ast.AST, binding: Binding) -> None:
        if isinstance(target, ast.Name):
            scope.bind(target.id, binding)
            if scope.kind == "class":
                self.found.attributes[target.id].append((binding, scope))
        elif isinstance(target, ast.Attribute):
            self.found.attributes[target.attr].append((binding, scope))
            if isinstance(target.value, ast.Name) and isinstance(binding.node, ast.expr):
                self.found.stored.append((target.value.id, target.attr, binding.node, scope))
        elif isinstance(target, ast.Starred):
            self.bind_target(scope, target.value, Binding("opaque", binding.line, binding.node))
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(scope, target, binding)
        elif isinstance(target, ast.Subscript) and isinstance(binding.node, ast.expr):
            self._put(scope, target, binding.node)

    def _put(self, scope: Scope, target: ast.Subscript, value: ast.expr) -> None:
        holder = target.value
        if isinstance(holder, ast.Name):
            self.found.stored.append((holder.id, part_of(target), value, scope))
        elif isinstance(holder, ast.Attribute):
            self.found.attributes[holder.attr].append((Binding("fed", value.lineno, value), scope))
            if isinstance(holder.value, ast.Name):
                self.found.stored.append((holder.value.id, holder.attr, value, scope))

    def _unpack(self, scope: Scope, target: ast.Tuple | ast.List, binding: Binding) -> None:
        source = binding.node
        if binding.kind == "value" and isinstance(source, ast.Tuple | ast.List):
            starred = any(isinstance(item, ast.Starred) for item in (*source.elts, *target.elts))
            if len(source.elts) == len(target.elts) and not starred:
                for item, value in zip(target.elts, source.elts, strict=True):
                    self.bind_target(scope, item, Binding("value", binding.line, value))
                return
        kind = {"value": "item", "element": "part"}.get(binding.kind, "opaque")
        starred = any(isinstance(item, ast.Starred) for item in target.elts)
        for index, item in enumerate(target.elts):
            self.bind_target(
                scope,
                item,
                Binding("opaque" if starred and kind == "part" else kind, binding.line, source, index=index),
            )


def _import(walk: _Walk, scope: Scope, node: ast.Import, _stack: list[ast.AST]) -> bool:
    for alias in node.names:
        walk.found.imports.add(alias.name)
        top = alias.name.split(".")[0]
        bound, target = (alias.asname, alias.name) if alias.asname else (top, top)
        walk.bind_target(scope, ast.Name(bound), Binding("import", node.lineno, None, target))
    return True


def _import_from(walk: _Walk, scope: Scope, node: ast.ImportFrom, _stack: list[ast.AST]) -> bool:
    module = "." * node.level + (node.module or "")
    walk.found.imports.add(module)
    for alias in node.names:
        walk.found.imports.add(f"{module}.{alias.name}")
        if alias.name == "*":
            scope.module.stars.append(module)
        else:
            target = f"{module}{'' if module.endswith('.') else '.'}{alias.name}"
            walk.bind_target(scope, ast.Name(alias.asname or alias.name), Binding("import", node.lineno, None, target))
    return True


def _assign(walk: _Walk, scope: Scope, node: ast.Assign, stack: list[ast.AST]) -> bool:
    value = node.value
    stack.append(value)
    for target in node.targets:
        binding = Binding("value", node.lineno, value)
        if target.__class__ is ast.Name and scope.kind != "class":
            scope.bind(target.id, binding)
        else:
            walk.bind_target(scope, target, binding)
            stack.append(target)
    return True


def _annotated(walk: _Walk, scope: Scope, node: ast.AnnAssign, stack: list[ast.AST]) -> bool:
    if node.value is not None:
        walk.bind_target(scope, node.target, Binding("value", node.lineno, node.value))
        stack.append(node.value)
    stack += [node.target, node.annotation]  # Python evaluates annotations of modules and classes
    return True


def _augmented(walk: _Walk, scope: Scope, node: ast.AugAssign, stack: list[ast.AST]) -> bool:
    walk.bind_target(scope, node.target, Binding("augment", node.lineno, node.value, operator=node.op))
    return False


def _named(walk: _Walk, scope: Scope, node: ast.NamedExpr, stack: list[ast.AST]) -> bool:
    walk.bind_target(scope, node.target, Binding("value", node.lineno, node.value))
    return False


def _loop(walk: _Walk, scope: Scope, node: ast.For | ast.AsyncFor, stack: list[ast.AST]) -> bool:
    scope.loops.append((node.lineno, node.end_lineno or node.lineno))
    walk.bind_target(scope, node.target, Binding("element", node.lineno, node.iter))
    return False


def _while(walk: _Walk, scope: Scope, node: ast.While, stack: list[ast.AST]) -> bool:
    scope.loops.append((node.lineno, node.end_lineno or node.lineno))
    return False


def _comprehension(walk: _Walk, scope: Scope, node: ast.comprehension, stack: list[ast.AST]) -> bool:
    walk.bind_target(scope, node.target, Binding("element", getattr(node.target, "lineno", 0), node.iter))
    return False


def _with(walk: _Walk, scope: Scope, node: ast.With | ast.AsyncWith, stack: list[ast.AST]) -> bool:
    for item in node.items:
        if item.optional_vars is not None:
            walk.bind_target(scope, item.optional_vars, Binding("value", node.lineno, item.context_expr))
    return False


def _function(walk: _Walk, scope: Scope, node: Function, stack: list[ast.AST]) -> bool:
    arguments = node.args
    if isinstance(node, ast.Lambda):
        body: list[ast.AST] = [node.body]
    else:
        body = list(node.body)
        walk.bind_target(scope, ast.Name(node.name), Binding("define", node.lineno, node))
        walk.found.decorators.extend((item, scope) for item in node.decorator_list)
        stack.extend(node.decorator_list)
        for item in node.decorator_list:
            handed = ast.copy_location(ast.Name(node.name, _LOAD), item)
            _called(walk, ast.copy_location(ast.Call(item, [handed], []), item), scope)
    inner = walk.enter(scope, node, "function", body)
    if isinstance(node, ast.Lambda):
        inner.returns.append(node.body)
    names = [*arguments.posonlyargs, *arguments.args]
    for index, argument in enumerate(names):
        inner.bind(argument.arg, Binding("param", node.lineno, node, argument.arg, index))
    for argument, default in zip(reversed(names), reversed(arguments.defaults), strict=False):
        inner.bind(argument.arg, Binding("value", node.lineno, default))
    for argument in arguments.kwonlyargs:
        inner.bind(argument.arg, Binding("param", node.lineno, node, argument.arg, -1))
    for spread, kind in ((arguments.vararg, "rest"), (arguments.kwarg, "more")):
        if spread is not None:
            inner.bind(spread.arg, Binding(kind, node.lineno, node, spread.arg, len(names)))
    stack.extend(default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None)
    spreads = [spread for spread in (arguments.vararg, arguments.kwarg) if spread is not None]
    stack.extend(each.annotation for each in (*names, *arguments.kwonlyargs, *spreads) if each.annotation is not None)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        stack.append(node.returns)
    return True


def _class(walk: _Walk, scope: Scope, node: ast.ClassDef, stack: list[ast.AST]) -> bool:
    walk.bind_target(scope, ast.Name(node.name), Binding("define", node.lineno, node))
    walk.found.decorators.extend((item, scope) for item in node.decorator_list)
    stack.extend((*node.decorator_list, *node.bases, *node.keywords))
    walk.enter(scope, node, "class", node.body)
    return True


def _handler(walk: _Walk, scope: Scope, node: ast.ExceptHandler, stack: list[ast.AST]) -> bool:
    if node.name:
        scope.bind(node.name, Binding("caught", node.lineno))
    return False


def _raise(walk: _Walk, scope: Scope, node: ast.Raise, stack: list[ast.AST]) -> bool:
    if isinstance(node.exc, ast.Call) and (node.exc.args or node.exc.keywords):
        walk.found.attributes[RAISED].append((Binding("fed", node.lineno, node.exc), scope))
    return False


def _outer(walk: _Walk, scope: Scope, node: ast.Global | ast.Nonlocal, stack: list[ast.AST]) -> bool:
    scope.outer.update(node.names)
    return True


def _return(walk: _Walk, scope: Scope, node: ast.Return | ast.Yield | ast.YieldFrom, stack: list[ast.AST]) -> bool:
    if node.value is not None:
        scope.returns.append(node.value)
    return False


def _called(walk: _Walk, node: ast.Call, scope: Scope) -> None:
    """Note the call under the last part of its function's name; ``f(…)(…)`` under ``f()``."""
    callee = node.func
    fill(walk.found, scope, node, _FEEDERS)
    if isinstance(callee, ast.Name):
        walk.found.callers[callee.id].append((node, scope))
        if callee.id == "setattr":
            set_attribute(walk.found, scope, node)
    elif isinstance(callee, ast.Attribute):
        walk.found.callers[callee.attr].append((node, scope))
        if callee.attr in _FEEDERS and (node.args or node.keywords):
            put_into(walk.found, scope, callee.value, node)
            if callee.attr == "update" and is_table(callee.value):
                walk.found.attributes[CHOSEN].extend((Binding("fed", node.lineno, each), scope) for each in node.args)
    elif isinstance(callee, ast.Call) and isinstance(callee.func, ast.Name):
        walk.found.callers[f"{callee.func.id}()"].append((node, scope))


def _expression(walk: _Walk, scope: Scope, node: ast.Expr, stack: list[ast.AST]) -> bool:
    kind = node.value.__class__
    if kind is ast.Call:
        walk.found.unused.add(id(node.value))
    if kind is not ast.Constant:  # a docstring or a bare constant is prose
        stack.append(node.value)
    return True


def _try(walk: _Walk, scope: Scope, node: ast.Try, stack: list[ast.AST]) -> bool:
    kinds = [handler.type for handler in node.handlers if handler.type is not None]
    caught = {item.id for kind in kinds for item in ast.walk(kind) if isinstance(item, ast.Name)}
    if caught & {"ImportError", "ModuleNotFoundError"} and node.body:
        walk.found.import_guards.append((node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno))
    return False


def _subscript(walk: _Walk, scope: Scope, node: ast.Subscript, stack: list[ast.AST]) -> bool:
    walk.found.subscripts.append((node, scope))
    return False


_HANDLERS: Final[dict[type[ast.AST], Callable[..., bool]]] = {
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.NamedExpr: _named,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _while,
    ast.comprehension: _comprehension,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.Lambda: _function,
    ast.ClassDef: _class,
    ast.ExceptHandler: _handler,
    ast.Raise: _raise,
    ast.Match: bind_captures,
    ast.Global: _outer,
    ast.Nonlocal: _outer,
    ast.Return: _return,
    ast.Yield: _return,
    ast.YieldFrom: _return,
    ast.Expr: _expression,
    ast.Try: _try,
    ast.Subscript: _subscript,
}


def collect(tree: ast.Module) -> Collected:
    """Walk `tree` once."""
    return _Walk(tree).run()

"""What runs commands or code and goes where the engine does not follow it; what may be run there.

A module or a function that is yielded, matched, kept in a list or handed to other code is no longer seen when it is
used. In such a file each text that reads as a whole command is judged as one, and what was fetched may not be given to
a function that nothing is known of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.python.credentials import is_error
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import alternatives
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.whole_commands import is_whole_command

__all__ = ["Lost"]

_SHORTEST: Final = 8
_MOST_CLIMBED: Final = 32
_THROUGH: Final = (
    ast.Starred, ast.IfExp, ast.BoolOp, ast.Await, ast.NamedExpr, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.keyword,
)  # fmt: skip
_LISTS: Final = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_KEPT: Final = (
    ast.Attribute, ast.Subscript, ast.Compare, ast.Expr, ast.Assert, ast.FormattedValue, ast.arg, ast.UnaryOp, ast.If,
    ast.While, ast.ExceptHandler, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.Raise, ast.Delete,
    ast.AugAssign, ast.BinOp, ast.AnnAssign, ast.Module,
)  # fmt: skip
_LOOKS: Final = frozenset(
    {
        "builtins.getattr", "builtins.hasattr", "builtins.setattr", "builtins.delattr", "builtins.isinstance",
        "builtins.issubclass", "builtins.callable", "builtins.print", "builtins.repr", "builtins.str", "builtins.id",
        "builtins.type", "builtins.vars", "builtins.dir", "inspect.signature", "inspect.getsource", "inspect.getdoc",
        "importlib.reload", "functools.partial", "functools.wraps",
    }
)  # fmt: skip
_SHOWN: Final = ("builtins.print", "logging.", "sys.stdout.", "sys.stderr.", "sys.exit", "warnings.", "click.echo")


@cache
def _known() -> tuple[frozenset[str], frozenset[str], frozenset[str], re.Pattern[str]]:
    """Functions that run a text, dangerous modules, the ends of such names, and what tells that one is referred to."""
    sinks = table("python")
    functions = frozenset(name for kind in ("code", "shell") for name in sinks[kind] if "()" not in name)
    functions -= {"builtins.compile", "code.interact", "codeop.compile_command", "types.CodeType"}
    modules = frozenset(sinks["dangerous_modules"]) | {"pexpect", "timeit", "runpy"}
    ends = frozenset(name.rpartition(".")[2] for name in sinks["shell"]) - {"run"}
    named = sorted({name.rpartition(".")[2] for name in functions - {"invoke.run"}} | modules)
    after = r"[ \t]*(?:[,)\]};:]|$|#|\.__dict__|(?:as|if|for|or|and|else)\b)"
    referred = compiled(rf"\b(?:{'|'.join(named)}|__builtins__)\b{after}", re.MULTILINE)
    return functions, modules, ends, referred


class Lost:
    """The judge of one file, asked after every call was judged."""

    def __init__(self, site: Site, flow: Flow) -> None:
        self._site = site
        self._flow = flow
        self._functions, self._modules, self._ends, self._referred = _known()
        self._parents: dict[int, ast.AST] = {}
        self._judged: set[str] = set()

    def judge(self) -> None:
        """Judge what may be run by a function that goes out of sight."""
        function, module = self._escaped() if self._may_be_lost() else (False, False)
        for call, scope in self._site.found.calls:
            if not call.args and not call.keywords:
                continue
            if not (function or module or self._looks_like_shell(call.func, scope)):
                continue
            if not self._is_shown(call, scope):
                for item in (*call.args, *(each.value for each in call.keywords)):
                    self._given(item, scope)
            if (function or module) and self._is_unknown(call.func, scope, named=not function):
                self._fetched(call, scope)
        if function or module:
            for text in self._site.found.texts:
                if not self._is_shown(text, self._site.found.module):
                    self._text(text.value, text)

    def _looks_like_shell(self, function: ast.expr, scope: Scope) -> bool:
        """``x.system(…)`` of which nothing is known but its name."""
        named = isinstance(function, ast.Attribute) and function.attr in self._ends
        return named and not self._site.names.resolve(function, scope)

    def _may_be_lost(self) -> bool:
        text = self._site.segment.text
        for found in self._referred.finditer(text):
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.end()]
            if " as" in found[0] or not line.lstrip().startswith(("import ", "from ", "#")):
                return True
        return False

    def _given(self, item: ast.expr, scope: Scope) -> None:
        for value in alternatives(self._site.fold(item, scope)):
            self._text(value, item)

    def _text(self, value: object, node: ast.AST) -> None:
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        if not isinstance(text, str) or len(text) < _SHORTEST or text in self._judged:
            return
        self._judged.add(text)
        if is_whole_command(text):
            self._site.derive(text, Context.SHELL, node, "handed to what runs commands")

    def _fetched(self, call: ast.Call, scope: Scope) -> None:
        labels = frozenset[str]().union(*(self._flow.labels(item, scope) for item in call.args[:4]))
        if "download" in labels:
            message = "what came from the network is given to a function that may run it"
            self._site.report("python-downloaded-execution", call, message)

    def _is_unknown(self, function: ast.expr, scope: Scope, *, named: bool) -> bool:
        """True for a function of which nothing is known, or, where a module is lost, nothing but a name of it."""
        names = self._site.names.resolve(function, scope)
        if named:
            return isinstance(function, ast.Attribute) and function.attr in self._ends and not self._is_own(function)
        if isinstance(function, ast.Name) and (bound := scope.lookup(function.id)):
            if any(each.kind == "define" for each in bound[1]):
                return False
            return not names or all(name.endswith("()") for name in names)
        if isinstance(function, ast.Attribute):
            return not names and not self._is_own(function)
        return isinstance(function, ast.Call | ast.Subscript)

    def _is_own(self, function: ast.Attribute) -> bool:
        """True for the name of a method that the file itself defines."""
        return any(each.kind == "define" for each, _ in self._site.found.attributes.get(function.attr, ()))

    def _is_shown(self, node: ast.AST, scope: Scope) -> bool:
        """True for what is printed, or said by an error."""
        if not self._parents:
            self._link()
        inner: ast.AST | None = node
        for _ in range(_MOST_CLIMBED):
            if inner is None or isinstance(inner, ast.stmt):
                return isinstance(inner, ast.Raise)
            if isinstance(inner, ast.Call):
                names = self._site.names.resolve(inner.func, scope)
                if names and all(name.startswith(_SHOWN) or is_error(name) for name in names):
                    return True
            inner = self._parents.get(id(inner))
        return False

    def _link(self) -> None:
        queue: list[ast.AST] = [self._site.found.module.owner]
        while queue:
            node = queue.pop()
            for child in ast.iter_child_nodes(node):
                self._parents[id(child)] = node
                queue.append(child)

    def _escaped(self) -> tuple[bool, bool]:
        """Whether a function that runs a text, and whether a module of such functions, goes out of sight."""
        self._link()
        function = module = False
        for node, scope in self._references():
            names = self._site.names.resolve(node, scope)
            runs = not self._functions.isdisjoint(names)
            if (runs or not self._modules.isdisjoint(names)) and self._escapes(node, scope, runs=runs):
                function, module = function or runs or "builtins" in names, module or not runs
        return function, module

    def _references(self) -> Iterator[tuple[ast.expr, Scope]]:
        scopes = self._site.found.scopes
        queue: list[tuple[ast.AST, Scope]] = [(self._site.found.module.owner, self._site.found.module)]
        while queue:
            node, scope = queue.pop()
            inner = scopes.get(id(node), scope)
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield node, scope
            queue.extend((child, inner) for child in ast.iter_child_nodes(node))

    def _escapes(self, node: ast.expr, scope: Scope, *, runs: bool) -> bool:
        inner, listed = self._parents.get(id(node)), False
        below: ast.AST = node
        if isinstance(inner, ast.Attribute) and inner.attr == "__dict__":
            outer = self._parents.get(id(inner))
            return isinstance(outer, ast.Attribute) and outer.attr in {"items", "values"}
        for _ in range(_MOST_CLIMBED):
            if isinstance(inner, _THROUGH):
                listed = listed or isinstance(inner, _LISTS)
                below, inner = inner, self._parents.get(id(inner))
                continue
            break
        if inner is None or isinstance(inner, _KEPT):
            return False
        if isinstance(inner, ast.Call):
            return below is not inner.func and self._handed(inner, node, scope, listed=listed, runs=runs)
        if isinstance(inner, ast.Assign):
            derived = scope.kind == "class" and isinstance(scope.owner, ast.ClassDef)
            special = derived and bool(scope.owner.bases or scope.owner.decorator_list)  # type: ignore[attr-defined]
            return special or (listed and not isinstance(inner.targets[0], ast.Tuple | ast.List))
        if isinstance(inner, ast.Return):
            owner = scope.owner
            return isinstance(owner, ast.FunctionDef) and (owner.name.startswith("__") or bool(owner.decorator_list))
        if isinstance(inner, ast.arguments):
            return below not in inner.defaults
        return True

    def _handed(self, call: ast.Call, node: ast.expr, scope: Scope, *, listed: bool, runs: bool) -> bool:
        names = self._site.names.resolve(call.func, scope)
        if names and _LOOKS.issuperset(names):
            return False
        bound = scope.lookup(call.func.id) if isinstance(call.func, ast.Name) else None
        if bound is not None and any(isinstance(each.node, ast.FunctionDef) for each in bound[1]):
            return listed
        if listed and runs:
            message = "what runs a text is handed to other code, so what it will run cannot be judged"
            self._site.report("python-handed-execution", node, message)
        return True

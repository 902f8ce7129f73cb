"""Which qualified name an expression stands for: imports, aliases, attributes, ``getattr``, ``globals()[…]``.

``from os import system as s; s(...)`` and ``getattr(__builtins__, "ev" + "al")`` both answer with what is really
called. An attribute chosen at run time is spelled ``module.?``. The result of a call is its name with ``()``, so
``requests.Session().post`` is a name too.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.python.collect import Binding, Collected, Scope
from skillkeep.auditor.engines.python.values import UNKNOWN, Value, alternatives

if TYPE_CHECKING:
    from skillkeep.auditor.engines.python.folding import Folder

__all__ = ["Names"]

_MAX_NAMES: Final = 64
_MAX_DEPTH: Final = 40
_MAX_CALLERS: Final = 256
_MOST_BINDINGS: Final = 4096
_STEPS: Final = 500_000
_BUILTINS: Final = frozenset(dir(builtins)) | {"reload", "unicode", "execfile", "raw_input"}
_SAME_MODULE: Final = {
    "posix": "os", "nt": "os", "__builtins__": "builtins", "__builtin__": "builtins", "_pickle": "pickle",
    "cPickle": "pickle", "posixpath": "os.path", "ntpath": "os.path", "_io": "io", "urllib2": "urllib.request",
    "subprocess32": "subprocess", "asyncio.subprocess": "asyncio", "_posixsubprocess": "subprocess",
}  # fmt: skip
# An excerpt in a document leaves its imports out; a name that nothing binds is then the module everybody means.
_MEANT: Final = frozenset({
    "os", "sys", "subprocess", "shutil", "pathlib", "tempfile", "socket", "urllib", "http", "ftplib", "smtplib",
    "pickle", "marshal", "base64", "codecs", "zlib", "json", "ctypes", "importlib", "asyncio", "requests", "httpx",
    "aiohttp", "paramiko", "boto3",
})  # fmt: skip
_IMPORTERS: Final = frozenset({"builtins.__import__", "importlib.import_module", "importlib.__import__"})
_TABLES: Final = frozenset({"builtins.globals()", "builtins.locals()", "builtins.vars()"})
_GLOBAL_TABLES: Final = frozenset({"__globals__", "f_globals", "f_builtins", "func_globals"})
_PASSED_THROUGH: Final = frozenset({"functools.partial", "staticmethod", "functools.wraps()", "contextlib.closing"})


class Names:
    """Resolves expressions of one file. Answers are memoised; everything is bounded in depth and number."""

    def __init__(self, found: Collected) -> None:
        self.found = found
        self.folder: Folder | None = None
        self._memo: dict[tuple[int, str], tuple[str, ...]] = {}
        self._open: set[tuple[int, str]] = set()
        self._cut: set[tuple[int, str]] = set()
        self._depth = 0
        self._left = _STEPS

    @property
    def exhausted(self) -> bool:
        """True when the budget of steps ran out, so that later answers are empty."""
        return self._left <= 0

    def resolve(self, node: ast.AST, scope: Scope) -> tuple[str, ...]:
        """The qualified names `node` may stand for; empty when nothing is known."""
        handler = _RESOLVERS.get(node.__class__)
        if handler is None or self._depth > _MAX_DEPTH or self._left <= 0:
            return ()
        self._left -= 1
        self._depth += 1
        try:
            return handler(self, node, scope)
        finally:
            self._depth -= 1

    def name(self, name: str, scope: Scope) -> tuple[str, ...]:
        """What the bare name `name` stands for in `scope`."""
        bound = scope.lookup(name)
        key = (id(bound[0]) if bound else 0, name)
        known = self._memo.get(key)
        if known is not None:
            return known
        if key in self._open:
            self._cut.add(key)
            return ()
        self._open.add(key)
        answer = self._of_bindings(name, *bound) if bound else self._unbound(name)
        self._open.discard(key)
        self._cut.discard(key)
        if not self._cut:  # else the answer lacks what a name still open will add
            self._memo[key] = answer
        return answer

    def arguments_for(self, binding: Binding) -> list[tuple[ast.expr, Scope]]:
        """What the file's own calls pass for a parameter (a binding of kind ``param``)."""
        function = binding.node
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return []
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        method = bool(names) and names[0] in {"self", "cls"}
        found: list[tuple[ast.expr, Scope]] = []
        for call, scope in self.found.callers.get(function.name, ())[:_MAX_CALLERS]:
            index = binding.index - (1 if method and isinstance(call.func, ast.Attribute) else 0)
            if 0 <= index < len(call.args):
                found.append((call.args[index], scope))
            found.extend((item.value, scope) for item in call.keywords if item.arg == binding.name)
        return found

    def _unbound(self, name: str) -> tuple[str, ...]:
        if name in _SAME_MODULE:
            return (_SAME_MODULE[name],)
        stars = tuple(_canonical(f"{module}.{name}") for module in self.found.module.stars)
        meant = (name,) if name in _MEANT else ()
        return ((f"builtins.{name}",) if name in _BUILTINS else ()) + meant + stars

    def _of_bindings(self, name: str, home: Scope, bindings: list[Binding]) -> tuple[str, ...]:
        """Every value of a name, and of the names plainly assigned to it, however they go in circles."""
        found: dict[str, None] = {}
        seen = {(id(home), name)}
        queue = [(home, binding) for binding in bindings[:_MOST_BINDINGS]]
        while queue and len(seen) < _MOST_BINDINGS:
            scope, binding = queue.pop()
            if not (binding.kind == "value" and isinstance(binding.node, ast.Name)):
                found.update(dict.fromkeys(self._binding(binding, scope)))
                continue
            alias = scope.lookup(binding.node.id)
            if alias is None:
                found.update(dict.fromkeys(self._unbound(binding.node.id)))
            elif (id(alias[0]), binding.node.id) not in seen:
                seen.add((id(alias[0]), binding.node.id))
                queue.extend((alias[0], each) for each in alias[1][:_MOST_BINDINGS])
        return tuple(found)[:_MAX_NAMES]

    def _binding(self, binding: Binding, home: Scope) -> tuple[str, ...]:
        if binding.kind == "import":
            return (_canonical(binding.name),)
        if binding.kind == "value" and binding.node is not None:
            return self.resolve(binding.node, home)
        if binding.kind == "element" and isinstance(binding.node, ast.List | ast.Tuple | ast.Set):
            return self._union(binding.node.elts, home)
        return ()

    def _union(self, nodes: list[ast.expr], scope: Scope) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for node in nodes[:64]:
            found.update(dict.fromkeys(self.resolve(node, scope)))
        return tuple(found)[:_MAX_NAMES]

    def _fold(self, node: ast.AST, scope: Scope) -> Value:
        return self.folder.fold(node, scope) if self.folder is not None else UNKNOWN

    def _ast_name(self, node: ast.Name, scope: Scope) -> tuple[str, ...]:
        return self.name(node.id, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> tuple[str, ...]:
        if node.attr in _GLOBAL_TABLES:
            return ("builtins.globals()",)
        base = self.resolve(node.value, scope)
        if base:
            return _members(base, node.attr)
        stored = self.found.attributes.get(node.attr)
        if not stored:
            return ()
        key = (0, node.attr)
        if key in self._open:
            return ()
        self._open.add(key)
        answer: dict[str, None] = {}
        for binding, home in stored[:32]:
            answer.update(dict.fromkeys(self._binding(binding, home)))
        self._open.discard(key)
        return tuple(answer)[:_MAX_NAMES]

    def _call(self, node: ast.Call, scope: Scope) -> tuple[str, ...]:
        if isinstance(node.func, ast.Lambda):
            return self.resolve(node.func.body, self.found.scopes.get(id(node.func), scope))
        callee = self.resolve(node.func, scope)
        answer: dict[str, None] = {}
        for name in callee:
            answer.update(dict.fromkeys(self._result(name, node, scope)))
        if not callee and isinstance(node.func, ast.Name):
            answer.update(dict.fromkeys(self._returned(node.func.id, scope)))
        return tuple(answer)[:_MAX_NAMES]

    def _result(self, name: str, node: ast.Call, scope: Scope) -> tuple[str, ...]:
        if name == "builtins.getattr" and len(node.args) >= 2:
            return self._chosen(self.resolve(node.args[0], scope), node.args[1], scope)
        if name.endswith((".__getattribute__", ".__getattr__")) and node.args:
            return self._chosen((name.rpartition(".")[0],), node.args[-1], scope)
        if name in _IMPORTERS and node.args:
            modules = [text for text in alternatives(self._fold(node.args[0], scope)) if isinstance(text, str)]
            return tuple(_canonical(text) for text in modules) or (f"{name}()",)
        if name == "operator.attrgetter()" and node.args:
            chosen = node.func.args[0] if isinstance(node.func, ast.Call) and node.func.args else None
            return self._chosen(self.resolve(node.args[0], scope), chosen, scope) if chosen is not None else ()
        if name == "builtins.vars" and node.args:
            return tuple(f"{base}.__dict__" for base in self.resolve(node.args[0], scope))
        if name.endswith(".__dict__.get") and node.args:
            return self._chosen((name[: -len(".__dict__.get")],), node.args[0], scope)
        if name in _PASSED_THROUGH and node.args:
            return self.resolve(node.args[0], scope)
        return (f"{name}()",)

    def _returned(self, function: str, scope: Scope) -> tuple[str, ...]:
        bound = scope.lookup(function)
        key = (1, function)
        if bound is None or key in self._open:
            return ()
        self._open.add(key)
        answer: dict[str, None] = {}
        for binding in bound[1]:
            inner = self.found.scopes.get(id(binding.node)) if binding.node is not None else None
            if inner is not None and binding.kind in {"define", "value"}:
                answer.update(dict.fromkeys(self._union(inner.returns, inner)))
        self._open.discard(key)
        return tuple(answer)[:_MAX_NAMES]

    def _chosen(self, bases: tuple[str, ...], chooser: ast.expr, scope: Scope) -> tuple[str, ...]:
        value = self._fold(chooser, scope)
        texts = [text for text in alternatives(value) if isinstance(text, str)]
        answer: dict[str, None] = {}
        for text in texts or ["?"]:
            answer.update(dict.fromkeys(_members(bases, text)))
        return tuple(answer)[:_MAX_NAMES]

    def _subscript(self, node: ast.Subscript, scope: Scope) -> tuple[str, ...]:
        base = self.resolve(node.value, scope)
        for name in base:
            if name in _TABLES:
                return self._global(node.slice, scope)
            if name == "sys.modules":
                modules = [text for text in alternatives(self._fold(node.slice, scope)) if isinstance(text, str)]
                return tuple(_canonical(text) for text in modules)
            if name == "builtins" or name.endswith(".__dict__"):
                return self._chosen((name.removesuffix(".__dict__"),), node.slice, scope)
        return self._picked(node, scope)

    def _global(self, chooser: ast.expr, scope: Scope) -> tuple[str, ...]:
        texts = [text for text in alternatives(self._fold(chooser, scope)) if isinstance(text, str)]
        return self.name(texts[0], scope) if texts else ("globals.?",)

    def _picked(self, node: ast.Subscript, scope: Scope) -> tuple[str, ...]:
        """A function out of a literal table: every member it may be."""
        table = node.value
        if isinstance(table, ast.Name) and (bound := scope.lookup(table.id)):
            literals = [item.node for item in bound[1] if item.kind == "value"]
        else:
            literals = [table]
        members: list[ast.expr] = []
        for literal in literals:
            if isinstance(literal, ast.Dict):
                members.extend(literal.values)
            elif isinstance(literal, ast.List | ast.Tuple):
                members.extend(literal.elts)
        return self._union(members, scope) if members else ()


def _canonical(name: str) -> str:
    top, dot, rest = name.partition(".")
    if name in _SAME_MODULE:
        return _SAME_MODULE[name]
    return f"{_SAME_MODULE[top]}{dot}{rest}" if top in _SAME_MODULE else name


def _members(bases: tuple[str, ...], attribute: str) -> tuple[str, ...]:
    if attribute == "__builtins__":
        return ("builtins",)
    return tuple(_canonical(f"{base}.{attribute}") for base in bases)


def _resolve_branches(names: Names, node: ast.IfExp, scope: Scope) -> tuple[str, ...]:
    return names._union([node.body, node.orelse], scope)


def _resolve_either(names: Names, node: ast.BoolOp, scope: Scope) -> tuple[str, ...]:
    return names._union(node.values, scope)


def _resolve_value(names: Names, node: ast.NamedExpr | ast.Await, scope: Scope) -> tuple[str, ...]:
    return names.resolve(node.value, scope)


_RESOLVERS: Final[dict[type[ast.AST], Callable[..., tuple[str, ...]]]] = {
    ast.Name: Names._ast_name,
    ast.Attribute: Names._attribute,
    ast.Call: Names._call,
    ast.Subscript: Names._subscript,
    ast.IfExp: _resolve_branches,
    ast.BoolOp: _resolve_either,
    ast.NamedExpr: _resolve_value,
    ast.Await: _resolve_value,
}

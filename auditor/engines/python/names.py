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

from skillkeep.auditor.engines.python.program import Program
from skillkeep.auditor.engines.python.scopes import Binding, Collected, Scope
from skillkeep.auditor.engines.python.values import UNKNOWN, Value, alternatives

if TYPE_CHECKING:
    from skillkeep.auditor.engines.python.folding import Folder

__all__ = ["Names"]

_MAX_NAMES: Final = 64
_MAX_DEPTH: Final = 40
_MOST_BINDINGS: Final = 4096
_STEPS: Final = 300_000
_BUILTINS: Final = frozenset(dir(builtins)) | {"reload", "unicode", "execfile", "raw_input", "get_ipython"}
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
_KEYED: Final = ("pymongo.", "motor.motor_asyncio.")  # clients whose parts are asked for by key
_GLOBAL_TABLES: Final = frozenset({"__globals__", "f_globals", "f_builtins", "func_globals"})
_C_LIBRARIES: Final = frozenset({"ctypes.cdll", "ctypes.windll", "ctypes.oledll", "ctypes.pydll"})
_PASSED_THROUGH: Final = frozenset({"functools.partial", "staticmethod", "functools.wraps()", "contextlib.closing"})


class Names:
    """Resolves expressions of a program. Answers are memoised; everything is bounded in depth and number."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.folder: Folder | None = None
        self._memo: dict[tuple[int, str], tuple[str, ...]] = {}
        self._open: set[tuple[int, str]] = set()
        self._cut: set[tuple[int, str]] = set()
        self._depth = 0
        self._too_deep = False
        self._left = _STEPS

    @property
    def exhausted(self) -> bool:
        """True when the budget of steps ran out, so that later answers are empty."""
        return self._left <= 0 or self._too_deep

    def resolve(self, node: ast.AST, scope: Scope) -> tuple[str, ...]:
        """The qualified names `node` may stand for; empty when nothing is known."""
        kind = node.__class__
        handler = _RESOLVERS.get(kind)
        if handler is None or self._left <= 0:
            return ()
        if self._depth > _MAX_DEPTH:
            self._too_deep = True
            return ()
        self._left -= 1
        if kind is ast.Name:
            known = self._memo.get((id(scope), node.id))  # type: ignore[attr-defined]
            if known is not None:
                return known
        self._depth += 1
        try:
            return handler(self, node, scope)
        finally:
            self._depth -= 1

    def name(self, name: str, scope: Scope) -> tuple[str, ...]:
        """What the bare name `name` stands for in `scope`."""
        near = (id(scope), name)
        known = self._memo.get(near)
        if known is not None:
            return known
        bound = scope.lookup(name)
        key = (id(bound[0] if bound else scope.module), name)
        known = self._memo.get(key)
        if known is not None:
            self._memo[near] = known
            return known
        if key in self._open:
            self._cut.add(key)
            return ()
        self._open.add(key)
        answer = self._of_bindings(name, *bound) if bound else self._unbound(name, scope)
        self._open.discard(key)
        self._cut.discard(key)
        if not self._cut:  # else the answer lacks what a name still open will add
            self._memo[key] = answer
        return answer

    def found(self, scope: Scope) -> Collected:
        """What the walk found in the file of `scope`."""
        return self.program.source(scope).found

    def inner(self, node: ast.AST | None, scope: Scope) -> Scope | None:
        """The scope of the function or class `node`, which stands in the file of `scope`."""
        return self.found(scope).scopes.get(id(node)) if node is not None else None

    def forget(self) -> None:
        """Drop what was answered before the callers in other files were known, and the way back to the folder."""
        self._memo.clear()

    def _unbound(self, name: str, scope: Scope) -> tuple[str, ...]:
        if name in _SAME_MODULE:
            return (_SAME_MODULE[name],)
        stars = [
            each for module in scope.module.stars for each in self._linked(_canonical(f"{module}.{name}"), scope.module)
        ]
        meant = (name,) if name in _MEANT else ()
        return ((f"builtins.{name}",) if name in _BUILTINS else ()) + meant + tuple(stars)

    def _linked(self, name: str, scope: Scope) -> tuple[str, ...]:
        """`name`, and what stands behind it in another file of the program."""
        if not self.program.linked:
            return (name,)
        members = self.program.target(name, scope)
        key = (id(scope.module), f"{name} elsewhere")
        if not members or key in self._open:
            return (name,)
        self._open.add(key)
        answer = {name: None}
        for member in members:
            if member.name.startswith("."):
                for binding, home in self.found(member.scope).attributes[member.name[1:]][:_MOST_BINDINGS]:
                    answer.update(dict.fromkeys(self._binding(binding, home)))
            else:
                answer.update(dict.fromkeys(self.name(member.name, member.scope)))
        self._open.discard(key)
        return tuple(answer)[:_MAX_NAMES]

    def _of_bindings(self, name: str, home: Scope, bindings: list[Binding]) -> tuple[str, ...]:
        """Every value of a name, and of the names plainly assigned to it, however they go in circles."""
        if len(bindings) == 1 and bindings[0].node.__class__ is not ast.Name:
            return tuple(dict.fromkeys(self._binding(bindings[0], home)))[:_MAX_NAMES]
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
                found.update(dict.fromkeys(self._unbound(binding.node.id, scope)))
            elif (id(alias[0]), binding.node.id) not in seen:
                seen.add((id(alias[0]), binding.node.id))
                queue.extend((alias[0], each) for each in alias[1][:_MOST_BINDINGS])
        return tuple(found)[:_MAX_NAMES]

    def _binding(self, binding: Binding, home: Scope) -> tuple[str, ...]:
        kind = binding.kind
        if kind == "value":
            return self.resolve(binding.node, home) if binding.node is not None else ()
        if kind == "import":
            return self._linked(_canonical(binding.name), home)
        if kind == "define":
            return self.program.name_of(binding, home)
        if kind == "item" and isinstance(binding.node, ast.Call | ast.Await):
            made = self.resolve(binding.node, home)
            return tuple(f"{name}[{binding.index}]" for name in made if name.endswith("()"))
        if kind == "element" and isinstance(binding.node, ast.List | ast.Tuple | ast.Set):
            return self._union(binding.node.elts, home)
        if kind == "part" and isinstance(binding.node, ast.List | ast.Tuple | ast.Set):
            rows = [row.elts for row in binding.node.elts if isinstance(row, ast.Tuple | ast.List)]
            return self._union([row[binding.index] for row in rows if len(row) > binding.index], home)
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
            members = _members(base, node.attr)
            if not self.program.linked:
                return members
            return tuple(dict.fromkeys(each for name in members for each in self._linked(name, scope)))[:_MAX_NAMES]
        stored = self.found(scope).attributes.get(node.attr)
        if not stored:
            return ()
        key = (id(stored), node.attr)
        if key in self._open:
            return ()
        self._open.add(key)
        answer: dict[str, None] = {}
        for binding, home in stored[:_MOST_BINDINGS]:
            answer.update(dict.fromkeys(self._binding(binding, home)))
        self._open.discard(key)
        return tuple(answer)[:_MAX_NAMES]

    def _call(self, node: ast.Call, scope: Scope) -> tuple[str, ...]:
        if isinstance(node.func, ast.Lambda):
            return self.resolve(node.func.body, self.inner(node.func, scope) or scope)
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
        if (name in _IMPORTERS or name.endswith("loader.load_module")) and node.args:
            modules = [text for text in alternatives(self._fold(node.args[0], scope)) if isinstance(text, str)]
            if name.endswith("__import__") and len(node.args) < 4 and not node.keywords:
                modules = [text.partition(".")[0] for text in modules]  # the package, unless a list of names is given
            return tuple(_canonical(text) for text in modules) or (f"{name}()",)
        if name == "sys.modules.get" and node.args:
            modules = [text for text in alternatives(self._fold(node.args[0], scope)) if isinstance(text, str)]
            return tuple(_canonical(text) for text in modules)
        if name == "builtins.type" and len(node.args) == 1 and self._is_function(node.args[0], scope):
            return ("types.FunctionType",)
        if name == "operator.attrgetter()" and node.args:
            chosen = node.func.args[0] if isinstance(node.func, ast.Call) and node.func.args else None
            return self._chosen(self.resolve(node.args[0], scope), chosen, scope) if chosen is not None else ()
        if name == "builtins.vars" and node.args:
            return tuple(f"{base}.__dict__" for base in self.resolve(node.args[0], scope))
        if name.endswith(".__dict__.get") and node.args:
            return self._chosen((name[: -len(".__dict__.get")],), node.args[0], scope)
        if name in _PASSED_THROUGH and node.args:
            return self.resolve(node.args[0], scope)
        made = self._made(name, scope)
        return made or (f"{name}()",)

    def _made(self, name: str, scope: Scope) -> tuple[str, ...]:
        """What a function of another file answers."""
        answer: dict[str, None] = {}
        for member in self.program.target(name, scope):
            for binding in member.scope.bindings.get(member.name, ())[:32]:
                inner = self.inner(binding.node, member.scope)
                if inner is not None and inner.kind == "function" and (1, name) not in self._open:
                    self._open.add((1, name))
                    answer.update(dict.fromkeys(self._union(inner.returns, inner)))
                    self._open.discard((1, name))
        return tuple(answer)[:_MAX_NAMES]

    def _is_function(self, node: ast.expr, scope: Scope) -> bool:
        bound = scope.lookup(node.id) if isinstance(node, ast.Name) else None
        defined = bound is not None and all(
            each.kind == "define" and isinstance(each.node, ast.FunctionDef) for each in bound[1]
        )
        return isinstance(node, ast.Lambda) or defined

    def _returned(self, function: str, scope: Scope) -> tuple[str, ...]:
        bound = scope.lookup(function)
        key = (1, function)
        if bound is None or key in self._open:
            return ()
        self._open.add(key)
        answer: dict[str, None] = {}
        for binding in bound[1]:
            inner = self.inner(binding.node, bound[0])
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
            if name.startswith(_KEYED):
                return base
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
        key = (id(node), "picked")
        if key in self._open:  # ``lines = [lines[0], …]``
            self._cut.add(key)
            return ()
        self._open.add(key)
        answer = self._union(members, scope) if members else ()
        self._open.discard(key)
        self._cut.discard(key)
        return answer


def _canonical(name: str) -> str:
    top, dot, rest = name.partition(".")
    if name in _SAME_MODULE:
        return _SAME_MODULE[name]
    return f"{_SAME_MODULE[top]}{dot}{rest}" if top in _SAME_MODULE else name


def _members(bases: tuple[str, ...], attribute: str) -> tuple[str, ...]:
    if attribute == "__builtins__":
        return ("builtins",)
    return tuple(
        "ctypes.CDLL()" if base in _C_LIBRARIES and attribute != "LoadLibrary" else _canonical(f"{base}.{attribute}")
        for base in bases
    )


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

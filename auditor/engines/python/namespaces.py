"""Whether a program can call its own functions by names that stand nowhere in it.

Whoever holds a module as a value calls ``getattr(module, name)`` of it, and only the name made at run time tells what.
A program holds its own module by few ways: the tables of names, a frame's or a function's, an import of itself, code
that is made of a text. All of them are spelled with the words below, or reached by an attribute that is chosen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Final

from skillkeep.auditor.engines.python.names import Names
from skillkeep.auditor.engines.python.program import Source
from skillkeep.auditor.engines.python.scopes import Binding, Scope
from skillkeep.auditor.engines.python.values import HOLE, UNKNOWN, OneOf, Unknown, Value, alternatives
from skillkeep.auditor.engines.tables import table

__all__ = ["Arguments", "are_calls_written"]

Arguments = Callable[[Names, Binding, Scope], list[tuple[ast.expr, Scope]] | None]

_WAYS: Final = frozenset(  # words that lead to a table of a module's names, or make a module or code of a text
    {
        "__builtins__", "__getattribute__", "__globals__", "__main__", "__self__", "_getframe", "builtins",
        "exec_module", "f_globals", "f_locals", "func_globals", "get_code", "get_objects", "get_referrers", "getmodule",
        "globals", "load_module", "load_source", "module_from_spec", "resolve_name", "run_module", "run_path", "runpy",
        # what finds an object by a dotted name, and what a copy or a format asks for by one
        "EntryPoint", "_importer", "_resolve", "dottedname", "entry_points", "get_field", "import_by_path",
        "import_class", "import_from_string", "import_object", "import_string", "load_object", "locate", "rlcompleter",
        "symbol_by_name", "__reduce__", "__reduce_ex__",
    }
)  # fmt: skip
_NAMED: Final = frozenset(  # ways that need no import, some of them methods of many objects as well
    {"__builtins__", "compile", "eval", "exec", "execfile", "globals"}
)
_CALLED: Final = frozenset({"locals", "vars", "getattr", "attrgetter", "methodcaller", "__import__", "import_module"})
_CHOOSERS: Final = {"builtins.getattr": 1, "operator.attrgetter": 0, "operator.methodcaller": 0}
_HOLDERS: Final = frozenset({"sys", "importlib", "inspect", "gc", "pkgutil", "operator"})
_IMPORTERS: Final = frozenset({"builtins.__import__", "importlib.import_module", "importlib.__import__"})
_OPTIONS: Final = "argparse."  # what it answers holds the values of options, and no module


def are_calls_written(names: Names, source: Source, arguments: Arguments) -> bool:
    """True when each call of a function of `source` stands in the program under the function's own name.

    `arguments` tells what is passed for a parameter. That a first call is hidden takes a way that is written down, so
    what is passed may be believed while the ways are looked for.
    """
    if source.written is None:
        source.written = True
        own = source.parts[-1] if source.parts else ""
        source.written = all(own not in name.split(".") for name in source.found.imports) and all(
            _is_plain(names, each, arguments)
            and all(_File(names, each, arguments).imports_other(*of, own) for of in each.chosen)
            for each in names.program.sources
        )
    return source.written


def _is_plain(names: Names, source: Source, arguments: Arguments) -> bool:
    if source.plain is None:
        source.plain = True
        source.plain = _File(names, source, arguments).is_plain()
    return source.plain


class _File:
    """One file of the program, asked whether it holds a module of it as a value."""

    def __init__(self, names: Names, source: Source, arguments: Arguments) -> None:
        self._names = names
        self._source = source
        self._arguments = arguments

    def is_plain(self) -> bool:
        """True for a file that holds none, unless what it imports by a call (`Source.chosen`) is one."""
        found = self._source.found
        nodes = list(ast.walk(found.module.owner))
        self._callees = {id(each.func) for each in nodes if isinstance(each, ast.Call)}
        self._bases = {id(each.value) for each in nodes if isinstance(each, ast.Attribute)}
        self._tested = {id(item) for each in nodes if isinstance(each, ast.Compare) for item in each.comparators}
        imported = [each for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names]
        self._holders = {*_HOLDERS, *(each.asname for each in imported if each.name in _HOLDERS)}
        return all(map(self._is_harmless, nodes)) and all(
            self._chooses_known(call, scope) for call, scope in found.calls
        )

    def _is_harmless(self, node: ast.AST) -> bool:
        """True for a node that is none of the ways by its own words."""
        if isinstance(node, ast.alias):
            return _WAYS.isdisjoint(node.name.split(".")) and node.name != "modules"
        if isinstance(node, ast.ImportFrom):
            return _WAYS.isdisjoint((node.module or "").split("."))
        if isinstance(node, ast.FunctionDef):
            return node.name not in _WAYS
        if isinstance(node, ast.Attribute):
            held = node.attr in _HOLDERS and id(node) not in self._bases
            modules = node.attr == "modules" and _last(node.value) in self._holders and id(node) not in self._tested
            return not held and not modules and node.attr not in _WAYS
        if not isinstance(node, ast.Name):
            return True
        if node.id in _CALLED:
            return id(node) in self._callees
        held = node.id in self._holders and id(node) not in self._bases
        return not held and node.id not in _NAMED

    def _chooses_known(self, call: ast.Call, scope: Scope) -> bool:
        """True for a call that picks no attribute and imports no module by a name that the file does not tell."""
        resolved = self._names.resolve(call.func, scope)
        for name in resolved:
            if name == "builtins.locals" and scope.kind == "module":
                return False
            if name == "builtins.vars" and not (call.args and self._is_options(call.args[0], scope)):
                return False
            if name == "fire.Fire" and not call.args:  # a command line for all that its caller's module holds
                return False
            if name in _CHOOSERS:
                at = _CHOOSERS[name]
                of_options = at > 0 and bool(call.args) and self._is_options(call.args[0], scope)
                chosen = call.args[at:] if not at else call.args[at : at + 1]
                if not of_options and not all(self._is_none_of(each, scope, (*_WAYS, "modules")) for each in chosen):
                    return False
            if name in _IMPORTERS:
                self._source.chosen += [(each, scope) for each in call.args[:1]]
        code = table("python")["code"]
        return not any(name in code for name in resolved)

    def _is_options(self, node: ast.expr, scope: Scope) -> bool:
        names = self._names.resolve(node, scope)
        return bool(names) and all(name.startswith(_OPTIONS) for name in names)

    def imports_other(self, node: ast.expr, scope: Scope, own: str) -> bool:
        """True where the name of the module that is imported is told, and is not `own`."""
        words = (*_WAYS, own)
        bound = scope.lookup(node.id) if isinstance(node, ast.Name) else None
        if bound is not None and [each.kind for each in bound[1]] == ["param"]:
            given = self._arguments(self._names, bound[1][0], bound[0])
            return given is not None and all(self._is_none_of(each, home, words) for each, home in given)
        return self._is_none_of(node, scope, words)

    def _is_none_of(self, node: ast.expr, scope: Scope, words: Iterable[str]) -> bool:
        """True for a text that has none of `words` among its parts, as far as it is told: ``"do_" + name``."""
        value = self._shaped(node, scope)
        texts = [each for each in alternatives(value) if isinstance(each, str)]
        whole = not isinstance(value, Unknown) and (not isinstance(value, OneOf) or value.complete or HOLE in texts)
        return bool(texts) and whole and not any(map(_may_be, texts, [tuple(words)] * len(texts)))

    def _shaped(self, node: ast.expr, scope: Scope) -> Value:
        return self._names.folder.shaped(node, scope) if self._names.folder is not None else UNKNOWN


def _may_be(text: str, words: tuple[str, ...]) -> bool:
    """Whether `text`, with holes where it is not told, may name one of `words`."""
    known, hole, _ = text.partition(HOLE)
    if not hole:
        return not set(words).isdisjoint(text.split("."))
    *_, last = known.split(".")
    return "." in text or any(word.startswith(last) for word in words)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""

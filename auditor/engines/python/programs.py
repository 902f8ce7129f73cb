"""Whether a list of arguments starts a program that runs what came from the network, whoever puts the list together."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from skillkeep.auditor.engines.python.callers import arguments_for, functions_of
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.inputs import is_interpreter, is_written
from skillkeep.auditor.engines.python.scopes import Binding, Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import alternatives, is_whole
from skillkeep.auditor.engines.tables import table

__all__ = ["runs_fetched"]

_MOST: Final = 64
_COPIES: Final = frozenset({"list", "tuple"})
_QUIET: Final = frozenset({"-u", "-B", "-E", "-I", "-s", "-S", "-O", "-OO"})  # options of Python before its script
_SHIFTING: Final = ("insert", "pop", "reverse", "sort", "remove", "clear", "__setitem__", "__imul__")
_PLACING: Final = frozenset({"builtins.str", "pathlib.Path", "os.fspath", "os.path.abspath", "os.path.realpath"})
_RESOLVING: Final = frozenset({"resolve", "absolute", "as_posix"})
_SCRIPTS: Final = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".rb", ".pl", ".php")

Place = tuple[ast.expr, Scope]
Listed = list[Place]


def runs_fetched(site: Site, flow: Flow, argument: ast.expr | None, scope: Scope) -> bool:
    """False when each list that `argument` may be is seen, and what was fetched is only data to its program.

    Also when not all of them are seen, and nothing that was fetched goes into the argument.
    """
    lists = _Lists(site).of(argument, scope, set()) if argument is not None else None
    if not lists:
        return "download" in flow.labels(argument, scope)
    return not all(_is_data(site, flow, each) for each in lists)


class _Lists:
    """The lists of arguments that an expression may be: by a name, with more added, as a parameter of every caller."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def of(self, node: ast.expr, scope: Scope, seen: set[int]) -> list[Listed] | None:
        """Their elements, more of unknown number under a star; None when not all of the lists are seen."""
        if isinstance(node, ast.List | ast.Tuple):
            return [[(each, scope) for each in node.elts]]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _followed(self.of(node.left, scope, seen), [(_star(node.right), scope)])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _COPIES:
            return self.of(node.args[0], scope, seen) if len(node.args) == 1 and not node.keywords else None
        if isinstance(node, ast.Call):
            return self._answered(node, scope, seen)
        bound = scope.lookup(node.id) if isinstance(node, ast.Name) else None
        if bound is None or not isinstance(node, ast.Name) or self._is_shifted(node.id, bound[0]):
            return None
        found: list[Listed] = []
        added = [(_star(each), home) for _, each, home in bound[0].fed.get(node.id, ())]
        for item in bound[1]:
            if id(item) in seen:
                continue  # the same ones again
            seen.add(id(item))
            if item.kind == "augment" and isinstance(item.node, ast.expr):
                added.append((_star(item.node), bound[0]))
                continue
            given = self._given(item, bound[0])
            if given is None:
                return None
            inner = [self.of(each, home, seen) for each, home in given[:_MOST]]
            if not inner or len(given) > _MOST or len(seen) > _MOST or None in inner:
                return None
            found += [each for lists in inner for each in lists or ()]
        return _followed(found, added)

    def _given(self, binding: Binding, home: Scope) -> list[Place] | None:
        """What a name stands for: by its callers, by what is set, by the lists that a loop takes in turn."""
        if binding.kind == "param":
            return list(arguments_for(self._site.names, binding, home))
        if binding.kind == "value" and isinstance(binding.node, ast.expr):
            return [(binding.node, home)]
        if binding.kind == "element" and isinstance(binding.node, ast.List | ast.Tuple):
            return [(each, home) for each in binding.node.elts]
        return None

    def _answered(self, node: ast.Call, scope: Scope, seen: set[int]) -> list[Listed] | None:
        """The lists that a function of the program gives."""
        found: list[Listed] = []
        functions = list(functions_of(self._site.names, node.func, scope))
        for inner in functions:
            if inner is None:
                return None
            if id(inner) in seen:
                continue  # the same ones again
            seen.add(id(inner))
            for each in inner.returns[:_MOST]:
                lists = self.of(each, inner, seen)
                if lists is None:
                    return None
                found += lists
        return found if functions else None

    def _is_shifted(self, name: str, home: Scope) -> bool:
        """True where something is put before or into what a list already has, or its order is changed."""
        callers = self._site.names.found(home).callers
        calls = (call.func for method in _SHIFTING for call, _ in callers.get(method, ()))
        holders = (each.value for each in calls if isinstance(each, ast.Attribute))
        return any(part.startswith("[") for part, _, _ in home.fed.get(name, ())) or any(
            isinstance(each, ast.Name) and each.id == name for each in holders
        )


def _star(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Starred(node, ast.Load()), node)


def _followed(lists: list[Listed] | None, more: Listed) -> list[Listed] | None:
    return [[*each, *more] for each in lists] if lists is not None else None


def _is_data(site: Site, flow: Flow, listed: Listed) -> bool:
    """True when nothing that was fetched is the program of these arguments, its script, or an option that runs it."""

    def fetched(place: Place) -> bool:
        return "download" in flow.labels(*place)

    if not listed or isinstance(listed[0][0], ast.Starred):
        return not any(map(fetched, listed))
    (first, home), rest = listed[0], listed[1:]
    value = site.fold(first, home)
    names = [name for name in alternatives(value) if isinstance(name, str)] if is_whole(value) else []
    if (not names and fetched(listed[0])) or is_written(flow, first, home):
        return False
    if is_interpreter(site, first, home):
        return _is_script(site, flow, rest, fetched)
    words = table("shell")
    ends = [name.rpartition("/")[2] for name in names]
    told = bool(ends) and not any(end in words[kind] for end in ends for kind in ("interpreters", "prefixes"))
    return told or not any(map(fetched, rest))


def _is_script(site: Site, flow: Flow, rest: Listed, fetched: Callable[[Place], bool]) -> bool:
    """True for arguments of an interpreter that begin with a script of the tool's own, or hold nothing fetched."""
    at = next((at for at, (each, _) in enumerate(rest) if not _is_quiet(each)), len(rest))
    if at < len(rest) and is_written(flow, *rest[at]):
        return False
    if at < len(rest) and _is_this_file(site, *rest[at]):
        return True
    if at < len(rest) and not isinstance(rest[at][0], ast.Starred) and not fetched(rest[at]):
        value = site.fold(*rest[at])
        texts = list(alternatives(value))
        told = is_whole(value) or _is_joined(site, *rest[at])
        named = all(isinstance(each, str) and each.endswith(_SCRIPTS) and each[0] != "-" for each in texts)
        if texts and told and named:
            return True
    return not any(map(fetched, rest))


def _is_this_file(site: Site, node: ast.expr, scope: Scope) -> bool:
    """True for ``str(Path(__file__).resolve())``."""
    while isinstance(node, ast.Call):
        plain = site.names.resolve(node.func, scope)
        if len(node.args) == 1 and not node.keywords and not _PLACING.isdisjoint(plain):
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _RESOLVING and not node.args:
            node = node.func.value
        else:
            return False
    return isinstance(node, ast.Name) and node.id == "__file__" and scope.lookup(node.id) is None


def _is_joined(site: Site, node: ast.expr, scope: Scope) -> bool:
    """True for a path below a folder, which is no option, whatever its last part is."""
    bound = scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if bound is not None and len(bound[1]) == 1 and bound[1][0].kind == "value":
        inner = bound[1][0].node
        return not isinstance(inner, ast.Name) and isinstance(inner, ast.expr) and _is_joined(site, inner, bound[0])
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div)
    if not isinstance(node, ast.Call):
        return False
    names = site.names.resolve(node.func, scope)
    if names == ("builtins.str",) and len(node.args) == 1:
        return _is_joined(site, node.args[0], scope)
    return names == ("os.path.join",) and len(node.args) > 1


def _is_quiet(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in _QUIET

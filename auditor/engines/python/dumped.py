"""Files that a program has pickled itself: what it loads from them is what it put there."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator
from typing import Final

from skillkeep.auditor.engines.interface import Context, SourceTree
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import UNKNOWN, Value, texts_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Location

__all__ = ["LOADS", "filled_elsewhere", "is_own_dump"]

LOADS: Final = "loads"
"""Under this name: where the files that a program dumps itself are loaded, among what the engine notes for the tree."""

Load = tuple[Location, frozenset[str]]  # and what the file is called

_BRINGS: Final = (
    r"curl|wget|aria2c|http|xh|scp|rsync|rclone|gdown|aws|gsutil|gh|hf|huggingface-cli|cp|mv|ln|dd|tee|unzip|tar"
)
_DUMPS: Final = frozenset(f"{module}.dump" for module in ("pickle", "dill", "cloudpickle"))
_OPENING: Final = frozenset({"builtins.open", "io.open"})
_TELLING: Final = frozenset(  # calls that put nothing into a file that they are told
    {
        "Path", "PosixPath", "abspath", "basename", "chmod", "debug", "dirname", "error", "exists", "expanduser",
        "getmtime", "getsize", "info", "isfile", "is_file", "join", "makedirs", "mkdir", "open", "print", "relpath",
        "remove", "stat", "str", "unlink", "warning",
    }
)  # fmt: skip


def is_own_dump(site: Site, argument: ast.expr | None, scope: Scope) -> bool:
    """True for a file that code of the same program dumps, and into which nothing else of it puts anything.

    The program opens it for reading and for writing by one name. What nothing calls dumps nothing that is loaded.
    """
    loaded = dict(_opened(site, argument, scope, "rb"))
    nodes = list(ast.walk(site.found.module.owner))
    used = {each.id for each in nodes if isinstance(each, ast.Name)}
    used |= {each.attr for each in nodes if isinstance(each, ast.Attribute)}
    used |= set(_functions(scope))  # as much as what loads it
    never = {id(each) for node in nodes if (body := _never(node)) for part in body for each in ast.walk(part)}
    dumped = {
        name
        for call, home in site.found.calls
        if len(call.args) > 1 and id(call) not in never and used.issuperset(_functions(home))
        if not _DUMPS.isdisjoint(site.names.resolve(call.func, home))
        for name, _ in _opened(site, call.args[1], home, "wb")
    }
    if not loaded or not loaded.keys() <= dumped:
        return False
    files = {text.rpartition("/")[2] for value in loaded.values() for text in texts_of(value)} - {""}
    if any(_fills(site, call, home, loaded.keys(), files) for call, home in site.found.calls):
        return False
    loads: list[Load] = site.emit.notes.setdefault(LOADS, [])
    loads.append((site.at(argument or site.found.module.owner), frozenset(files)))
    return True


def filled_elsewhere(tree: SourceTree, loads: Iterable[Load]) -> Iterator[tuple[Location, str]]:
    """The `loads` of files that a command of a page or a script of `tree` fetches or copies to, and that command."""
    for at, files in loads:
        named = "|".join(map(re.escape, sorted(files))) or r"(?!)"
        told = re.compile(rf"\b(?:{_BRINGS})\b[^\n]{{0,300}}(?<![\w-])(?:{named})(?![\w-])[^\n]{{0,100}}")
        for file in tree.files:
            for segment in file.of(Context.SHELL):
                if (found := told.search(segment.text)) is not None:
                    yield at, found[0].strip()[:200]


def _never(node: ast.AST) -> list[ast.stmt]:
    """What stands below ``if False``."""
    never = isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Constant) and not node.test.value
    return node.body if never and isinstance(node, ast.If | ast.While) else []


def _functions(scope: Scope | None) -> Iterator[str]:
    """The names of the functions around a call, but those that Python calls."""
    while scope is not None:
        if isinstance(owner := scope.owner, ast.FunctionDef | ast.AsyncFunctionDef) and not owner.name.startswith("__"):
            yield owner.name
        scope = scope.parent


def _opened(site: Site, file: ast.expr | None, scope: Scope, mode: str) -> Iterator[tuple[str, Value]]:
    """How the names are spelled by which `file` was opened in `mode`, and what they say; none may be something else."""
    bound = scope.lookup(file.id) if isinstance(file, ast.Name) else None
    for node in [each.node for each in bound[1]] if bound else [file]:
        home = bound[0] if bound else scope
        if not isinstance(node, ast.Call) or _OPENING.isdisjoint(site.names.resolve(node.func, home)):
            yield "", UNKNOWN
        elif node.args and mode in texts_of(site.fold(site.argument(node, [1, "mode"]), home)):
            yield ast.unparse(node.args[0]), site.fold(node.args[0], home)


def _fills(site: Site, call: ast.Call, scope: Scope, names: Container[str], files: Iterable[str]) -> bool:
    """Whether `call` may put something else into one of `files`, or what is spelled as one of `names`."""
    callee = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = [*call.args, *(each.value for each in call.keywords)]
    inner = [each for item in given for each in (item.elts if isinstance(item, ast.List | ast.Tuple) else (item,))]
    if callee not in _TELLING and any(ast.unparse(each) in names for each in inner):
        return True
    sinks = table("python")
    if not any(name in sinks["process"] or name in sinks["shell"] for name in site.names.resolve(call.func, scope)):
        return False
    return any(file in text for each in inner for text in texts_of(site.fold(each, scope)) for file in files)

"""Clients that have nothing to send but their own arguments: what a tool of one such program sends is what it was told.

Every name and every step of the program is one of a short list: it opens no file, asks for no variable, starts nothing
and reads no input, so that the texts of its command line are all that it holds. Whatever is not on the list is more.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.interface import SourceTree

__all__ = ["is_plain_client"]

_LONGEST: Final = 20_000
_REQUESTS: Final = frozenset(
    {"get", "post", "put", "patch", "exceptions", "RequestException", "HTTPError", "ConnectionError", "Timeout"}
)
_PARTS: Final = {  # of a module: what reaches nothing of the machine, and no other module
    "requests": _REQUESTS,
    "json": frozenset({"dumps", "loads", "JSONDecodeError"}),
    "sys": frozenset({"argv", "exit", "stderr", "stdout"}),
    "argparse": frozenset({"ArgumentParser", "RawDescriptionHelpFormatter", "RawTextHelpFormatter"}),
    "time": frozenset({"sleep", "time", "strftime"}),
    "math": frozenset({"ceil", "floor", "sqrt", "pi"}),
    "typing": frozenset({"Any", "Dict", "List", "Optional", "Union", "Tuple"}),
    "datetime": frozenset({"datetime", "date", "timedelta"}),
    "__future__": frozenset({"annotations"}),
}
_BUILTINS: Final = frozenset(
    {
        "print", "len", "str", "int", "float", "bool", "dict", "list", "tuple", "set", "range", "enumerate", "zip",
        "sorted", "min", "max", "sum", "any", "all", "isinstance", "round", "abs", "Exception", "ValueError",
        "KeyError", "TypeError", "IndexError", "RuntimeError", "SystemExit", "KeyboardInterrupt", "exit", "__name__",
    }
)  # fmt: skip
_STEPS: Final = frozenset({"format", "format_map", "adapters", "mount", "hooks", "connection", "raw"})
_FRAMES: Final = ("_", "f_", "gi_", "cr_", "ag_", "tb_", "func_")
_FILES: Final = frozenset({"fromfile_prefix_chars", "cert", "files", "hooks"})
_FOUND: Final = re.compile(r"\$\(|\bxargs\b|-exec\b")  # what a page has a shell put into a command
_PRIVATE: Final = re.compile(  # what an agent may be told to pass on
    r"(?i)pass(?:word|phrase|wd|code)|secret|token|credential|private|mnemonic|seed|wallet|cookie|api[_-]?key|history"
    r"|conversation|transcript|chat|session|memor|prompt|clipboard|e-?mail|phone|(?:user|open|device|machine)_?id|identity"
    r"|context|environ|\bkeys?\b|\blogs?\b|\bfiles\b|\bpath\b"
)


def is_plain_client(tree: SourceTree, path: str) -> bool:
    """True for the only program of `tree`, when it has nothing but its arguments and no argument is for a secret."""
    programs = [file for file in tree.files if file.is_program]
    if len(programs) != 1 or programs[0].path != path or not path.endswith(".py"):
        return False
    text = programs[0].text
    if text is None or len(text) > _LONGEST or _PRIVATE.search(text) is not None:
        return False
    pages = (file.text for file in tree.files if file.text is not None and file.path != path)
    if any(_is_given_more(page, path.rpartition("/")[2]) for page in pages):
        return False
    try:
        return _is_plain(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _is_given_more(page: str, called: str) -> bool:
    """True for a page that may have the program called with what a shell finds on the machine."""
    given = re.compile(rf"{re.escape(called)}[^\n]*(?:\$|[\"'= ]`(?=\w))|\$[^\n]*{re.escape(called)}")
    return called in page and (_FOUND.search(page) is not None or given.search(page) is not None)


def _is_plain(tree: ast.Module) -> bool:
    nodes = list(ast.walk(tree))
    modules = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    own = set(_bound(nodes))
    if not modules <= _PARTS.keys() or not own.isdisjoint({*modules, *_BUILTINS}):
        return False
    own |= {name for node in nodes if isinstance(node, ast.ImportFrom) for name in _taken(node)}
    held = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    return all(_is_harmless(node, modules, own, held) for node in nodes)


def _is_harmless(node: ast.AST, modules: set[str], own: set[str], held: set[int]) -> bool:
    if isinstance(node, ast.alias):
        return node.asname is None and node.name != "*"
    if isinstance(node, ast.ImportFrom):
        return not node.level and {each.name for each in node.names} <= _PARTS.get(node.module or "", frozenset())
    if isinstance(node, ast.Name):
        return id(node) in held if node.id in modules else node.id in own or node.id in _BUILTINS
    if isinstance(node, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node.value, ast.Name) and node.value.id in modules:
            return node.attr in _PARTS[node.value.id]
        return node.attr not in _STEPS and not node.attr.startswith(_FRAMES)
    if isinstance(node, ast.keyword):
        return node.arg is not None and node.arg not in _FILES
    if isinstance(node, ast.Call) and "ArgumentParser" in ast.unparse(node.func):
        return not node.args
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return "__" not in node.value or node.value == "__main__"
    return not isinstance(node, ast.ClassDef | ast.Global | ast.Nonlocal | ast.Delete | ast.Match)


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """The names that the program gives to things of its own."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler) and node.name is not None:
            yield node.name


def _taken(node: ast.ImportFrom) -> Iterator[str]:
    return (each.name for each in node.names)

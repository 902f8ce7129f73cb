"""What a program's files hold: data written to a path, found again by whoever reads or starts that path."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import Final

from skillkeep.auditor.engines.publishing import is_below
from skillkeep.auditor.engines.python.callers import arguments_for
from skillkeep.auditor.engines.python.folding import Folder
from skillkeep.auditor.engines.python.scopes import Binding, Scope
from skillkeep.auditor.engines.python.values import HOLE, texts_of

__all__ = ["Contents", "Given"]

_DEEPEST: Final = 8
_MOST_WRITES: Final = 64
_MOST_CALLERS: Final = 4
_WRITING: Final = frozenset({"write", "writelines", "write_text", "write_bytes"})
_SAME: Final = frozenset({"builtins.str", "os.fspath", "pathlib.Path", "os.path.abspath", "os.path.realpath"})
_OPENING: Final = frozenset({"builtins.open", "io.open", "codecs.open", "os.fdopen", "aiofiles.open", "os.open"})
_ALIKE: Final = _SAME | _OPENING
_FETCHING: Final = frozenset({"urllib.request.urlretrieve", "urllib.urlretrieve", "wget.download"})
_FILES: Final = frozenset(  # what makes one file of another: its data are the name of that
    {
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.move",
        "os.rename",
        "os.replace",
        "os.link",
        "os.symlink",
    }
)
_COPYING: Final = frozenset({"shutil.copyfileobj", "os.write", *_FETCHING})
_KEPT: Final = frozenset({"value", "item", "param"})
_METHODS: Final = frozenset({"open", "resolve", "absolute", "expanduser", "as_posix", "__enter__"})
_PARTS: Final = frozenset({"name", "buffer", "file"})

Given = tuple[ast.expr, Scope]


class Contents:
    """The writes of one program, by what tells which file they go to."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._names = folder.names
        self._written: dict[Hashable, list[Given]] | None = None
        self._put: dict[Hashable, list[Given]] | None = None
        self._copied: dict[Hashable, list[Given]] | None = None

    def of(self, path: ast.AST | None, scope: Scope) -> list[Given]:
        """The data that the program writes to the file which `path`, or an open file, stands for."""
        if path is None:
            return []
        if self._written is None:
            self._written = {}
            for target, data, home in self._writes():
                for origin in self._origins(target, home, 0):
                    self._written.setdefault(origin, []).extend((each, home) for each in data)
        if not self._written:
            return []
        return [each for origin in self._origins(path, scope, 0) for each in self._written.get(origin, ())]

    def put(self, path: ast.expr | str, scope: Scope) -> list[Given]:
        """The data that the program writes to a file, constants among them; `path` may be the file's name."""
        if self._put is None:
            self._put = {}
            for target, data, home in self._writes(constant=True):
                for origin in self._origins(target, home, 0):
                    self._put.setdefault(origin, []).extend((each, home) for each in data)
        if not self._put:
            return []
        origins = {path.removeprefix("./")} if isinstance(path, str) else self._origins(path, scope, 0)
        return [each for origin in origins for each in self._put.get(origin, ())]

    def sources(self, path: ast.expr | str, scope: Scope) -> list[Given]:
        """The names of the files that were copied to the file `path`."""
        if self._copied is None:
            self._copied = {}
            for source in self._names.program.sources:
                for call, home in source.found.calls:
                    if len(call.args) > 1 and not _FILES.isdisjoint(self._names.resolve(call.func, home)):
                        for origin in self._origins(call.args[1], home, 0):
                            self._copied.setdefault(origin, []).append((call.args[0], home))
        if not self._copied:
            return []
        origins = {path.removeprefix("./")} if isinstance(path, str) else self._origins(path, scope, 0)
        return [each for origin in origins for each in self._copied.get(origin, ())]

    def below(self, scope: Scope) -> list[Given]:
        """The data in all files below the working folder, and the names of what was copied there."""
        self.put("", scope), self.sources("", scope)
        return [
            each
            for known in (self._put or {}, self._copied or {})
            for origin, given in known.items()
            if isinstance(origin, str) and is_below(origin)
            for each in given
        ]

    def names(self, path: ast.expr, scope: Scope) -> list[str]:
        """The names of the file that an open file stands for."""
        known = {origin for origin in self._origins(path, scope, 0) if isinstance(origin, str)}
        return sorted(known or {text for text in self._paths(path, scope, 0) if not text.endswith(HOLE)})

    def _paths(self, node: ast.AST, scope: Scope, depth: int) -> list[str]:
        """The paths of which a file that was opened is told to be, folders as holes where they are not known."""
        if isinstance(node, ast.Call) and depth < _DEEPEST:
            if node.args and not _OPENING.isdisjoint(self._names.resolve(node.func, scope)):
                return texts_of(self._folder.fold(node.args[0], scope))
            method = node.func if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS else None
            return texts_of(self._folder.fold(method.value, scope)) if method is not None else []
        bound = scope.lookup(node.id) if isinstance(node, ast.Name) and depth < _DEEPEST else None
        if bound is None:
            return []
        home, bindings = bound
        return [
            text for each in bindings[:_MOST_CALLERS] if each.node for text in self._paths(each.node, home, depth + 1)
        ]

    def _writes(self, *, constant: bool = False) -> Iterator[tuple[ast.expr, list[ast.expr], Scope]]:
        """What is written where; what is a `constant` only when that is asked for."""
        count = 0
        for source in self._names.program.sources:
            for call, scope in source.found.calls:
                target, data = self._write(call, scope)
                if target is not None and (constant or any(each.__class__ is not ast.Constant for each in data)):
                    count += 1
                    yield target, data, scope
                if count >= _MOST_WRITES:
                    return

    def _write(self, call: ast.Call, scope: Scope) -> tuple[ast.expr | None, list[ast.expr]]:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in _WRITING:
            return function.value, call.args
        if isinstance(function, ast.Name) and function.id == "print":
            return next((each.value for each in call.keywords if each.arg == "file"), None), call.args
        if len(call.args) > 1 and not _COPYING.isdisjoint(names := self._names.resolve(function, scope)):
            first, second = call.args[:2]
            if not _FETCHING.isdisjoint(names):
                return second, [call]
            return (first, [second]) if "os.write" in names else (second, [first])
        return None, []

    def _origins(self, node: ast.AST, scope: Scope, depth: int) -> set[Hashable]:
        """What tells that two expressions stand for one file: its text, or where its name was made."""
        if depth > _DEEPEST:
            return set()
        text = self._folder.fold(node, scope) if isinstance(node, ast.expr) else None
        if isinstance(text, str) and text and HOLE not in text:
            return {text.removeprefix("./")}
        if isinstance(node, ast.Call):
            return self._of_call(node, scope, depth)
        if isinstance(node, ast.JoinedStr):
            return {_spelled(node, scope)}
        if (
            isinstance(node, ast.Attribute)
            and node.attr in _PARTS
            and (made := self._origins(node.value, scope, depth + 1))
        ):
            return made
        if isinstance(node, ast.Attribute):
            return self._of_bindings(node.attr, self._names.found(scope).attributes.get(node.attr, ()), depth)
        if isinstance(node, ast.Name) and (bound := scope.lookup(node.id)):
            pairs = [(each, bound[0]) for each in bound[1]]
            return self._of_bindings(node.id, pairs, depth) or {(id(bound[0]), node.id)}
        return set()

    def _of_call(self, node: ast.Call, scope: Scope, depth: int) -> set[Hashable]:
        names = self._names.resolve(node.func, scope)
        if node.args and not _ALIKE.isdisjoint(names):
            return self._origins(node.args[0], scope, depth + 1)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return self._origins(node.func.value, scope, depth + 1)
        return {id(node)} if any(name.startswith("tempfile.") for name in names) else set()

    def _of_bindings(self, name: str, pairs: list[tuple[Binding, Scope]] | tuple[()], depth: int) -> set[Hashable]:
        found: set[Hashable] = set()
        for binding, home in [pair for pair in pairs if pair[0].kind in _KEPT][:_MOST_CALLERS]:
            if binding.kind == "item":
                found.add(id(binding.node))
            elif binding.kind == "param":
                for given, scope in arguments_for(self._names, binding, home)[:_MOST_CALLERS]:
                    found |= self._origins(given, scope, depth + 1)
            elif binding.node is not None:
                found |= self._origins(binding.node, home, depth + 1) or {(id(home), name)}
        return found


def _spelled(node: ast.JoinedStr, scope: Scope) -> Hashable:
    """How a text with unknown parts is written, and what its names belong to: the same one is the same file."""
    bound = [scope.lookup(each.id) for each in ast.walk(node) if isinstance(each, ast.Name)]
    return (ast.dump(node), *(id(each[0]) if each else 0 for each in bound))

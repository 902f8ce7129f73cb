"""A small taint inside one program: which secrets, downloads and decoders an expression depends on.

Each name is summarised once: the labels its values carry themselves, and the names they mention. A question then
walks that graph, so its cost is the number of names in reach. It is followed through assignments, attributes, what is
put into lists, dictionaries and objects, calls of the program's own functions and their parameters. Labels:
``secret:<what>``, ``connection:<variable>`` (the text that opens a store), ``environment`` (all of it), ``download``,
``decoded``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from skillkeep.auditor.engines.python.callers import arguments_for
from skillkeep.auditor.engines.python.contents import Contents
from skillkeep.auditor.engines.python.folding import Folder
from skillkeep.auditor.engines.python.functions import DECODERS
from skillkeep.auditor.engines.python.parts import part_of
from skillkeep.auditor.engines.python.scopes import CHOSEN, RAISED, Binding, Scope
from skillkeep.auditor.engines.python.values import alternatives, is_whole, texts_of
from skillkeep.auditor.engines.tables import secrets, table

__all__ = ["Flow", "secret_labels"]

_NODES: Final = 200_000
_REACH: Final = 5_000
_MOST_SHARES: Final = 3
_WORD: Final = 3  # letters: of shorter texts a program could be put together
_MOST_CHOICES: Final = 64
_DEEPEST: Final = 3  # files whose content comes from files
_RETURNS: Final = "<returns>"
_PLAIN: Final = (ast.Constant, ast.Lambda, ast.Compare)  # a comparison tells one bit
_ASKING: Final = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request", "stream", "urlopen"})
_PASSED: Final = frozenset({"param", "rest", "more"})

Key = tuple[int, str, str]  # id of a scope, a name in it (`_RETURNS`, or ``.attribute``), and one part of what it holds
Reached = dict[Key, Scope]


@dataclass
class _Summary:
    """What some expressions carry themselves, and the names they mention."""

    labels: set[str] = field(default_factory=set)
    mentions: Reached = field(default_factory=dict)


def secret_labels(labels: frozenset[str]) -> list[str]:
    """What secrets the labels name, in words."""
    return sorted(label.partition(":")[2] for label in labels if label.startswith("secret:"))


@dataclass(frozen=True)
class _Known:
    environment: frozenset[str]
    measures: frozenset[str]
    downloads: tuple[str, ...]
    replies: frozenset[str]  # calls that answer what they fetched


@cache
def _known() -> _Known:
    sinks = table("python")
    downloads = tuple(sinks["download_suffixes"])
    asking = (name for name in sinks["network"] if name.rpartition(".")[2] in _ASKING)
    return _Known(
        frozenset(sinks["environment"]),
        frozenset(sinks["measures"]),
        downloads,
        frozenset(name for name in asking if name.startswith(downloads)),
    )


class Flow:
    """Labels of expressions in one program."""

    def __init__(self, folder: Folder, sinks: dict[str, Any]) -> None:
        self._folder = folder
        self._names = folder.names
        self._program = folder.names.program
        self._table = sinks
        known = _known()
        self._environment, self._measures = known.environment, known.measures
        self._downloads, self._replies = known.downloads, known.replies
        self._memo: dict[Key, _Summary] = {}
        self.contents = Contents(folder)
        self._inside = 0
        self._left = _NODES * min(len(self._program.sources), _MOST_SHARES)

    @property
    def exhausted(self) -> bool:
        """True when the budget of nodes ran out, so that later answers lack labels."""
        return self._left <= 0

    def labels(self, node: ast.AST | None, scope: Scope) -> frozenset[str]:
        """The labels of the value of `node`."""
        if node is None or node.__class__ is ast.Constant:
            return frozenset()
        start = _Summary()
        self._read(node, scope, start)
        found = set(start.labels)
        seen: set[Key] = set(start.mentions)
        queue = list(start.mentions.items())
        while queue and len(seen) < _REACH:
            key, home = queue.pop()
            summary = self._summary(key, home)
            found |= summary.labels
            fresh = [each for each in summary.mentions if each not in seen]
            seen.update(fresh)
            queue.extend((each, summary.mentions[each]) for each in fresh)
        return frozenset(found)

    def _summary(self, key: Key, home: Scope) -> _Summary:
        known = self._memo.get(key)
        if known is not None:
            return known
        summary = self._memo[key] = _Summary()
        _, name, part = key
        if name == _RETURNS:
            for value in home.returns[:256]:
                self._read(value, home, summary)
        elif name.startswith("."):
            stored = self._names.found(home).attributes
            for binding, scope in [*stored.get(name[1:], ())[:4096], *stored.get(CHOSEN, ())[:64]]:
                self._bound(binding, scope, summary, getter=True)
        else:
            for binding in home.bindings.get(name, ())[:4096]:
                self._bound(binding, home, summary)
            for put, node, scope in home.fed.get(name, ())[:4096]:
                if not part or not put or put == "[" or part == "[" or put == part:
                    self._read(node, scope, summary)
        return summary

    def _bound(self, binding: Binding, home: Scope, into: _Summary, *, getter: bool = False) -> None:
        if binding.kind in _PASSED:
            for node, scope in arguments_for(self._names, binding, home):
                self._read(node, scope, into)
        elif binding.kind == "import":
            if binding.name in {"os.environ", "os.environb"}:
                into.labels.add("environment")
            self._members(binding.name, home, into)
        elif binding.kind == "caught":
            into.mentions[id(home.module), f".{RAISED}", ""] = home.module
        elif binding.kind == "define":
            if getter and isinstance(binding.node, ast.FunctionDef) and binding.node.decorator_list:
                self._answers(self._names.inner(binding.node, home), into)
        elif binding.node is not None:
            self._read(binding.node, home, into)

    def _members(self, name: str, scope: Scope, into: _Summary) -> None:
        for member in self._program.target(name, scope):
            into.mentions[id(member.scope), member.name, ""] = member.scope

    def _answers(self, inner: Scope | None, into: _Summary) -> None:
        if inner is not None and inner.kind == "function":
            into.mentions[id(inner), _RETURNS, ""] = inner

    def _read(self, root: ast.AST, scope: Scope, into: _Summary) -> None:
        """Add what the expression `root` carries and mentions; names are not followed here."""
        stack: list[ast.AST] = [root]
        while stack and self._left > 0:
            node = stack.pop()
            self._left -= 1
            if node.__class__ is ast.Constant:
                continue
            if isinstance(node, ast.Name):
                self._mention(node.id, scope, into)
            elif isinstance(node, ast.Attribute):
                self._attribute(node, scope, into, stack)
            elif isinstance(node, ast.Call):
                if not self._one_variable(node, scope, into):
                    stack.extend(self._called(node, scope, into))
            elif isinstance(node, ast.Subscript):
                if not self._one_variable(node, scope, into):
                    self._part(node, scope, into, stack)
            elif isinstance(node, ast.IfExp):
                stack += (node.body, node.orelse)
            elif not isinstance(node, _PLAIN):
                stack.extend(ast.iter_child_nodes(node))

    def _mention(self, name: str, scope: Scope, into: _Summary, part: str = "") -> None:
        bound = scope.lookup(name)
        if bound is not None:
            into.mentions[id(bound[0]), name, part] = bound[0]
            return
        for star in scope.module.stars:
            self._members(f"{star}.{name}", scope.module, into)

    def _attribute(self, node: ast.Attribute, scope: Scope, into: _Summary, stack: list[ast.AST]) -> None:
        names = self._names.resolve(node, scope)
        if "os.environ" in names or "os.environb" in names:
            into.labels.add("environment")
        for name in names:
            self._members(name, scope, into)
        own = self._names.found(scope).attributes
        if (node.attr in own or CHOSEN in own) and not self._names.resolve(node.value, scope):
            into.mentions[id(scope.module), f".{node.attr}", ""] = scope.module
        if isinstance(node.value, ast.Name):
            self._mention(node.value.id, scope, into, node.attr)
        else:
            stack.append(node.value)

    def _part(self, node: ast.Subscript, scope: Scope, into: _Summary, stack: list[ast.AST]) -> None:
        if "os.environ" in self._names.resolve(node, scope):
            into.labels.add("environment")
        if isinstance(node.value, ast.Name):
            self._mention(node.value.id, scope, into, part_of(node))
        else:
            stack.append(node.value)
        if not _is_choice(self._folder.fold(node.value, scope)):
            stack.append(node.slice)

    def _one_variable(self, node: ast.Call | ast.Subscript, scope: Scope, into: _Summary) -> bool:
        """True when `node` reads one variable of the environment, though its name may go through all of them."""
        if isinstance(node, ast.Subscript):
            chooser = node.slice if "os.environ" in self._names.resolve(node.value, scope) else None
        else:
            callee = self._names.resolve(node.func, scope)
            chooser = node.args[0] if node.args and not self._environment.isdisjoint(callee) else None
        if chooser is None:
            return False
        names = texts_of(self._folder.fold(chooser, scope))
        if not names:
            self._read(chooser, scope, into)
        into.labels.update(f"secret:{name}" for name in names if secrets().variable(name))
        into.labels.update(f"connection:{name}" for name in names if secrets().connection(name))
        return True

    def _called(self, node: ast.Call, scope: Scope, into: _Summary) -> list[ast.AST]:
        """Add what the call itself brings; the parts of it whose labels its answer has too."""
        names = self._names.resolve(node.func, scope)
        sinks, starts = self._table, False
        if names and (self._measures.issuperset(names) or _adds_up(names, node)):
            return []
        if names and self._replies.issuperset(names):  # an answer is not what was sent to get it
            into.labels.add("download")
            return []
        for name in names:
            if name.startswith(self._downloads):
                into.labels.add("download")
            if name in DECODERS:
                into.labels.add("decoded")
            if (where := sinks["read"].get(name)) is not None:
                self._path(argument(node, where), scope, into)
                self._content(argument(node, where), scope, into)
            if name in sinks["credential_calls"]:
                into.labels.add(f"secret:{sinks['credential_calls'][name]}")
            if (where := sinks["shell"].get(name) or sinks["process"].get(name)) is not None:
                starts = True
                self._output(argument(node, where), scope, into)
            if name == "builtins.getattr" and "os.environ" in self._names.resolve(node, scope):
                into.labels.add("environment")
            self._members_called(name, scope, into)
        if isinstance(node.func, ast.Attribute) and node.func.attr in sinks["read_methods"]:
            self._path(node.func.value, scope, into)
            self._content(node.func.value, scope, into)
        for inner in self._functions(node.func, scope, 0):
            self._answers(inner, into)
        given = [item.value for item in node.keywords if not (starts and item.arg in {"env", "cwd"})]
        return [node.func, *node.args, *given]

    def _members_called(self, name: str, scope: Scope, into: _Summary) -> None:
        for member in self._program.target(name, scope):
            found = self._names.found(member.scope)
            named = member.name.startswith(".")
            pairs = found.attributes[member.name[1:]] if named else [
                (each, member.scope) for each in member.scope.bindings.get(member.name, ())
            ]  # fmt: skip
            for binding, home in pairs[:64]:
                self._answers(self._names.inner(binding.node, home), into)

    def _functions(self, node: ast.AST, scope: Scope, depth: int) -> Iterator[Scope | None]:
        """The bodies of the file's own functions that a called expression may be."""
        if depth > 4:
            return
        if isinstance(node, ast.Lambda):
            yield self._names.inner(node, scope)
        elif isinstance(node, ast.Name) and (bound := scope.lookup(node.id)):
            for binding in bound[1][:64]:
                yield from self._defined(binding, bound[0], depth)
                for given, home in arguments_for(self._names, binding, bound[0]) if binding.kind == "param" else ():
                    yield from self._functions(given, home, depth + 1)
        elif isinstance(node, ast.Attribute) and not self._names.resolve(node.value, scope):
            for binding, home in self._names.found(scope).attributes.get(node.attr, ())[:64]:
                yield from self._defined(binding, home, depth)

    def _defined(self, binding: Binding, home: Scope, depth: int) -> Iterator[Scope | None]:
        if binding.kind == "define":
            yield self._names.inner(binding.node, home)
        elif binding.kind == "value" and isinstance(binding.node, ast.Name | ast.Lambda | ast.Attribute):
            yield from self._functions(binding.node, home, depth + 1)

    def _path(self, node: ast.AST | None, scope: Scope, into: _Summary) -> None:
        texts = texts_of(self._folder.fold(node, scope)) if node is not None else []
        into.labels.update(f"secret:{what}" for text in texts if (what := secrets().path(text)))

    def _content(self, path: ast.AST | None, scope: Scope, into: _Summary) -> None:
        """What the program itself has written to the file that it reads."""
        if self._inside < _DEEPEST:
            self._inside += 1
            for node, home in self.contents.of(path, scope)[:64]:
                self._read(node, home, into)
            self._inside -= 1

    def _output(self, node: ast.AST | None, scope: Scope, into: _Summary) -> None:
        """What a program prints: the environment, or the secret file it is given."""
        for value in alternatives(self._folder.fold(node, scope)) if node is not None else ():
            words = [each for each in value if isinstance(each, str)] if isinstance(value, tuple) else []
            words = value.split() if isinstance(value, str) else words
            if words and words[0].rpartition("/")[2] in self._table["environment_programs"]:
                into.labels.add("environment")
            into.labels.update(f"secret:{what}" for word in words if (what := secrets().path(word.strip("'\""))))


def _is_choice(table: Any) -> bool:
    """True for a short table of whole commands that are written down: whoever chooses one writes none of them."""
    rows = table.values() if isinstance(table, dict) else table if isinstance(table, tuple) else ()
    told = [isinstance(row, tuple) or (isinstance(row, str) and len(row) > _WORD) for row in rows]
    return 0 < len(told) <= _MOST_CHOICES and all(told) and is_whole(table)


def argument(call: ast.Call, where: list[int | str]) -> ast.expr | None:
    """The judged argument of `call`: a position first, then keywords. A ``*args`` before it hides it."""
    if not where:
        return None
    position = where[0]
    if isinstance(position, int) and len(call.args) > position:
        before = call.args[: position + 1]
        return before[position] if not any(isinstance(item, ast.Starred) for item in before) else before[0]
    return next((item.value for item in call.keywords if item.arg in where), None)


def _adds_up(names: tuple[str, ...], call: ast.Call) -> bool:
    """True for ``sum(…)`` of one argument: a number, or it fails."""
    return names == ("builtins.sum",) and len(call.args) == 1 and not call.keywords

"""A small taint inside one program: which secrets, downloads and decoders an expression depends on.

Each name is summarised once: the labels its values carry themselves, and the names they mention. A question then
walks that graph, so its cost is the number of names in reach. It is followed through assignments, attributes, what is
put into lists, dictionaries and objects, calls of the program's own functions and their parameters. Labels:
``secret:<what>``, ``connection:<variable>`` (the text that opens a store), ``environment`` (all of it), ``download``,
``decoded``.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Final

from skillkeep.auditor.engines.python.callers import arguments_for, functions_of
from skillkeep.auditor.engines.python.contents import Contents
from skillkeep.auditor.engines.python.derived import Derived
from skillkeep.auditor.engines.python.folding import Folder
from skillkeep.auditor.engines.python.functions import DECODERS
from skillkeep.auditor.engines.python.parts import part_of
from skillkeep.auditor.engines.python.scopes import CHOSEN, RAISED, Binding, Scope
from skillkeep.auditor.engines.python.sources import adds_up, answers, argument, is_choice, known
from skillkeep.auditor.engines.python.values import alternatives, texts_of
from skillkeep.auditor.engines.python.variables import GETTERS, Puts, are_of_copies, copied, is_environment, key_of
from skillkeep.auditor.engines.tables import KEPT_BY_AGENTS, secrets

__all__ = ["Flow", "secret_labels"]

_NODES: Final = 200_000
_REACH: Final = 5_000
_MOST_SHARES: Final = 3
_DEEPEST: Final = 3  # files whose content comes from files
_RETURNS: Final = "<returns>"
_PUT: Final = "<put>"  # what is put into copies of the environment
_PLAIN: Final = (ast.Constant, ast.Lambda, ast.Compare)  # a comparison tells one bit
_KEEPERS: Final = frozenset(
    {"functools.lru_cache", "functools.lru_cache()", "functools.cache", "staticmethod", "builtins.staticmethod"}
)
_KEPT: Final = frozenset({"value", "fed"})
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


class Flow:
    """Labels of expressions in one program."""

    def __init__(self, folder: Folder, sinks: dict[str, Any]) -> None:
        self._folder = folder
        self._names = folder.names
        self._program = folder.names.program
        self._table = sinks
        sources = known()
        self._environment, self._measures = sources.environment, sources.measures
        self._downloads, self._replies, self._spelling = sources.downloads, sources.replies, sources.spelling
        self._memo: dict[Key, _Summary] = {}
        self._others: dict[Key, _Summary] = {}  # the memory of the other way to ask
        self._exact = False  # whether a variable of a copy of the environment is told from all of them
        self._puts: Puts | None = None
        self.contents = Contents(folder)
        self.derived: Derived | None = None  # in a block of a page
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
        found = self._closure(node, scope)
        return self._asked(node, scope, exact=True) if "environment" in found and not self._exact else found

    def _asked(self, node: ast.AST, scope: Scope, *, exact: bool) -> frozenset[str]:
        """The labels of `node`, with or without telling variables of copies apart."""
        if exact is self._exact:
            return self._closure(node, scope)
        self._memo, self._others, self._exact = self._others, self._memo, exact
        try:
            return self._closure(node, scope)
        finally:
            self._memo, self._others, self._exact = self._others, self._memo, not exact

    def _closure(self, node: ast.AST, scope: Scope) -> frozenset[str]:
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
        if (done := self._memo.get(key)) is not None:
            return done
        summary = self._memo[key] = _Summary()
        _, name, part = key
        if name == _PUT:
            self._put_under(part, summary)
        elif name == _RETURNS:
            for value in home.returns[:256]:
                self._read_part(value, home, summary, part)
        elif name.startswith("."):
            stored = self._names.found(home).attributes
            for binding, scope in [*stored.get(name[1:], ())[:4096], *stored.get(CHOSEN, ())[:64]]:
                self._bound(binding, scope, summary, part, getter=True)
        else:
            for binding in home.bindings.get(name, ())[:4096]:
                self._bound(binding, home, summary, part)
            held = part.partition("[")[0]
            for put, node, scope in home.fed.get(name, ())[:4096]:
                if self._exact and put in {"[*", held}:
                    self._read_part(node, scope, summary, part[len(held) :])
                elif not part or not put or put in {"[", "[*"} or part == "[" or put in {part, held}:
                    self._read(node, scope, summary)
        return summary

    def _put_under(self, part: str, into: _Summary) -> None:
        """The whole environment, where something that holds it is put under a key, into whatever it may be."""
        key = key_of(part)
        self._puts = self._puts or Puts(self._names)
        put = self._puts.under(key) if key is not None else ()
        if self._puts.lost or any("environment" in self._asked(node, home, exact=False) for _, node, home in put):
            into.labels.add("environment")

    def _read_part(self, root: ast.AST, scope: Scope, into: _Summary, part: str) -> None:
        """`_read`, but of a copy of the environment only the variable that `part` names."""
        key = key_of(part) if self._exact else None
        if key is None:
            self._read(root, scope, into)
            return
        stack: list[ast.AST] = [root]
        while stack and self._left > 0:
            node = stack.pop()
            self._left -= 1
            parts = copied(self._names, node, scope)
            if is_environment(self._names, node, scope):
                into.labels |= _variable(key)
                into.mentions[id(scope.module), _PUT, part] = scope.module
            elif parts is not None:
                stack += parts[0]
                for each in parts[1]:
                    self._read(each, scope, into)
            elif isinstance(node, ast.Name):
                self._mention(node.id, scope, into, part)
            elif isinstance(node, ast.Attribute):
                holders: list[ast.AST] = []
                self._attribute(node, scope, into, holders, part)
                for each in holders:
                    self._read(each, scope, into)
            elif isinstance(node, ast.Call) and (inner := self._answering(node, scope)) is not None:
                into.mentions[id(inner), _RETURNS, part] = inner
            else:
                self._read(node, scope, into)

    def _answering(self, node: ast.Call, scope: Scope) -> Scope | None:
        """The one function of the program that is called without arguments, and that nothing wraps."""
        found = list(functions_of(self._names, node.func, scope))
        inner = found[0] if len(found) == 1 and not node.args and not node.keywords else None
        owner = inner.owner if inner is not None else None
        if inner is None or not isinstance(owner, ast.FunctionDef):
            return None
        kept = (self._names.resolve(each, inner.parent or scope) for each in owner.decorator_list)
        return inner if all(names and _KEEPERS.issuperset(names) for names in kept) else None

    def _bound(self, binding: Binding, home: Scope, into: _Summary, part: str = "", *, getter: bool = False) -> None:
        if binding.kind in _PASSED:
            for node, scope in arguments_for(self._names, binding, home):
                self._read_part(node, scope, into, part if binding.kind == "param" else "")
        elif binding.kind == "import":
            key = key_of(part) if self._exact else None
            if binding.name == "os.environ" and key is not None:
                into.labels |= _variable(key)
                into.mentions[id(home.module), _PUT, part] = home.module
            elif binding.name in {"os.environ", "os.environb"}:
                into.labels.add("environment")
            self._members(binding.name, home, into, part)
        elif binding.kind == "caught":
            into.mentions[id(home.module), f".{RAISED}", ""] = home.module
        elif binding.kind == "define":
            if getter and isinstance(binding.node, ast.FunctionDef) and binding.node.decorator_list:
                self._answers(self._names.inner(binding.node, home), into)
        elif binding.node is not None:
            joined = binding.kind == "augment" and isinstance(binding.operator, ast.BitOr)
            self._read_part(binding.node, home, into, part if joined or binding.kind in _KEPT else "")

    def _members(self, name: str, scope: Scope, into: _Summary, part: str = "") -> None:
        part = part if self._exact else ""
        for member in self._program.target(name, scope):
            into.mentions[id(member.scope), member.name, part] = member.scope

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
                if not self._one_variable(node, scope, into) and not self._got(node, scope, into):
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

    def _got(self, node: ast.Call, scope: Scope, into: _Summary) -> bool:
        """``thing.get("name")``: what is kept there; True when that is all."""
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in GETTERS or not node.args:
            return False
        key, holder = node.args[0], node.func.value
        names = self._names.resolve(node.func, scope)
        others = tuple(name for name in names if not self._is_kept(name, scope))
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str) or not are_of_copies(others):
            return False
        part = f"[{key.value!r}]"
        if not self._exact or any(True for _ in functions_of(self._names, node.func, scope)):
            if isinstance(holder, ast.Name):
                self._mention(holder.id, scope, into, part)
            return False
        self._read_part(holder, scope, into, part)
        for each in (*node.args[1:], *(item.value for item in node.keywords)):
            self._read(each, scope, into)
        return True

    def _is_kept(self, method: str, scope: Scope) -> bool:
        """True for a method of what another file keeps under a name, when that file tells nothing of the method."""
        return bool(self._program.target(method.rpartition(".")[0], scope)) and not self._program.target(method, scope)

    def _attribute(
        self, node: ast.Attribute, scope: Scope, into: _Summary, stack: list[ast.AST], part: str = ""
    ) -> None:
        names = self._names.resolve(node, scope)
        if self.derived is not None and self.derived.is_public(node, names, scope):
            return
        if "os.environ" in names or "os.environb" in names:
            into.labels.add("environment")
        for name in names:
            self._members(name, scope, into, part)
        own = self._names.found(scope).attributes
        if (node.attr in own or CHOSEN in own) and not self._names.resolve(node.value, scope):
            into.mentions[id(scope.module), f".{node.attr}", part] = scope.module
        if isinstance(node.value, ast.Name):
            self._mention(node.value.id, scope, into, node.attr + part)
        else:
            stack.append(node.value)

    def _part(self, node: ast.Subscript, scope: Scope, into: _Summary, stack: list[ast.AST]) -> None:
        exact = self._exact and key_of(part_of(node)) is not None
        if not exact and "os.environ" in self._names.resolve(node, scope):
            into.labels.add("environment")
        if isinstance(node.value, ast.Name):
            self._mention(node.value.id, scope, into, part_of(node))
        elif exact:
            self._read_part(node.value, scope, into, part_of(node))
        else:
            stack.append(node.value)
        if not is_choice(self._folder.fold(node.value, scope)):
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
        into.labels |= _variable(*names)
        return True

    def _called(self, node: ast.Call, scope: Scope, into: _Summary) -> list[ast.AST]:
        """Add what the call itself brings; the parts of it whose labels its answer has too."""
        names = self._names.resolve(node.func, scope)
        sinks, starts = self._table, False
        if names and (self._measures.issuperset(names) or adds_up(names, node)):
            return []
        if names and self._replies.issuperset(names):  # an answer is not what was sent to get it
            into.labels.add("download")
            return []
        for name in names:
            if name.startswith(self._downloads) and name not in self._spelling:
                into.labels.add("download")
            into.labels.update(("decoded",) if name in DECODERS else ())
            if (where := sinks["read"].get(name)) is not None:
                self._path(node, argument(node, where), scope, into)
                self._content(argument(node, where), scope, into)
            if name in sinks["credential_calls"]:
                into.labels.add(f"secret:{sinks['credential_calls'][name]}")
            if (where := sinks["shell"].get(name) or sinks["process"].get(name)) is not None:
                starts = True
                self._output(argument(node, where), scope, into)
            if name == "builtins.getattr" and "os.environ" in self._names.resolve(node, scope):
                into.labels.add("environment")
            self._members_called(name, scope, into)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in sinks["credential_methods"]:
            into.labels.add(f"secret:{sinks['credential_methods'][method]}")
        if isinstance(node.func, ast.Attribute) and method in sinks["read_methods"]:
            self._path(node, node.func.value, scope, into)
            self._content(node.func.value, scope, into)
        for inner in functions_of(self._names, node.func, scope):
            self._answers(inner, into)
        given = [item.value for item in node.keywords if not (starts and item.arg in {"env", "cwd"})]
        made_on = [] if answers(names, node) and not self._is_stored(names) else [node.func]
        key = self.derived.signs_with(node.func, names, scope) if self.derived is not None else None
        return [*made_on, *(each for at, each in enumerate(node.args) if at != key), *given]

    def _is_stored(self, names: tuple[str, ...]) -> bool:
        """True where a file puts something of its own under a step of the last call in `names`, or under any name."""
        steps = {CHOSEN, *(step for name in names for step in name.rpartition("().")[2].split("."))}
        stored = (source.found.attributes.get(step, ()) for source in self._program.sources for step in steps)
        return any(binding.kind != "define" for each in stored for binding, _ in each)

    def _members_called(self, name: str, scope: Scope, into: _Summary) -> None:
        for member in self._program.target(name, scope):
            found = self._names.found(member.scope)
            named = member.name.startswith(".")
            pairs = found.attributes[member.name[1:]] if named else [
                (each, member.scope) for each in member.scope.bindings.get(member.name, ())
            ]  # fmt: skip
            for binding, home in pairs[:64]:
                self._answers(self._names.inner(binding.node, home), into)

    def _path(self, call: ast.Call, node: ast.AST | None, scope: Scope, into: _Summary) -> None:
        texts = texts_of(self._folder.fold(node, scope)) if node is not None else []
        for what in filter(None, map(secrets().path, texts)):
            taken = self._names.found(scope).taken.get(id(call)) if what in KEPT_BY_AGENTS else None
            into.labels |= {f"secret:{what}"} if taken is None else _variable(*taken)

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


def _variable(*names: str) -> set[str]:
    """The labels of variables of the environment."""
    found = {f"secret:{name}" for name in names if secrets().variable(name)}
    return found | {f"connection:{name}" for name in names if secrets().connection(name)}

"""The modules of one tool together: a secret that one file reads and another one sends is followed across."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.engines.javascript.flow import Flow, variable_labels
from skillkeep.auditor.engines.javascript.program import Program, read_program
from skillkeep.auditor.engines.javascript.resolve import Resolver
from skillkeep.auditor.engines.javascript.scopes import Binding, Scope
from skillkeep.auditor.engines.javascript.stores import Stores
from skillkeep.auditor.engines.javascript.values import UNKNOWN, Value, union
from skillkeep.auditor.engines.javascript.words import modules, running_tables, words
from skillkeep.auditor.engines.network import Host
from skillkeep.auditor.syntax import UnparsedError, parse

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Module", "Tool"]

_DOT: Final = "\x1f"  # stands for a dot in a file's name; see `module_path`
_PLACED: Final = "file:\x1e"  # begins the path of a module by its place in the tree
_ENDINGS: Final = (
    "",
    ".js",
    ".ts",
    ".mjs",
    ".cjs",
    ".tsx",
    ".jsx",
    ".mts",
    ".cts",
    "/index.js",
    "/index.ts",
    "/index.mjs",
    "/index.cjs",
)
_RELATIVE: Final = compiled(r"""(?:\bfrom|\brequire|\bimport)\s*\(?\s*['"`](\.{1,2}(?:/[^'"`\n]{0,300})?)['"`]""")
_ADDRESS: Final = compiled(r"[\"'`](?:https?|wss?)://[\w-]+\.[\w.-]+")
_ASKS: Final = compiled(
    r"\bfetch\(|\baxios\b|\bgot\b|\.(?:request|post|put|patch)\(|\bsendBeacon\(|\bWebSocket\(|\bky\b|\bundici\b"
)
_DEEPEST: Final = 8
_MOST_TEXT: Final = 8 << 20
_CARRIED: Final = ("secret:", "environment", "download")


class Tool:
    """All whole files of JavaScript and TypeScript in a tree, by path."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._modules = {segment.path: Module(segment, self) for segment in segments}
        self._left = _MOST_TEXT
        self.depth = 0

    def connected(self) -> list[Module]:
        """Modules that import another one which carries secrets, downloads, senders or addresses to them."""
        found = []
        for module in self._modules.values():
            imported = [self.find(module.place, name) for name in _RELATIVE.findall(module.segment.text)]
            others = [each for each in imported if each is not None and each is not module]
            asks = _ASKS.search(module.segment.text) is not None
            if any(each.matters or (asks and each.tells_addresses) for each in others):
                found.append(module)
        return found

    def find(self, place: str, name: str) -> Module | None:
        """The module that `name`, imported in the file at `place`, is."""
        base = posixpath.normpath(posixpath.join(posixpath.dirname(place), name))
        stem = base.rpartition(".")[0] if base.endswith((".js", ".mjs", ".cjs", ".jsx")) else ""
        names = [base + ending for ending in _ENDINGS] + [f"{stem}{ending}" for ending in (".ts", ".tsx") if stem]
        return next((self._modules[each] for each in names if each in self._modules), None)

    def placed(self, path: str) -> Module | None:
        """The module at a place in the tree."""
        return self._modules.get(path)

    def put_back(self, name: str) -> frozenset[str]:
        """What any module may put into a variable of the environment, as far as that holds all of it."""
        if self.depth > _DEEPEST:
            return frozenset({"environment"})
        self.depth += 1
        found = frozenset[str]().union(*(module.put_back(name) for module in self._modules.values()))
        self.depth -= 1
        return found & {"environment"}

    def take(self, size: int) -> bool:
        """Take from the text that may be parsed a second time; False when there is no more."""
        self._left -= size
        return self._left >= 0


class Module:
    """One module, read when it is asked about; the surroundings of its own program."""

    def __init__(self, segment: Segment, tool: Tool) -> None:
        self.segment = segment
        self.place = segment.path
        self._tool = tool
        self._labels: dict[str, frozenset[str]] = {}

    @cached_property
    def program(self) -> Program | None:
        """Its tree, or None when it has none."""
        if not self._tool.take(len(self.segment.text)):
            return None
        try:
            return read_program(parse(self.segment.context, self.segment.text))
        except UnparsedError:
            return None

    @cached_property
    def _flow(self) -> Flow | None:
        return Flow(Resolver(self.program, words(), self)) if self.program is not None else None

    @cached_property
    def _stores(self) -> Stores | None:
        return Stores(self._flow.resolver) if self._flow is not None else None

    @cached_property
    def matters(self) -> bool:
        """True when another module gets a secret, a download or a sender from here."""
        if self.program is None or not _worth(self.segment.text):
            return False
        if self._whole:
            return True
        names = [*self.program.exports, *(name for name, _, _ in self.program.forwards)]
        if "*" in names:
            names += list(self.program.properties)[:200]
        return any(self.exported_labels(name) or self.exported_senders(name) or self._hands_out(name) for name in names)

    @cached_property
    def tells_addresses(self) -> bool:
        """True when another module may get an address from here."""
        return _ADDRESS.search(self.segment.text) is not None and bool(self.program and self.program.exports)

    def _hands_out(self, name: str) -> bool:
        """True when the export is a function of the platform that runs or sends something."""
        if self.exported_places(name):
            return True
        return any(path in table for path in self.exported_value(name).paths for table in running_tables())

    # Surroundings of this module's program

    def named(self, path: str) -> str:
        """A module of the tool by its place in the tree; any other as it is written."""
        if not path.startswith("file:") or path.startswith(_PLACED):
            return path
        head, dot, rest = path.partition(".")
        module = self._tool.find(self.place, head.removeprefix("file:").replace(_DOT, "."))
        return f"{_PLACED}{module.place.replace('.', _DOT)}{dot}{rest}" if module is not None else path

    def member(self, path: str) -> Value:
        """What the member is in its own module, as far as that can be said without its tree."""
        found = self._elsewhere(path)
        own = Value(paths=(self.named(path),))
        if found is None or not found[1] or self._tool.depth > _DEEPEST:
            return own
        if len(found[1]) > 1:
            name, below = found[0].variable(found[1]), found[0].kept_below(found[1][0], found[1][1:])
            first, *rest = found[1]
            theirs = [path for path in found[0].exported_value(first).paths if path in modules()]
            handed = (".".join((path, *rest)) for path in theirs)
            return Value((*own.paths, *handed, *([f"process.env.{name}"] if name else ())), below)
        value = found[0].exported_value(found[1][0])
        return Value((*own.paths, *value.paths), value.texts, None, (), (), value.decoded)

    def labels(self, path: str) -> frozenset[str]:
        """What the member carries."""
        found = self._elsewhere(path)
        if found is None or self._tool.depth > _DEEPEST:
            return frozenset()
        if name := found[0].variable(found[1]):
            return variable_labels(name) | self._tool.put_back(name)
        names = [name.removesuffix("()") for name in found[1]] or ["*"]
        return frozenset().union(*(found[0].exported_labels(name) for name in names))

    def senders(self, path: str) -> Mapping[int, str]:
        """What the member sends of its parameters."""
        found = self._elsewhere(path)
        if found is None or self._tool.depth > _DEEPEST:
            return {}
        return found[0].exported_senders(found[1][-1] if found[1] else "*")

    def is_function(self, path: str) -> bool:
        """True when the member is a function and can be nothing else."""
        found = self._elsewhere(path)
        if found is None or len(found[1]) != 1 or found[1][0].endswith("()") or self._tool.depth > _DEEPEST:
            return False
        values = found[0].exported_values(found[1][0])
        return bool(values) and all(value.functions and replace(value, functions=()) == UNKNOWN for value in values)

    def places(self, path: str) -> tuple[Host, ...]:
        """Where the store is of which the member is a method."""
        found = self._elsewhere(path)
        if found is None or not found[1] or self._tool.depth > _DEEPEST:
            return ()
        first = found[1][0].removesuffix("()")
        return found[0].exported_places(first if len(found[1]) > 1 and found[0].exports(first) else "*")

    def _elsewhere(self, path: str) -> tuple[Module, list[str]] | None:
        head, _, rest = self.named(path).partition(".")
        module = self._tool.placed(head.removeprefix(_PLACED).replace(_DOT, ".").removesuffix("()"))
        return (module, rest.split(".") if rest else []) if head.startswith(_PLACED) and module is not None else None

    # What this module gives to others

    def variable(self, members: list[str]) -> str:
        """The variable that ``env.NAME`` or ``load().NAME`` is, empty unless the export is the environment alone."""
        if len(members) < 2 or self._flow is None or not self.exports(members[0].removesuffix("()")):
            return ""
        first, name = members[:2]
        values = self.exported_values(first.removesuffix("()"))
        self._tool.depth += 1
        if first.endswith("()"):
            values = [self._flow.resolver.calls.returned(each) for value in values for each in value.functions]
        self._tool.depth -= 1
        alone = values and all(each.paths and replace(each, paths=()) == UNKNOWN for each in values)
        known = words().environment
        return name if alone and all(path in known for each in values for path in each.paths) else ""

    def put_back(self, name: str) -> frozenset[str]:
        """What this module may put into a variable of the environment."""
        if name not in self.segment.text and "assign" not in self.segment.text and "[" not in self.segment.text:
            return frozenset()
        return self._flow.put_back(name) if self._flow is not None else frozenset()

    def exported_value(self, name: str) -> Value:
        """The qualified names and texts that the export `name` stands for, also where another module has them."""
        found = self.exported_values(name)
        self._tool.depth += 1
        if self._tool.depth <= _DEEPEST:
            found += [module.exported_value(member) for module, member in self._forwarded(name)]
            theirs = tuple(f"{path}.{member}".strip(".") for path, member in self._theirs(name))
            found += [Value(paths=theirs)] if theirs else []
        self._tool.depth -= 1
        return union(found or [UNKNOWN])

    def _theirs(self, name: str) -> Iterable[tuple[str, str]]:
        """What the export `name` is of a module of the platform: its path, and the member that is handed on."""
        for shown, path, member in self.program.forwards if self.program is not None else ():
            if shown == name and not path.startswith("file:"):
                yield path, member
        yield from ((path, name) for path in self._whole if name != "*")

    @cached_property
    def _whole(self) -> tuple[str, ...]:
        """Modules and packages that are handed on with every member: ``module.exports = require("fs")``."""
        forwards = self.program.forwards if self.program is not None else ()
        found = [path for name, path, member in forwards if (name == "*" or not member) and path[:5] != "file:"]
        values = (*self.exported_values("*"), *self.exported_values("default"))
        return (*found, *(path for value in values for path in value.paths if path.partition(".")[0] in modules()))

    def exported_values(self, name: str) -> list[Value]:
        """What each expression that is exported under `name` stands for."""
        flow = self._flow
        if flow is None:
            return []
        self._tool.depth += 1
        try:
            return [flow.resolver.value(node, scope) for node, scope in self._exports(name)]
        finally:
            self._tool.depth -= 1

    def kept_below(self, name: str, keys: list[str]) -> tuple[str, ...]:
        """The texts that stand in the object which is exported as `name`, below these keys."""
        flow = self._flow
        if flow is None or len(keys) > _DEEPEST:
            return ()
        self._tool.depth += 1
        try:
            nodes = self._exports(name)
            for key in keys:
                objects = [each for node, scope in nodes for each in flow.resolver.value(node, scope).objects]
                nodes = [
                    (node, scope)
                    for literal, scope in objects
                    for node in flow.resolver.names.literal(literal, scope).get(key, ())
                ]
            return union([flow.resolver.value(node, scope) for node, scope in nodes] or [UNKNOWN]).texts
        finally:
            self._tool.depth -= 1

    def exported_labels(self, name: str) -> frozenset[str]:
        """The labels of the export `name`, and of what it returns."""
        known = self._labels.get(name)
        flow = self._flow
        if known is not None or flow is None:
            return known or frozenset()
        self._labels[name] = frozenset()  # while it is found out, for modules that import each other
        self._tool.depth += 1
        found: set[str] = set()
        for node, scope in self._exports(name):
            found |= flow.labels(node, scope)
            for function in flow.resolver.value(node, scope).functions:
                found |= flow.returned(function)
        for module, member in self._forwarded(name):
            found |= module.exported_labels(member)
        self._tool.depth -= 1
        self._labels[name] = frozenset(label for label in found if label.startswith(_CARRIED))
        return self._labels[name]

    def exported_senders(self, name: str) -> Mapping[int, str]:
        """The parameters of the exported function `name` that flow into a connection, by number."""
        flow = self._flow
        if flow is None or self._tool.depth > _DEEPEST:
            return {}
        found: dict[int, str] = {}
        self._tool.depth += 1
        for node, scope in self._exports(name):
            for function in flow.resolver.value(node, scope).functions:
                found.update(self._parameters_sent(function))
        for module, member in self._forwarded(name):
            found.update(module.exported_senders(member))
        self._tool.depth -= 1
        return found

    def exports(self, name: str) -> bool:
        """True when something is exported under this name."""
        return bool(self._exports(name))

    def exported_places(self, name: str) -> tuple[Host, ...]:
        """The hosts that are named for the store whose client the export `name` is, or gives."""
        if self._stores is None:
            return ()
        self._tool.depth += 1
        found = [host for node, scope in self._exports(name) for host in self._stores.client(node, scope)]
        self._tool.depth -= 1
        return tuple(dict.fromkeys(found))

    def _parameters_sent(self, function: Scope) -> Iterable[tuple[int, str]]:
        for name, bindings in function.names.items():
            for binding in bindings:
                if binding.kind == "parameter" and (function, name) in self._sent:
                    yield binding.index, self._sent[function, name]

    @cached_property
    def _sent(self) -> dict[tuple[Scope, str], str]:
        """Every name that flows into a connection of this module, and into which."""
        found: dict[tuple[Scope, str], str] = {}
        flow = self._flow
        for node, scope in self.program.calls if self.program is not None and flow is not None else ():
            assert flow is not None
            callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            for path in flow.resolver.value(callee, scope).paths:
                arguments = flow.resolver.arguments(node)
                if path in words().network or path in words().senders or self._puts(node, scope, path):
                    sent = [*arguments]
                else:
                    sent = [arguments[index] for index in self.senders(path) if index < len(arguments)]
                for argument in sent:
                    found.update(dict.fromkeys(flow.reaches(argument, scope), path))
        return found

    def _puts(self, node: Node, scope: Scope, path: str) -> bool:
        return self._stores is not None and bool(self._stores.places(node, scope, path))

    def _exports(self, name: str) -> list[tuple[Node, Scope]]:
        """The expressions that the export `name` stands for: its own, or a key of ``module.exports = {…}``."""
        program, flow = self.program, self._flow
        if program is None or flow is None:
            return []
        bindings: list[Binding] = program.exports.get(name, [])
        found = [(binding.node, binding.scope) for binding in bindings if binding.node is not None]
        if found or name == "*":
            return found
        for binding in program.exports.get("*", []) + program.exports.get("default", []):
            value = flow.resolver.value(binding.node, binding.scope)
            for literal, scope in value.objects:
                keyed = flow.resolver.names.literal(literal, scope)
                found += [(node, scope) for node in keyed.get(name, ())]
        if not found and program.exports:  # a method of an exported class or object
            stored = program.properties.get(name, ())
            found = [(each.node, each.scope) for each in stored if each.node is not None and each.kind == "value"]
        return found

    def _forwarded(self, name: str) -> Iterable[tuple[Module, str]]:
        """``export {a as name} from "./other"`` and ``export * from "./other"``."""
        for shown, path, member in self.program.forwards if self.program is not None else ():
            if shown in {name, "*"} and (found := self._elsewhere(path)) is not None:
                yield found[0], name if shown == "*" else member or "*"


def _worth(text: str) -> bool:
    """False when nothing in the text names a source of secrets or a way out."""
    lowered = text.lower()
    marks = ("env", "read", "http", "fetch", "socket", "net", "dns", "request", "axios", "import", "require", "export")
    return any(mark in lowered for mark in marks)

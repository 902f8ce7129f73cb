"""A small taint inside one JavaScript file: which secrets, downloads and decoders an expression depends on.

Each name, property and function is summarised once: the labels that its values carry themselves, and what else they
mention. A question walks that graph, so its cost is the number of names in reach. It follows assignments, parts put
into lists and objects, calls of the file's functions, their parameters, and functions handed to a call.
Labels: ``secret:<what>``, ``connection:<variable>`` (the text that opens a store), ``environment`` (all of it),
``download``, ``decoded``, ``outside`` (anything that the file itself does not decide), ``stranger`` (what is neither
the file's own nor of its command line).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.javascript.asked import is_told_apart
from skillkeep.auditor.engines.javascript.derived import Derived
from skillkeep.auditor.engines.javascript.resolve import Resolver
from skillkeep.auditor.engines.javascript.scopes import ANY, FUNCTIONS, THROWN, Binding, Scope
from skillkeep.auditor.engines.javascript.taken_in import is_taken_in
from skillkeep.auditor.engines.javascript.texts import HOLE, NUMBERS
from skillkeep.auditor.engines.javascript.values import Value
from skillkeep.auditor.engines.tables import KEPT_AS_SETTINGS, secrets

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Flow", "variable_labels"]

_REACH: Final = 20_000
_RETURNS: Final = "<returns>"
_PUT: Final = "<put>"  # what is put into the environment under names that are not written
_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier"})
_MEMBERS: Final = frozenset({"member_expression", "subscript_expression"})
_CALLS: Final = frozenset({"call_expression", "new_expression"})
_INERT: Final = frozenset({"string", "number", "regex", "type_annotation", "type_arguments", "comment", "class"})
_OWN_MODULES: Final = frozenset({"path", "os", "url", "util", "file"})
_OF_THE_MACHINE: Final = frozenset({"fs", "child_process"})  # what they read or print is labelled apart
_COMMAND_LINE: Final = compiled(r"process\.(?:argv|cwd|platform|execPath|pid)\b")
_LISTING: Final = compiled(r"fs\.(?:promises\.)?readdir(?:Sync)?")  # names of files are no text of a stranger

_UNSEEN: Final = frozenset({"outside", "stranger"})

Key = tuple[Scope, str]


@dataclass
class _Summary:
    """What some expressions carry themselves, and what else they mention, in the order in which they do.

    In which order names are looked up decides what is known of one that leads back to itself.
    """

    labels: set[str] = field(default_factory=set)
    mentions: dict[Key, None] = field(default_factory=dict)


class Flow:
    """Labels of expressions in one file."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._program = resolver.program
        self._words = resolver.words
        self._memo: dict[Key, _Summary] = {}
        self.derived: Derived | None = None  # in a block of a page
        self._taken: dict[int, bool] = {}  # calls by id: whether all that they read becomes the environment

    def labels(self, node: Node | None, scope: Scope) -> frozenset[str]:
        """The labels of the value of `node`, read in `scope`."""
        start = _Summary()
        if node is not None:
            self._read(node, scope, start)
        return self._closure(start)

    def returned(self, function: Scope) -> frozenset[str]:
        """The labels of what a function returns."""
        return self._closure(_Summary(mentions={(function, _RETURNS): None}))

    def put_back(self, name: str) -> frozenset[str]:
        """The labels of what may be put into a variable of the environment, or of a copy of it, after it was read."""
        return self._closure(_Summary(mentions=self._put_into(name)))

    def reaches(self, node: Node, scope: Scope) -> tuple[Key, ...]:
        """Every name and property that the value of `node` depends on."""
        start = _Summary()
        self._read(node, scope, start)
        return tuple(self._walk(start)[1])

    def _closure(self, start: _Summary) -> frozenset[str]:
        return frozenset(self._walk(start)[0])

    def _walk(self, start: _Summary) -> tuple[set[str], dict[Key, None]]:
        found, seen, queue = set(start.labels), dict(start.mentions), list(start.mentions)
        while queue and len(seen) < _REACH and self.resolver.spend(1):
            summary = self._summary(queue.pop())
            found |= summary.labels
            fresh = [key for key in summary.mentions if key not in seen]
            seen |= dict.fromkeys(fresh)
            queue += fresh
        return found, seen

    def _summary(self, key: Key) -> _Summary:
        known = self._memo.get(key)
        if known is not None:
            return known
        summary = self._memo[key] = _Summary()
        home, name = key
        if name == _RETURNS:
            for node in home.returns:
                self._read(node, home, summary)
        elif name == _PUT:
            self._chosen(summary)
        elif name.startswith("."):
            for binding in self._program.properties.get(name[1:], ()):
                self._bound(binding, summary)
        else:
            for binding in home.names.get(name, ()):
                self._bound(binding, summary)
        return summary

    def _put_into(self, name: str) -> dict[Key, None]:
        keys = (f".{name}", _PUT) if name in self._program.properties else (_PUT,)
        return {(self._program.top, key): None for key in keys}

    def _chosen(self, into: _Summary) -> None:
        """``env[name] = value``, ``Object.assign(env, values)``: of these only what holds the whole environment."""
        for home in (self._program.top, *self._program.functions.values()):
            for name, bindings in home.names.items():
                put = [each for each in bindings if each.kind == "part" and each.path == ANY and each.node is not None]
                if put and self._has_variables(name, home):
                    labels = frozenset[str]().union(*(self.labels(each.node, each.scope) for each in put))
                    into.labels |= {"environment"} & labels

    def _has_variables(self, name: str, scope: Scope) -> bool:
        """True for the environment and for a copy of it."""
        names = self.resolver.names
        member = names.member(names.value(name, scope), "?")
        return any(self._words.variable_of(path) is not None for path in member.paths)

    def _bound(self, binding: Binding, into: _Summary) -> None:
        if binding.kind == "import":
            self._imported(".".join((binding.path, *binding.members)), into)
        elif binding.kind == "caught":
            into.mentions[(self._program.top, f".{THROWN}")] = None
        elif binding.kind in {"parameter", "rest"}:
            sources = list(self._arguments(binding))
            for node, scope in sources:
                self._read(node, scope, into)
        elif binding.node is not None and binding.kind != "class" and binding.node.type not in FUNCTIONS:
            if binding.members and self._of_paths(self.resolver.names.binding(binding), into):
                return
            self._read(binding.node, binding.scope, into)

    def _imported(self, path: str, into: _Summary) -> None:
        into.labels |= self.resolver.surroundings.labels(path)
        module = path.partition(".")[0].partition(":")[0]
        if module not in _OWN_MODULES:
            into.labels |= {"outside"} if module in _OF_THE_MACHINE else _UNSEEN

    def _arguments(self, binding: Binding) -> Iterator[tuple[Node, Scope]]:
        """The expressions that may become a parameter; what cannot be seen is marked by the caller's absence."""
        function, names = binding.scope, self.resolver.names
        call = function.call
        if call is not None and function.parent is not None:
            yield from self._around(call, binding, function.parent)
            return
        for site, scope in (names.callers(function) or ([], False))[0]:
            arguments = self.resolver.arguments(site)
            for argument in arguments[binding.index :] if binding.kind == "rest" else arguments[binding.index :][:1]:
                yield argument, scope

    def _around(self, call: Node, binding: Binding, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        """A function handed to a call gets what the call works on: its object and its other arguments."""
        arguments = self.resolver.arguments(call)
        callee = call.child_by_field_name("function")
        if callee is not None and self.resolver.names.is_called(callee, binding.scope):
            arguments = arguments[binding.index :][:1]
        elif callee is not None:
            yield call, scope
            return
        yield from ((argument, scope) for argument in arguments if argument.type not in FUNCTIONS)

    def _read(self, root: Node, scope: Scope, into: _Summary) -> None:
        """Add what the expression `root` carries and mentions; names are not followed here."""
        queue = [root]
        while queue and self.resolver.spend(1):
            node = queue.pop()
            kind = node.type
            if kind in _NAMES:
                self._mention(node, scope, into)
            elif kind in _MEMBERS:
                queue.extend(self._member(node, scope, into))
            elif kind in _CALLS:
                queue.extend(self._called(node, scope, into))
            elif kind == "pair":
                queue.extend(filter(None, (node.child_by_field_name("value"),)))
            elif kind == "this" or (kind == "binary_expression" and self._is_answer(node, scope)):
                into.labels |= _UNSEEN
            elif kind not in _INERT and kind not in FUNCTIONS:
                queue.extend(node.named_children)

    def _is_answer(self, node: Node, scope: Scope) -> bool:
        """``process.env.NAME === "1"``: whether all of a variable is a word that is written there tells one bit."""
        if not is_told_apart(node):
            return False
        sides = [self.resolver.value(node.child_by_field_name(side), scope) for side in ("left", "right")]
        paths = [path for value in sides for path in value.paths if not _COMMAND_LINE.match(path)]
        known = {f"{base}.{self._words.variable_of(path)}" for path in paths for base in self._words.environment}
        return bool(paths) and all(path.removesuffix("()").removesuffix(".toLowerCase") in known for path in paths)

    def _mention(self, node: Node, scope: Scope, into: _Summary) -> None:
        name = self._program.name(node)
        found = scope.lookup(name)
        if found is not None:
            into.mentions[(found[0], name)] = None
            if found[0].node is not None and any(b.kind == "parameter" for b in found[1]):
                self._parameter(found[0], into)
        elif name in self._words.environment:
            into.labels.add("environment")
        elif name not in self._words.builtins:
            into.labels |= _UNSEEN

    def _parameter(self, function: Scope, into: _Summary) -> None:
        """A parameter whose callers are not all in sight may hold anything."""
        if function.call is None:
            callers = self.resolver.names.callers(function)
            if callers is None or not callers[1]:
                into.labels |= _UNSEEN

    def _member(self, node: Node, scope: Scope, into: _Summary) -> list[Node]:
        index = node.child_by_field_name("index")
        value = self.resolver.value(node, scope)
        if self.derived is not None and self.derived.is_public(node, value.paths, scope):
            into.labels |= _UNSEEN
            return []
        if self._of_paths(value, into):
            return [] if index is None else [index]  # a name that goes through all of them reads all of them
        target = node.child_by_field_name("object")
        if target is not None and target.type in {"this", *_NAMES}:
            name = self._program.name(node.child_by_field_name("property") or target)
            stored = index is None and name in self._program.properties
            if stored:
                into.mentions[(self._program.top, f".{name}")] = None
            if target.type == "this":
                if ANY in self._program.properties:
                    into.mentions[(self._program.top, f".{ANY}")] = None
                into.labels |= set() if stored else _UNSEEN
                return []
        return [each for each in (target, index) if each is not None]

    def _of_paths(self, value: Value, into: _Summary) -> bool:
        """Labels of qualified names; True when they say all there is to say."""
        done = False
        for path in value.paths:
            name = self._words.variable_of(path)
            if name is not None:
                into.labels |= {*variable_labels(name), *_UNSEEN}
                into.mentions.update(self._put_into(name))
                done = True
            elif path in self._words.environment:
                into.labels |= {"environment", *_UNSEEN}
                done = True
            elif path.startswith("file:"):
                into.labels |= self.resolver.surroundings.labels(path)
            elif _COMMAND_LINE.match(path):
                into.labels.add("outside")
                done = True
        return done

    def _called(self, node: Node, scope: Scope, into: _Summary) -> list[Node]:
        target = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        value = self.resolver.value(target, scope)
        arguments = self.resolver.arguments(node)
        if any(self._of_call(path, arguments, scope, into) for path in value.paths):
            return []
        if self.derived is not None and not value.functions:
            if self.derived.is_public(target, value.paths, scope):
                return arguments
            if (key := self.derived.signs_with(target, value.paths, scope)) is not None:
                return [each for at, each in enumerate(arguments) if at != key]
        for function in value.functions:
            into.mentions[(function, _RETURNS)] = None
            if (
                target is not None
                and target.type == "identifier"
                and self._program.name(target) in self._words.builtins
            ):
                into.labels |= _UNSEEN  # a ``Number`` of its own only looks as if it made numbers
        rest = [argument for argument in arguments if argument.type not in FUNCTIONS]
        for argument in arguments:
            if (handed := self._program.functions.get(argument.id)) is not None:
                into.mentions[(handed, _RETURNS)] = None
        if target is not None and target.type in _MEMBERS:
            rest.extend(filter(None, (target.child_by_field_name("object"),)))
            self._method(target, value, into)
        elif target is not None and not value.functions:
            rest.extend(() if self._is_known(value) else (target,))
        return rest

    def _is_known(self, value: Value) -> bool:
        """True for a bare name of a function that the table tells all about."""
        tables = (self._words.shell, self._words.process, self._words.harmless, self._words.builtins)
        return bool(value.paths) and all(any(path in table for table in tables) for path in value.paths)

    def _method(self, target: Node, value: Value, into: _Summary) -> None:
        """A method of an object that is not known: any of that name in the file."""
        key = target.child_by_field_name("property")
        if value.functions or key is None:
            return
        for binding in self._program.properties.get(self._program.name(key), ()):
            function = self._program.functions.get(binding.node.id) if binding.node is not None else None
            if function is not None:
                into.mentions[(function, _RETURNS)] = None

    def _of_call(self, path: str, arguments: list[Node], scope: Scope, into: _Summary) -> bool:
        """Labels of a call of a known path; True when its arguments do not matter any more."""
        words = self._words
        if path in words.network:  # an answer is not what was sent to get it
            into.labels |= {"download", *_UNSEEN}
            return True
        if path in NUMBERS:  # a number holds no command and no secret
            return True
        if path in words.decoders:
            into.labels.add("decoded")
        if path.startswith("file:"):
            into.labels |= self.resolver.surroundings.labels(path)
        first = self.resolver.value(arguments[0], scope) if arguments else Value()
        if path in words.read:
            found = {what for text in first.texts if (what := secrets().path(text.replace(HOLE, "")))}
            if KEPT_AS_SETTINGS in found and (given := arguments[0].parent) is not None and given.parent is not None:
                call = given.parent
                if call.id not in self._taken:
                    self._taken[call.id] = is_taken_in(self._program, call, scope)
                found -= {KEPT_AS_SETTINGS} if self._taken[call.id] else set()
            into.labels |= {f"secret:{what}" for what in found} | {"outside"}
            into.labels |= set() if _LISTING.fullmatch(path) else _UNSEEN
        if path in words.credential_calls:
            into.labels |= {f"secret:{words.credential_calls[path]}", *_UNSEEN}
        if path in words.environment_calls:
            into.labels |= {label for name in first.known for label in variable_labels(name)} | _UNSEEN
            return True
        if path in words.shell or path in words.process:
            self._output(first, into)
            if arguments and any(HOLE in text for text in first.texts or (HOLE,)):
                self._read(arguments[0], scope, into)
            return True
        return False

    def _output(self, command: Value, into: _Summary) -> None:
        """What a program of this machine prints is the file's own choice, when the command is."""
        programs = [text.split()[0].rpartition("/")[2] for text in command.texts if text.strip()]
        if not programs or not self._words.local_programs.issuperset(programs):
            into.labels |= _UNSEEN


def variable_labels(name: str) -> frozenset[str]:
    """The labels of a variable of the environment."""
    if secrets().variable(name):
        return frozenset({f"secret:{name}"})
    return frozenset({f"connection:{name}"}) if secrets().connection(name) else frozenset()

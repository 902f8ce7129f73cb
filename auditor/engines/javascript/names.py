"""What a name or a property of a JavaScript file may stand for: all values it is given anywhere in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.inner import inner_nodes, saying
from skillkeep.auditor.engines.javascript.namespaces import Ways
from skillkeep.auditor.engines.javascript.scopes import ANY, INSIDE, Binding, Scope, is_getter
from skillkeep.auditor.engines.javascript.settings import checked_member
from skillkeep.auditor.engines.javascript.values import UNKNOWN, Value, joined, text_value, union

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.resolve import Resolver
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Names"]

_GLOBALS: Final = frozenset({"globalThis", "window", "global", "self", "top", "parent", "frames"})
_GLOBAL_CODE: Final = frozenset({"eval", "Function", "fetch", "require", "process"})
_HOMES: Final = frozenset({"process.env.HOME", "process.env.USERPROFILE", "os.homedir()"})
_IMPORTED: Final = frozenset({"ws", "got", "ky", "request", "needle", "superagent", "execa", "zx", "bun", "undici"})
_MOST_ITEMS: Final = 1024
_EACH: Final = frozenset({"forEach", "map", "filter", "find", "some", "every", "flatMap", "then"})

Key = tuple[Scope, str]


class Names:
    """Names and properties of one program."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._program = resolver.program
        self._memo: dict[Key, Value] = {}
        self._stored: dict[str, Value] = {}
        self._calls: dict[str, dict[Scope | None, tuple[list[tuple[Node, Scope]], bool]]] = {}
        self._ways = Ways(resolver.program)
        self._literals: dict[int, dict[str, list[Node]]] = {}
        self._members: dict[str, Value] = {}
        self._later: dict[str, list[Value]] = {}
        self._open: set[Key | str] = set()
        self.frame: dict[Key, Value] = {}
        self.frame_depth = 1 << 30  # functions nested deeper than this depend on the frame

    def value(self, name: str, scope: Scope) -> Value:
        """What `name`, read in `scope`, may stand for."""
        found = scope.lookup(name)
        if found is None:
            return UNKNOWN if name in _IMPORTED else Value(paths=(name,))
        home, bindings = found
        key = (home, name)
        framed = home.depth >= self.frame_depth
        if framed and key in self.frame:
            return self.frame[key]
        known = self._memo.get(key) if not framed else None
        if known is not None and self._resolver.accepts(key):
            return known
        if key in self._open:
            return UNKNOWN
        self._open.add(key)
        before = self._resolver.cuts
        value = self._hot(self._given(self._aliased(key, bindings)))
        self._open.discard(key)
        if not framed:
            self._memo[key] = value
            self._resolver.note(key, before)
        return value

    def _aliased(self, key: Key, bindings: list[Binding]) -> list[Binding]:
        """Every value of a name and of the names that are plainly assigned to it, however they go in circles."""
        seen, queue = {key}, [bindings]
        found: list[Binding] = []
        while queue:
            for binding in queue.pop():
                if not self._resolver.spend(1):
                    return found
                other = self._alias(binding)
                if other is None or other[0].depth >= self.frame_depth:
                    found.append(binding)
                elif other not in seen:
                    seen.add(other)
                    queue.append(other[0].names[other[1]])
        return found

    def _alias(self, binding: Binding) -> Key | None:
        node = binding.node
        if binding.kind != "value" or binding.members or node is None or node.type != "identifier":
            return None
        name = self._program.name(node)
        found = binding.scope.lookup(name)
        return (found[0], name) if found else None

    def _hot(self, value: Value) -> Value:
        """Only paths that lead to something the table knows are worth following."""
        paths = tuple(path for path in value.paths if self._resolver.words.is_hot(path))
        if len(paths) == len(value.paths):
            return value
        return replace(value, paths=paths)

    def _given(self, bindings: list[Binding]) -> Value:
        """The union of the bindings; ``+=`` goes on from the value before it."""
        values: list[Value] = []
        loose = False
        for binding in bindings:
            if binding.kind in {"none", "class"} or (binding.kind == "value" and not saying([binding.node])):
                continue
            if binding.kind == "part":
                values = self._pushed(values, binding)
                loose = loose or binding.path == ANY
                continue
            value = self.binding(binding)
            if binding.kind == "append":
                before = values.pop() if values else UNKNOWN
                values.append(joined((before, value)))
            elif not any(value == known for known in values[-4:]):
                values.append(value)
        united = self._united(values)
        return replace(united, loose=True) if loose else united

    def _pushed(self, values: list[Value], binding: Binding) -> list[Value]:
        """``list.push(a)``: its items go on; what else is put into something changes no value."""
        listed = binding.node is not None and binding.node.type == "arguments" and binding.path != INSIDE
        if binding.node is None or not listed or not values or values[-1].items is None:
            return values
        more = tuple(self._resolver.value(child, binding.scope) for child in inner_nodes(binding.node))
        return [*values[:-1], replace(values[-1], items=(*(values[-1].items or ()), *more)[:_MOST_ITEMS])]

    def _united(self, values: list[Value]) -> Value:
        hot = [self._hot(value) for value in values] if len(values) > 1 else values
        return union(hot) if hot else UNKNOWN

    def binding(self, binding: Binding) -> Value:
        """The value of one binding."""
        if binding.kind == "import":
            return self._through(Value(paths=(binding.path,)), binding.members)
        if binding.kind == "parameter":
            return self._through(self._argument(binding), binding.members)
        if binding.kind in {"value", "append"}:
            return self._through(self._resolver.value(binding.node, binding.scope), binding.members)
        if binding.kind == "getter" and binding.node is not None:
            return self._got(binding.node)
        if binding.kind == "element":
            whole = self._resolver.value(binding.node, binding.scope)
            return self._through(union(whole.items), binding.members) if whole.items else UNKNOWN
        return UNKNOWN

    def _got(self, node: Node) -> Value:
        """What a getter gives."""
        function = self._program.functions.get(node.id)
        return self._resolver.calls.returned(function) if function is not None else UNKNOWN

    def _through(self, value: Value, members: tuple[str, ...]) -> Value:
        for member in members:
            value = self.member(value, member)
        return value

    def member(self, value: Value, name: str, *, computed: bool = False) -> Value:
        """``value.name``. A name chosen at run time is ``?``."""
        if name == "constructor":
            return Value(
                paths=("Function",) if value.functions else value.suffixed(".constructor") or ("value.constructor",)
            )
        if value.items is not None and name.isdecimal():
            at = int(name[:9])
            item = value.items[at] if at < len(value.items) else UNKNOWN
            return replace(item, loose=True) if value.loose and not item.loose else item
        if value.items is not None or (value.texts and not value.paths):
            if name.isdecimal() and value.text is not None:
                return text_value(value.text[int(name[:9]) :][:1], decoded=value.decoded)
            if name == "length":
                length = len(value.items) if value.items is not None else len(value.text or "")
                return text_value(str(length), number=True)
            return Value(paths=(f"text.{name}",))
        found = [self._of_path(path, name, computed=computed) for path in value.paths]
        found += [self._of_object(node, name, scope) for node, scope in value.objects]
        if not value.paths or any(path == "this" for path in value.paths):
            stored = self.stored(name)
            if not stored.opaque:
                found.append(stored)
        listed = [each for each in found if not each.opaque]
        if len(listed) < len(found) and listed and any(each.texts for each in listed):
            listed.append(UNKNOWN)
        result = union(listed) if listed else UNKNOWN
        loose = value.loose or ("this" in value.paths and ANY in self._program.properties)
        return replace(result, loose=True) if loose and not result.loose else result

    def choices(self, value: Value) -> list[Value]:
        """What a member can be whose name is not known, of literals that hold texts alone, where nothing is put in."""
        if not value.objects or value.paths or value.texts or value.functions or value.loose or value.items is not None:
            return []
        kept = self._program.properties
        if ANY in kept or any(each.path == "=" for name in kept if name != "exports" for each in kept[name]):
            return []
        literals = [(self.literal(node, scope), scope) for node, scope in value.objects]
        held = [(item, scope) for literal, scope in literals for items in literal.values() for item in items]
        return [self._resolver.value(item, scope) for item, scope in held] if _are_texts(held) else []

    def _of_path(self, path: str, name: str, *, computed: bool) -> Value:
        if path in _GLOBALS and name != "?":
            return Value(paths=(name,))
        if path == "this":
            return Value(paths=(name,)) if name in _GLOBAL_CODE and computed else UNKNOWN
        if path.startswith("file:"):
            return self._resolver.surroundings.member(f"{path}.{name}")
        if (given := checked_member(path, name)) is not None:
            return given
        joined_path = path if name == "default" else f"{path}.{name}"
        if joined_path in _HOMES:
            return Value(paths=(joined_path,), texts=("~",))
        return Value(paths=Value(paths=(path,)).suffixed(f".{name}") if name != "default" else (path,))

    def _of_object(self, node: Node, name: str, scope: Scope) -> Value:
        """The property `name` of an object literal."""
        key = f"{node.id}.{name}"
        known = self._members.get(key)
        if known is not None and self._resolver.accepts(key):
            return known
        if key in self._open or not self._resolver.spend(2):
            return UNKNOWN
        self._open.add(key)
        before = self._resolver.cuts
        literal = self.literal(node, scope)
        found = [
            self._got(child) if is_getter(child) else self._resolver.value(child, scope)
            for child in literal.get(name, ())
        ]
        found += [self.member(self._resolver.value(child, scope), name) for child in literal.get("...", ())]
        self._open.discard(key)
        value = union([*found, *self._assigned(name)]) if found else self.stored(name)
        if self.frame_depth > scope.depth:
            self._members[key] = value
            self._resolver.note(key, before)
        return value

    def literal(self, node: Node, scope: Scope) -> dict[str, list[Node]]:
        """The values of an object literal by key; what is spread into it under ``...``."""
        known = self._literals.get(node.id)
        if known is not None:
            return known
        found = self._literals[node.id] = {}
        for child in node.named_children:
            if not self._resolver.spend(1):
                break
            if child.type == "spread_element":
                found.setdefault("...", []).append(child)
            elif child.type == "shorthand_property_identifier":
                found.setdefault(self._program.name(child), []).append(child)
            elif child.type in {"pair", "method_definition"}:
                key = child.child_by_field_name("key") or child.child_by_field_name("name")
                value = child.child_by_field_name("value") if child.type == "pair" else child
                if key is not None and value is not None:
                    found.setdefault(self._key(key, scope), []).append(value)
        return found

    def _key(self, key: Node, scope: Scope) -> str:
        if key.type == "computed_property_name":
            inner = inner_nodes(key)
            return self._resolver.value(inner[0], scope).text or "" if inner else ""
        text = self._resolver.value(key, scope).text if key.type == "string" else None
        return text if text is not None else self._program.name(key)

    def _assigned(self, name: str) -> list[Value]:
        """What ``x.name = value`` stores, as against what literals hold."""
        known = self._later.get(name)
        if known is None:
            known = self._later[name] = []  # while it is found out
            assigned = [binding for binding in self._program.properties.get(name, ()) if binding.path == "="]
            known.extend([self.binding(binding) for binding in assigned if self._resolver.spend(1)])
        return known

    def stored(self, name: str) -> Value:
        """What is kept under a property's name anywhere in the file, for objects that are not known."""
        known = self._stored.get(name)
        key = f".{name}"
        if known is not None and self._resolver.accepts(key):
            return known
        if key in self._open or name not in self._program.properties:
            return UNKNOWN
        self._open.add(key)
        before = self._resolver.cuts
        values: list[Value] = []
        for binding in self._program.properties[name]:
            if not self._resolver.spend(1):
                break
            holds = binding.kind in {"value", "getter", "parameter"}
            values.append(self.binding(binding) if holds else UNKNOWN)
        self._open.discard(key)
        value = self._united(values)
        self._stored[name] = value
        self._resolver.note(key, before)
        return value

    def _argument(self, binding: Binding) -> Value:
        """What the callers pass for a parameter."""
        function = binding.scope
        if function.call is not None:
            return self._handed(function.call, binding)
        sites = self.callers(function)
        if sites is None:
            return UNKNOWN
        calls, closed = sites
        passed = [self._passed(call, scope, binding.index) for call, scope in calls]
        values = [value for value in passed if value is not None]
        return union([*values, UNKNOWN] if not closed else values) if values else UNKNOWN

    def _passed(self, call: Node, scope: Scope, index: int) -> Value | None:
        """The argument of one call, None when it has none there."""
        arguments = self._resolver.arguments(call)
        if any(argument.type == "spread_element" for argument in arguments[: index + 1]):
            return UNKNOWN
        return self._resolver.value(arguments[index], scope) if index < len(arguments) else None

    def _handed(self, call: Node, binding: Binding) -> Value:
        """A function that is an argument (``list.map(x => …)``, ``import(…).then(m => …)``) or is called at once."""
        callee = call.child_by_field_name("function")
        scope = binding.scope.parent
        if callee is None or scope is None:
            return UNKNOWN
        if self.is_called(callee, binding.scope):
            return self._passed(call, scope, binding.index) or UNKNOWN
        handed = self._resolver.words.hands
        for path in self._resolver.value(callee, scope).paths if not binding.index else ():
            if path in handed:
                return Value(paths=(handed[path],))
        method = callee.child_by_field_name("property") if callee.type == "member_expression" else None
        if method is None or binding.index or self._program.name(method) not in _EACH:
            return UNKNOWN
        value = self._resolver.value(callee.child_by_field_name("object"), scope)
        return union(value.items) if value.items else value if self._program.name(method) == "then" else UNKNOWN

    @staticmethod
    def is_called(callee: Node, function: Scope) -> bool:
        """True for ``(function (a) {…})(b)``: the function is what is called."""
        while callee.type == "parenthesized_expression" and (inner := inner_nodes(callee)):
            callee = inner[0]
        return function.node is not None and callee.id == function.node.id

    def callers(self, function: Scope) -> tuple[list[tuple[Node, Scope]], bool] | None:
        """The calls of a function by its name in this file, and whether there can be no others."""
        node = function.node
        named = self._program.named.get(node.id) if node is not None else None
        made = self._program.constructors.get(node.id) if node is not None else None
        if made is not None:
            calls = self._program.made.get(made, [])
            return (calls, False) if calls else None
        if named is None:
            method = self._program.methods.get(node.id) if node is not None else None
            calls = self._program.method_calls.get(method, []) if method else []
            return (calls, bool(method and method.startswith("#"))) if calls else None
        calls, closed = self._by_home(named[1]).get(named[0], ([], True))
        return (calls, closed and not self._ways.reach(named[1], named[0])) if calls else None

    def _by_home(self, name: str) -> dict[Scope | None, tuple[list[tuple[Node, Scope]], bool]]:
        """The calls of `name` by the scope that binds it, and whether it occurs there only in calls."""
        known = self._calls.get(name)
        if known is None:
            known = self._calls[name] = {}
            for call, scope in self._program.callers.get(name, ()):
                known.setdefault(_home(scope, name), ([], True))[0].append((call, scope))
            for scope in self._program.scopes_of.get(name, ()):
                home = _home(scope, name)
                known[home] = (known.get(home, ([], True))[0], False)
        return known


def _are_texts(held: list[tuple[Node, Scope]]) -> bool:
    return all(item.type == "string" for item, _ in held)


def _home(scope: Scope, name: str) -> Scope | None:
    found = scope.lookup(name)
    return found[0] if found else None

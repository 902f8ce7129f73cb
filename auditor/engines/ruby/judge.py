"""Judges Ruby: resolves what is called, follows values through variables, methods and blocks, and asks what it does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.ruby.execution import Execution
from skillkeep.auditor.engines.ruby.folding import Folder, TooDeepError
from skillkeep.auditor.engines.ruby.lost import loose_commands
from skillkeep.auditor.engines.ruby.reach import Reach
from skillkeep.auditor.engines.ruby.texts import DECODING, decoded, inflated, method_of_text
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.tree_site import TreeSite
from skillkeep.auditor.engines.values import HOLE, NOTHING, UNKNOWN, Value
from skillkeep.auditor.interface import Severity

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Judge", "TooDeepError"]

_MOST_CALLS: Final = 100
_DEEPEST_CALL: Final = 3
_ITERATING: Final = frozenset(
    {"each", "map", "each_with_index", "select", "flat_map", "filter_map", "collect", "reject", "each_entry", "tap",
     "then", "yield_self", "each_line"}
)  # fmt: skip
_ITSELF: Final = frozenset({"tap", "then", "yield_self"})
_ANSWERING: Final = frozenset(
    {"map", "flat_map", "filter_map", "collect", "then", "yield_self", "open", "inject", "reduce"}
)
_MOST_ITEMS: Final = 8  # constants of a list that its block is judged with
_ANYTHING: Final = frozenset({"", "Kernel", "Object", "self", "Process", "IO", "Open3"})
_JOINING: Final = frozenset({"join", "expand_path"})
_TYPED: Final = "an interpreter's input"
_TYPING: Final = frozenset({"write", "puts", "print", "<<", "syswrite"})
_CALLING: Final = frozenset({"call", "()", "[]", "==="})

_DATABASE: Final = compiled(r"(?:::)?(?:PG|SQLite3|Mysql2?|TinyTds|OCI8)(?:::|\b)")


class Judge:
    """Judges one segment."""

    def __init__(self, site: TreeSite, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table
        self._commands: dict[str, list[str]] = table["commands"]
        self._evaluating = frozenset(table["evaluating"])
        self._sending = frozenset(table["sending"])
        self._sockets = frozenset(table["sockets"])
        self._network = frozenset(table["network"])
        self._requests = frozenset(table["requests"])
        self._giving = frozenset(table["giving"])
        self._hooks = frozenset(table["install_hooks"])
        self._running = frozenset(name for names in self._commands.values() for name in names) | self._evaluating
        self._lost = False  # a method that runs a text is a value, or a method is chosen at run time
        self._execution = Execution(site)
        self._reach = Reach(site, table)
        self._folder = Folder(site, self._call, self._define, self._backticks, self._listing)
        self._methods: dict[str, Node] = {}
        self._answers: dict[str, Value] = {}
        self._calls = 0
        self._inside = 0

    def script(self, root: Node) -> None:
        """Judge the whole tree. Raises `TooDeepError`."""
        self._folder.documents(root)
        for child in root.named_children:
            self._folder.value(child)
        if self._lost:
            for node, text in loose_commands(root, self._folder, self._site):
                self._site.derive(text, Context.SHELL, node, "a method that is handed on")

    def _backticks(self, node: Node, text: Value) -> Value:
        self._execution.shell(node, text, "a text in backticks")
        return Value(HOLE, text.labels | self._fetched(text))

    @staticmethod
    def _fetched(text: Value) -> frozenset[str]:
        """``curl …`` brings something."""
        return frozenset({"download"}) if text.text.lstrip().startswith(("curl ", "wget ")) else NOTHING

    def _listing(self, node: Node, given: list[Value]) -> Value:
        return given[0].labelled(self._reach.judge(node, "Dir", "[]", given))

    def _call(self, node: Node) -> Value:
        receiver = node.child_by_field_name("receiver")
        method = node.child_by_field_name("method")
        name = self._site.source(method) if method is not None else self._site.source(node) if not node.children else ""
        if method is None and receiver is not None:
            name = "call"  # ``proc.(argument)``
        target = self._folder.value(receiver) if receiver is not None else None
        given = self._given(node)
        owner = self._owner(receiver, target)
        answer = self._answered(node, target, owner, name, given)
        inside = self._block(node, target, owner, name, given)
        return answer.labelled(inside) if name in _ANSWERING else answer

    def _given(self, node: Node) -> list[Value]:
        arguments = node.child_by_field_name("arguments")
        if arguments is None:
            return []
        values = []
        for child in arguments.named_children:
            value = self._folder.value(child)
            values.append(
                Value(value.text, value.labels, value.items, "hash") if child.type in {"pair", "hash"} else value
            )
        return values

    def _owner(self, receiver: Node | None, target: Value | None) -> str:
        """The class that is called, or that the called object belongs to."""
        if receiver is None or target is None:
            return ""
        if receiver.type in {"constant", "scope_resolution"}:
            return target.kind if target.kind else self._site.source(receiver).removeprefix("::")
        return target.kind

    def _answered(self, node: Node, target: Value | None, owner: str, name: str, given: list[Value]) -> Value:
        if name in self._sending and given:
            return self._sent(node, target, owner, name, given)
        if name in _CALLING and target is not None and target.kind.startswith("method:"):
            return self._answered(node, None, "", target.kind[7:], given)
        if (known := self._executed(node, target, owner, name, given)) is not None:
            return known
        if target is None and name in self._methods:
            return self._own(name, given)
        return self._looked_up(node, target, owner, name, given)

    def _sent(self, node: Node, target: Value | None, owner: str, by: str, given: list[Value]) -> Value:
        """``object.send(:name, arguments)``, ``method(:name)``."""
        name = given[0]
        if not name.known and "download" in name.labels and owner in _ANYTHING:
            self._execution.downloaded(node, by)
        if not name.known:
            self._lost = True
            return Value(HOLE, NOTHING.union(*(value.labels for value in given)))
        if by.endswith("method"):
            self._lost = self._lost or name.text in self._running
            return Value(HOLE, kind=f"method:{name.text}")
        return self._answered(node, target, owner, name.text, given[1:])

    def _is_database(self, node: Node) -> bool:
        """True for ``conn.exec(query)`` of a name that the file binds to a database's connection and nothing else."""
        receiver = node.child_by_field_name("receiver")
        if receiver is None or receiver.type not in {"identifier", "instance_variable"}:
            return False
        name, text = re.escape(self._site.source(receiver)), self._site.segment.text
        if re.search(rf"(?<![\w@.]){name}[ \t]*[,|)]|&{name}\b", text):  # bound together with others, or in a block
            return False
        bound = re.findall(rf"(?<![\w@.]){name}[ \t]*(?:\|\||&&)?=(?![=~>])[ \t]*([\w:]*)", text)
        return bool(bound) and all(map(_DATABASE.match, bound))

    def _executed(self, node: Node, target: Value | None, owner: str, name: str, given: list[Value]) -> Value | None:
        if name in self._commands.get(owner, ()) and given and not (name == "exec" and self._is_database(node)):
            if name == "open" and not given[0].text.startswith("|"):
                return None
            self._execution.command(node, [value for value in given if value.kind != "hash"], name)
            return Value(HOLE, self._fetched(given[0]))
        if target is None and name == "open" and given and given[0].text.lstrip().startswith("|"):
            self._execution.shell(node, Value(given[0].text.lstrip("| "), given[0].labels), "open")
            return UNKNOWN
        if (
            name in self._evaluating
            and given
            and (target is None or owner in {"", "Kernel", "Object", "binding"} or name != "eval")
        ):
            self._execution.ruby(node, given[0], name)
            return Value(HOLE, given[0].labels)
        if name == "result" and target is not None and owner == "ERB" and target.labels & {"download", "decoded"}:
            self._execution.ruby(node, target, "ERB")
        if owner.startswith("RubyVM") and given:
            self._execution.ruby(node, given[0], name)
        if name in {"load", "require"} and target is None and given:
            self._execution.started(node, given[0], name)
        if name in self._table["deserialising"].get(owner, ()):
            self._site.report("ruby-deserialise", node, f"{owner}.{name} makes objects of any class out of data")
        elif owner in {"YAML", "Psych"} and name == "load":
            message = "YAML.load makes objects of any class before Ruby 3.1"
            self._site.report("ruby-deserialise", node, message, severity=Severity.WARN)
        if owner == "Gem" and name in self._hooks:
            self._site.report("ruby-install-hook", node, f"Gem.{name} runs whenever any gem is installed")
        return None

    def _looked_up(self, node: Node, target: Value | None, owner: str, name: str, given: list[Value]) -> Value:
        values = tuple(given)
        labels = NOTHING.union(*(value.labels for value in given), target.labels if target is not None else NOTHING)
        if name in DECODING and given:
            return decoded(name, given[0])
        if owner.startswith("Zlib") and name in {"inflate", "decompress", "gunzip"} and given:
            return inflated(given[0])
        if owner == "ENV":
            return self._environment(node, name, given)
        if owner == "Dir" and name == "home":
            return Value("~")
        if owner == "File" and name in _JOINING and given:
            self._reach.judge(node, owner, name, given)
            parts = [value.text for value in given] if name == "join" else [given[0].text]
            return Value("/".join(parts), labels)
        if owner == "Pathname" and name in {"new", "join"} and given:
            return Value(given[0].text, labels, kind="Pathname")
        if target is None and name in {"URI", "Pathname", "String", "Array"} and given:
            return Value(given[0].text, labels, given[0].items, "address" if name == "URI" else "")
        if owner == "URI" and name in {"parse", "join"} and given:
            return Value(given[0].text, labels, kind="address")
        if owner in {"Object", "Kernel"} and name == "const_get" and given and given[0].known:
            return Value(HOLE, kind=given[0].text)
        return self._reached(node, target, owner, name, values, labels)

    def _reached(
        self, node: Node, target: Value | None, owner: str, name: str, given: tuple[Value, ...], labels: frozenset[str]
    ) -> Value:
        if target is not None and owner == "address" and name in {"host", "hostname"} and target.known:
            return Value(target.text, labels)
        if target is not None and owner == "address" and name in {"open", "read"}:
            self._site.connects(target, node, "URI.open")
            return Value(HOLE, labels | {"download"})
        if owner == "Pathname" and name in {"read", "binread", "readlines"} and target is not None:
            return Value(HOLE, labels | self._reach.judge(node, "File", "read", [target]))
        if owner == _TYPED and name in _TYPING and labels & {"download", "decoded"}:
            self._execution.downloaded(node, "an interpreter that is typed into")
        if name == "reopen" and "socket" in labels:
            self._site.report("shell-reverse-shell", node, "a standard stream is joined to a connection")
        if owner in self._requests:
            return Value(HOLE, labels, kind=owner)
        if owner in self._requests or (owner and name in self._giving and target is not None):
            self._give(node, labels)
        added = self._reach.judge(node, owner, name, list(given))
        if owner in self._sockets:
            added |= {"socket"}
        if target is not None and (owner in self._network or "socket" in target.labels) and owner not in self._requests:
            self._site.sent(labels - {"socket"}, node, f"{owner or 'a connection'}.{name}")
        kind = owner if name in {"new", "open", "start"} or owner in self._network else ""
        if target is not None and (target.known or target.items is not None):
            return method_of_text(target, name, given).labelled(added)
        return Value(HOLE, labels | added, kind=kind)

    def _give(self, node: Node, labels: frozenset[str]) -> None:
        """``request.set_form_data(data)``: the request carries it from here on."""
        receiver = node.child_by_field_name("receiver")
        if receiver is not None and receiver.type == "identifier":
            name = self._site.source(receiver)
            self._site.variables[name] = self._site.variables.get(name, UNKNOWN).labelled(labels)

    def _environment(self, node: Node, name: str, given: list[Value]) -> Value:
        if name in {"fetch", "dig", "[]", "values_at", "delete"} and given:
            return self._folder.environment(given[0], node)
        if name in {"key?", "include?", "has_key?", "[]=", "store"}:
            return UNKNOWN
        return Value(HOLE, frozenset({"environment"}))

    def _block(self, node: Node, target: Value | None, owner: str, name: str, given: list[Value]) -> frozenset[str]:
        """Judge the block, once for each of a few constants that it is called with; the labels of what it answers."""
        block = node.child_by_field_name("block")
        if block is None:
            return NOTHING
        names = self._block_parameters(block)
        each = target is not None and name in _ITERATING - _ITSELF and len(names) == 1
        items = target.items if target is not None and each else None
        labels = NOTHING
        if items is not None and 1 < len(items) <= _MOST_ITEMS and self._inside < _DEEPEST_CALL:
            self._inside += 1
            for item in items[1:]:
                self._site.variables[names[0]] = item
                labels |= self._folder.statements(block).labels
            self._inside -= 1
        value = UNKNOWN
        if name in _ITERATING and target is not None:
            known = items if items is not None else target.items
            one = known[0] if known and (items is not None or len(known) == 1) else None
            value = target if name in _ITSELF else one or Value(HOLE, target.labels)
        elif owner in self._network or owner in self._sockets:
            value = Value(HOLE, frozenset({"download"}), kind=owner)
        elif name.startswith("popen") and given and _is_interpreter(given[0]):
            value = Value(HOLE, kind=_TYPED)
        elif name in {"open", "new"} and given:
            value = Value(HOLE, self._site.origin(given[0], None)[0], kind="file")
        for parameter in names:
            self._site.variables[parameter] = value
        inside = self._folder.statements(block)
        if self._reach.is_written(owner, name, given):
            written = inside.labels | NOTHING.union(*(self._site.variables.get(each, UNKNOWN).labels for each in names))
            self._reach.written(node, given[0], written, self._site.addresses[-1] if self._site.addresses else "")
        return labels | inside.labels

    def _block_parameters(self, block: Node) -> list[str]:
        for child in block.named_children:
            if child.type == "block_parameters":
                return [self._site.source(each) for each in child.named_children if each.type == "identifier"]
        return []

    def _define(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return
        key = self._site.source(name)
        self._methods[key] = node
        for parameter in self._parameters(node):
            self._site.variables.pop(parameter, None)
        self._answers[key] = self._folder.value(body)

    def _own(self, name: str, given: list[Value]) -> Value:
        """A method of the script, judged again with what it is given."""
        known = self._answers.get(name, UNKNOWN)
        telling = any(value.labels or (value.known and len(value.text) > 3) or value.items for value in given)
        body = self._methods[name].child_by_field_name("body")
        if not telling or body is None or self._inside >= _DEEPEST_CALL or self._calls >= _MOST_CALLS:
            return known
        self._calls += 1
        self._inside += 1
        names = self._parameters(self._methods[name])
        before = {parameter: self._site.variables.get(parameter) for parameter in names}
        self._site.variables.update(dict(zip(names, given, strict=False)))
        answer = self._folder.value(body)
        for parameter, value in before.items():
            self._site.variables.pop(parameter, None)
            if value is not None:
                self._site.variables[parameter] = value
        self._inside -= 1
        return answer

    def _parameters(self, node: Node) -> list[str]:
        parameters = node.child_by_field_name("parameters")
        names = []
        for child in parameters.named_children if parameters is not None else ():
            name = child.child_by_field_name("name") if child.type != "identifier" else child
            if name is not None:
                names.append(self._site.source(name))
        return names


def _is_interpreter(command: Value) -> bool:
    """True for a command of one word, or an option beside it, that runs what is typed into it."""
    words = [item.text for item in command.items] if command.items is not None else command.text.split()
    name = words[0].rpartition("/")[2] if words else ""
    return name in table("shell")["interpreters"] and all(word.startswith("-") for word in words[1:])

"""One command with its aliases resolved and its options told apart from what they take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from skillkeep.auditor.engines.powershell.folding import Folder
from skillkeep.auditor.engines.powershell.site import Site
from skillkeep.auditor.engines.values import NOTHING, UNKNOWN, Value

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Call", "call_of"]

_INVOKING: Final = frozenset({"&", "."})


@dataclass
class Call:
    """`name` is in lower case, without folder and ``.exe``. `options` are in lower case, with their dash."""

    name: str
    node: Node
    program: Value
    invoked: bool
    piped: Value
    options: dict[str, Value] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    operands: list[Value] = field(default_factory=list)
    places: list[Node] = field(default_factory=list)
    outputs: list[tuple[Value, Node]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def option(self, *names: str) -> Value | None:
        """The value of the first option that is one of `names` or a beginning of it."""
        for given, value in self.options.items():
            if any(len(given) > 1 and name.startswith(given) for name in names):
                return value
        return None

    def argument(self, name: str, place: int = 0) -> tuple[Value, Node | None]:
        """The value of option `name`, or the operand at `place`, with its node."""
        for given, value in self.options.items():
            if len(given) > 1 and name.startswith(given):
                return value, self.nodes.get(given)
        if place < len(self.operands):
            return self.operands[place], self.places[place]
        return UNKNOWN, None

    @property
    def values(self) -> list[Value]:
        """Everything the command is given, also by the pipeline."""
        return [*self.operands, *self.options.values(), self.piped]

    @property
    def labels(self) -> frozenset[str]:
        """The labels of everything the command is given."""
        return NOTHING.union(*(value.labels for value in self.values))

    @property
    def line(self) -> str:
        """The command as one text, for patterns."""
        return " ".join([self.name, *self.words])


def call_of(node: Node, folder: Folder, site: Site, table: dict[str, Any], piped: Value) -> Call:
    """The call that the command `node` makes."""
    program, invoked = UNKNOWN, False
    elements: list[Node] = []
    for child in node.children:
        if child.type == "command_invokation_operator":
            invoked = site.source(child).strip() in _INVOKING
        elif child.type in {"command_name", "command_name_expr", "path_command_name"}:
            program = _program(child, folder)
        elif child.type == "command_elements":
            elements = list(child.children)
        elif child.is_named:
            elements.append(child)
    call = Call(_resolved(program.text, site, table), node, program, invoked, piped)
    _elements(call, elements, folder, site, frozenset(table["switches"]))
    return call


def _program(node: Node, folder: Folder) -> Value:
    if node.type == "command_name_expr" and node.named_child_count:
        return folder.value(node.named_children[0])
    return folder.value(node)


def _resolved(text: str, site: Site, table: dict[str, Any]) -> str:
    name = text.replace("`", "").strip().strip("\"'").lower()
    name = name.replace("/", "\\").rpartition("\\")[2].removesuffix(".exe") if "\\" in name or "/" in name else name
    name = name.removesuffix(".exe") if " " not in name else name
    name = site.aliases.get(name, name)
    aliases: dict[str, str] = table["aliases"]
    return aliases.get(name, name)


def _elements(call: Call, elements: list[Node], folder: Folder, site: Site, switches: frozenset[str]) -> None:
    waiting = ""
    for child in elements:
        kind = child.type
        if kind == "command_argument_sep":
            continue
        if kind == "command_parameter":
            waiting = _option(call, site.source(child), switches)
        elif kind == "redirection":
            _redirection(call, child, folder)
        else:
            value = folder.value(child)
            call.words.append(value.text)
            if waiting:
                call.options[waiting], call.nodes[waiting] = value, child
            else:
                call.operands.append(value)
                call.places.append(child)
            waiting = ""


def _option(call: Call, text: str, switches: frozenset[str]) -> str:
    """Note an option; its name when a value may follow."""
    name = text.replace("`", "").lower()
    call.words.append(name)
    name, _, glued = name.partition(":")
    name = f"-{name[1:]}" if name[:1] in "/–—" else name
    call.options.setdefault(name, Value(glued))
    return "" if name in switches or glued else name


def _redirection(call: Call, node: Node, folder: Folder) -> None:
    for child in node.named_children:
        if child.type == "redirected_file_name":
            named = [each for each in child.named_children if each.type != "command_argument_sep"]
            if named:
                call.outputs.append((folder.value(named[-1]), named[-1]))

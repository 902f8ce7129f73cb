"""Judges a PowerShell script: follows data along pipelines and through variables, and asks each call what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.powershell.calls import Call, call_of
from skillkeep.auditor.engines.powershell.execution import Execution
from skillkeep.auditor.engines.powershell.folding import Folder, TooDeepError, variable_name
from skillkeep.auditor.engines.powershell.methods import Methods
from skillkeep.auditor.engines.powershell.operators import binary
from skillkeep.auditor.engines.powershell.reach import Reach
from skillkeep.auditor.engines.powershell.site import Site
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.engines.values import HOLE, NOTHING, UNKNOWN, Value, listed

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Judge", "TooDeepError"]

_DEPTH: Final = 60
_MOST_CALLS: Final = 100
_DEEPEST_CALL: Final = 3
_EMPTY: Final = Value("")
_SAME: Final = frozenset(
    {
        "write-output",
        "out-string",
        "select-object",
        "foreach-object",
        "where-object",
        "get-content",
        "out-null",
        "tee-object",
        "sort-object",
        "convertto-json",
        "convertfrom-json",
    }
)
_PART: Final = compiled(r"(\$\{?[\w:]+\}?)[ \t]*(?:\[|\.\w)")


class Judge:
    """Judges one segment."""

    def __init__(self, site: Site, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table
        self._execution = Execution(site)
        self._reach = Reach(site, table)
        self._methods = Methods(site, table, self._execution, self._reach)
        self._folder = Folder(site, self.statements, self._methods.call)
        self._methods.folder = self._folder
        self._functions: dict[str, Node] = {}
        self._returned: dict[str, frozenset[str]] = {}
        self._depth = 0
        self._calls = 0
        self._inside_calls = 0

    def statements(self, node: Node) -> Value:
        """Judge everything below `node`; what it prints. Raises `TooDeepError`."""
        self._depth += 1
        if self._depth > _DEPTH:
            raise TooDeepError
        printed: list[Value] = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            kind = child.type
            if kind == "pipeline":
                printed.append(self._pipeline(child))
            elif kind == "pipeline_chain":
                printed.append(self._chain(child))
            elif kind == "function_statement":
                self._function(child)
            elif kind == "foreach_statement":
                self._foreach(child)
            elif kind in {"command", "assignment_expression"}:
                printed.append(self._chain(child, (child,)))
            elif kind.endswith(("_literal", "_expression")) and kind not in {
                "script_block_expression",
                "hash_literal_expression",
            }:
                printed.append(self._folder.value(child))
            elif child.child_count:
                stack.extend(reversed(child.children))
            elif kind == "variable":
                printed.append(self._folder.value(child))
        self._depth -= 1
        printed = [value for value in printed if value is not _EMPTY]
        return printed[0] if len(printed) == 1 else listed(tuple(printed)) if printed else _EMPTY

    def _pipeline(self, node: Node) -> Value:
        value = _EMPTY
        for child in node.named_children:
            value = self._assignment(child) if child.type == "assignment_expression" else self._chain(child)
        return value

    def _chain(self, node: Node, parts: tuple[Node, ...] = ()) -> Value:
        """Commands and expressions joined by ``|``."""
        value = _EMPTY
        for child in parts or node.named_children:
            if child.type == "command":
                value = self._command(child, value)
            elif child.type == "assignment_expression":
                value = self._assignment(child)
            elif child.type == "redirections":
                continue
            else:
                value = self._folder.value(child)
        return value

    def _assignment(self, node: Node) -> Value:
        target, right = node.children[0], node.children[-1]
        value = self.statements(right) if right.type != "pipeline" else self._pipeline(right)
        if (part := _PART.match(self._site.source(target).strip())) is not None:
            holder = variable_name(part[1])  # ``$table[$name] = …``: the table has the labels from here on
            self._site.variables[holder] = self._site.variables.get(holder, UNKNOWN).labelled(value.labels)
            return _EMPTY
        name = variable_name(self._site.source(target).strip().rpartition("]")[2].strip())
        operator = self._site.source(node.children[1]).strip()
        if operator != "=" and len(operator) == 2:
            value = binary(operator[0], self._site.variables.get(name, UNKNOWN), value)
        before = self._site.variables.get(name, _EMPTY)
        self._site.variables[name] = value.labelled(before.labels)
        if name.startswith("env:") and secrets().variable(name[4:]) and not value.known:
            self._site.capability("env", name[4:].upper(), node)
        return _EMPTY

    def _foreach(self, node: Node) -> None:
        values = UNKNOWN
        for child in node.named_children:
            if child.type == "variable":
                name = variable_name(self._site.source(child))
            elif child.type == "pipeline":
                values = self._pipeline(child)
                one = values.items is None or len(values.items) == 1
                self._site.variables[name] = values.parts()[0] if one else Value(HOLE, values.labels)
            elif child.type == "statement_block":
                self.statements(child)

    def _command(self, node: Node, piped: Value) -> Value:
        before = self._site.variables.get("_")
        if piped is not _EMPTY:
            self._site.variables["_"] = Value(piped.text if piped.items is None else HOLE, piped.labels)
        call = call_of(node, self._folder, self._site, self._table, piped)
        labels = self._made(call)
        if before is not None:
            self._site.variables["_"] = before
        return self._printed(call, labels)

    def _made(self, call: Call) -> frozenset[str]:
        if call.name in self._functions:
            return self._called(call)
        if call.program.kind == "block":
            return call.program.labels | call.labels
        self._execution.judge(call)
        labels = self._reach.judge(call)
        self._remember(call)
        return labels

    def _printed(self, call: Call, labels: frozenset[str]) -> Value:
        flowing = labels | call.labels
        if call.name == "new-object":
            name = (call.option("-typename", "-comobject") or (call.operands or [_EMPTY])[0]).text.lower()
            name = name.removeprefix("system.")
            if name in self._table["web_classes"] and len(call.operands) > 1:
                self._site.connects(call.operands[1].parts()[0], call.node, name)
            return Value(HOLE, flowing, kind=name.partition("(")[0])
        if call.name in {"write-output", "out-string"} or (
            call.name in _SAME and call.piped.known and not call.operands
        ):
            source = call.operands[0] if call.operands else call.piped
            return source.labelled(flowing)
        if call.name == "join-path" and len(call.operands) > 1:
            return Value("/".join(value.text for value in call.operands), flowing)
        if call.name == "get-variable" and call.operands:
            return self._site.variables.get(call.operands[0].text.lower(), UNKNOWN)
        return Value(HOLE, flowing)

    def _remember(self, call: Call) -> None:
        """What a command leaves behind: other names for commands, and variables."""
        if call.name in {"set-alias", "new-alias"}:
            name, target = call.argument("-name")[0], call.argument("-value", 1)[0]
            if name.known and target.known:
                alias = target.text.lower()
                self._site.aliases[name.text.lower()] = self._table["aliases"].get(alias, alias)
        elif call.name in {"set-variable", "new-variable"}:
            self._site.variables[call.argument("-name")[0].text.lower()] = call.argument("-value", 1)[0]

    def _function(self, node: Node) -> None:
        name = next((self._site.source(child).lower() for child in node.children if child.type == "function_name"), "")
        self._functions[name] = node
        body = [child for child in node.children if child.type in {"script_block", "ERROR"}]
        for child in body:
            value = self.statements(child)
            self._returned[name] = self._returned.get(name, NOTHING) | value.labels

    def _called(self, call: Call) -> frozenset[str]:
        """A function of the script, judged again with what it is given."""
        node = self._functions[call.name]
        known = self._returned.get(call.name, NOTHING)
        given = [value for value in call.values if value is not _EMPTY and (value.known or value.labels)]
        if not given or self._inside_calls >= _DEEPEST_CALL or self._calls >= _MOST_CALLS:
            return known
        self._calls += 1
        self._inside_calls += 1
        before = dict(self._site.variables)
        for place, name in enumerate(self._parameters(node)):
            value = call.option(f"-{name}") or (call.operands[place] if place < len(call.operands) else None)
            if value is not None:
                self._site.variables[name] = value
        self._site.variables["input"] = call.piped
        self._site.variables["args"] = listed(tuple(call.operands))
        for child in node.children:
            if child.type in {"script_block", "ERROR"}:
                known |= self.statements(child).labels
        self._site.variables.update({name: before.get(name, UNKNOWN) for name in self._parameters(node)})
        self._inside_calls -= 1
        return known

    def _parameters(self, node: Node) -> list[str]:
        names = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type == "script_parameter":
                found = next((each for each in child.named_children if each.type == "variable"), None)
                if found is not None:
                    names.append(variable_name(self._site.source(found)))
            elif child.type in {
                "function_parameter_declaration",
                "parameter_list",
                "script_block",
                "param_block",
                "ERROR",
            }:
                stack.extend(reversed(child.children))
        return names

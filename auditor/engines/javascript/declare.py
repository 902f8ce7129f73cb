"""How JavaScript binds names: patterns, parameters, assignments, imports and exports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.inner import inner_nodes
from skillkeep.auditor.engines.javascript.scopes import ANY, INSIDE, Binding, Scope
from skillkeep.auditor.engines.javascript.texts import module_path, string_value

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.program import Program
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Declarations"]

_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier_pattern", "shorthand_property_identifier"})
_MEMBERS: Final = frozenset({"member_expression", "subscript_expression"})
_MODIFIERS: Final = frozenset({"accessibility_modifier", "readonly"})
_PARAMETERS: Final = frozenset({"required_parameter", "optional_parameter"})


class Declarations:
    """Fills the scopes of one program. Assignments wait until every declaration is known: see `settle`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._waiting: list[tuple[str, Binding, Scope]] = []

    def settle(self) -> None:
        """Bind what was assigned where its name is declared; a name that nothing declares belongs to the file."""
        for name, binding, scope in self._waiting:
            found = scope.lookup(name)
            if found or binding.kind != "part":
                self._program.bind(found[0] if found else self._program.top, name, binding)
        self._waiting.clear()

    def pattern(self, node: Node, binding: Binding, scope: Scope | None) -> None:
        """Bind the names in the pattern `node` in `scope`, or as assignments when it is None."""
        queue = [(node, binding)]
        while queue:
            part, value = queue.pop()
            if part.type in _NAMES:
                self._bind(self._program.name(part), value, scope)
            elif part.type == "object_pattern":
                queue.extend(self._of_object(part, value, scope))
            elif part.type == "array_pattern":
                queue.extend(self._of_array(part, value))
            elif part.type in {"assignment_pattern", "object_assignment_pattern"}:
                queue.extend(self._with_default(part, value))
            elif part.type in {"rest_pattern", "parenthesized_expression", "non_null_expression"}:
                queue.extend((child, value) for child in inner_nodes(part)[:1])
            elif part.type in _PARAMETERS:
                default = part.child_by_field_name("value")
                inner = part.child_by_field_name("pattern")
                queue.extend([(inner, value)] if inner is not None else [])
                if inner is not None and default is not None:
                    queue.append((inner, Binding("value", default, value.scope)))
            elif part.type in _MEMBERS:
                self._stored(part, value)

    def _bind(self, name: str, value: Binding, scope: Scope | None) -> None:
        if scope is None:
            self._waiting.append((name, value, value.scope))
        else:
            self._program.bind(scope, name, value)

    def _of_object(self, node: Node, value: Binding, scope: Scope | None) -> list[tuple[Node, Binding]]:
        found: list[tuple[Node, Binding]] = []
        for child in node.named_children:
            if child.type in _NAMES:
                found.append((child, value.of(self._program.name(child))))
            elif child.type == "pair_pattern":
                key, inner = child.child_by_field_name("key"), child.child_by_field_name("value")
                if key is not None and inner is not None:
                    found.append((inner, value.of(self.key(key) or "?")))
            elif child.type == "object_assignment_pattern":
                left, right = child.child_by_field_name("left"), child.child_by_field_name("right")
                if left is not None and right is not None:
                    found.append((left, value.of(self._program.name(left))))
                    found.append((left, Binding("value", right, value.scope)))
            elif child.type == "rest_pattern":
                found.extend((inner, value) for inner in inner_nodes(child)[:1])
        return found

    @staticmethod
    def _of_array(node: Node, value: Binding) -> list[tuple[Node, Binding]]:
        found: list[tuple[Node, Binding]] = []
        index = 0
        for child in node.children:
            if child.type == ",":
                index += 1
            elif child.type == "rest_pattern":
                found.extend((inner, value) for inner in inner_nodes(child)[:1])
            elif child.is_named:
                found.append((child, value.of(str(index))))
        return found

    @staticmethod
    def _with_default(node: Node, value: Binding) -> list[tuple[Node, Binding]]:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return []
        return [(left, value), (left, Binding("value", right, value.scope))]

    def parameters(self, function: Node, scope: Scope) -> None:
        """Bind the parameters of a function in its own scope."""
        single = function.child_by_field_name("parameter")
        listed = function.child_by_field_name("parameters")
        nodes = [single] if single is not None else listed.named_children if listed is not None else []
        index = 0
        for node in nodes:
            inner = node.child_by_field_name("pattern") if node.type in _PARAMETERS else node
            if inner is None or inner.type in {"this", "comment", "decorator"}:
                continue
            kind = "rest" if inner.type == "rest_pattern" else "parameter"
            binding = Binding(kind, function, scope, (), "", index)
            self.pattern(node, binding, scope)
            if inner.type == "identifier" and any(child.type in _MODIFIERS for child in node.children):
                self._program.store(self._program.name(inner), binding)  # ``constructor(private key: string)``
            index += 1

    def assigned(self, left: Node, binding: Binding) -> None:
        """``left = value``, ``left += value`` and ``for (left of value)``."""
        self.pattern(left, binding, None)

    def _stored(self, left: Node, binding: Binding) -> None:
        """``a.b = value``: the value is a property, and part of what the first name holds."""
        target = left.child_by_field_name("object")
        name = self.member(left)
        if target is None:
            return
        if name:
            self._program.store(name, replace(binding, path="="))
        owner = self._program.syntax.source(target)
        if owner in {"exports", "module.exports"} and name:
            self._program.export(name, binding)
        elif owner == "module" and name == "exports":
            self._program.export("*", binding)
        elif target.type == "identifier":
            self._bind(self._program.name(target), replace(binding, kind="part", path="" if name else ANY), None)

    def part(self, target: Node | None, values: Node, scope: Scope, *, merged: bool = False) -> None:
        """``target.push(values)``: the values become part of what the name or property holds; `merged` over its own."""
        if target is None:
            return
        binding = Binding("part", values, scope, path=ANY if merged else "")
        if target.type == "this" and merged:
            self._program.store(ANY, binding)
        if target.type == "identifier":
            self._bind(self._program.name(target), binding, None)
        elif target.type in _MEMBERS and (name := self.member(target)):
            self._program.store(name, binding)
            head = target.child_by_field_name("object")
            if head is not None and head.type == "identifier":  # ``address.searchParams.set("a", b)``
                self._bind(self._program.name(head), replace(binding, path=INSIDE), None)

    def member(self, node: Node) -> str:
        """The property that a member expression names, or an empty text when it is computed."""
        key = node.child_by_field_name("property") or node.child_by_field_name("index")
        return self.key(key) if key is not None else ""

    def key(self, node: Node) -> str:
        """The name of a property as it is written, or an empty text when it is computed."""
        if node.type in {"property_identifier", "private_property_identifier", "number"}:
            return self._program.name(node)
        if node.type == "computed_property_name":
            inner = inner_nodes(node)
            node = inner[0] if inner else node
        return string_value(self._program.syntax, node) if node.type == "string" else ""

    def imported(self, node: Node) -> None:
        """Every form of the import statement."""
        top = self._program.top
        for clause in node.named_children:
            source = clause.child_by_field_name("source") or node.child_by_field_name("source")
            if source is None or clause.type not in {"import_clause", "import_require_clause"}:
                continue
            module = module_path(string_value(self._program.syntax, source))
            for child in clause.named_children:
                if child.type == "identifier":
                    whole = clause.type == "import_require_clause"
                    self._import(child, module, "" if whole else "default", top)
                elif child.type == "namespace_import":
                    for inner in inner_nodes(child)[:1]:
                        self._import(inner, module, "", top)
                elif child.type == "named_imports":
                    self._named(child, module, top)

    def _named(self, node: Node, module: str, top: Scope) -> None:
        for child in node.named_children:
            alias = child.child_by_field_name("alias")
            name = child.child_by_field_name("name")
            local = alias if alias is not None else name
            if local is not None:
                self._import(local, module, self._exported_name(name), top)

    def _import(self, local: Node, module: str, member: str, top: Scope) -> None:
        if member == "default" and not module.startswith("file:"):
            member = ""
        top.bind(self._program.name(local), Binding("import", None, top, (member,) if member else (), module))

    def _exported_name(self, node: Node | None) -> str:
        """``default`` has no node of its own in the grammar."""
        if node is None:
            return "default"
        return string_value(self._program.syntax, node) if node.type == "string" else self._program.name(node)

    def exported(self, node: Node, scope: Scope) -> None:
        """Every form of the export statement."""
        program = self._program
        source = node.child_by_field_name("source")
        module = module_path(string_value(program.syntax, source)) if source is not None else ""
        if module and not any(child.type in {"export_clause", "namespace_export"} for child in node.named_children):
            program.forwards.append(("*", module, ""))
        for child in node.named_children:
            if child.type == "export_clause":
                for each in child.named_children:
                    self._specifier(each, module, scope)
            elif child.type == "namespace_export" and module:
                name = next(iter(inner_nodes(child)), None)
                program.forwards.append((self._exported_name(name), module, ""))
        value = node.child_by_field_name("value")
        declaration = node.child_by_field_name("declaration")
        if value is not None:
            program.export("default", Binding("value", value, scope))
        elif declaration is not None:
            self._declared(declaration, scope, default=any(child.type == "default" for child in node.children))

    def _specifier(self, node: Node, module: str, scope: Scope) -> None:
        name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
        if name is None:
            return
        local = self._exported_name(name)
        shown = self._exported_name(alias) if alias is not None else local
        if module:
            self._program.forwards.append((shown, module, local))
        else:
            self._program.export(shown, Binding("value", name, scope))

    def _declared(self, node: Node, scope: Scope, *, default: bool) -> None:
        """``export const a = 1, b = 2`` and ``export function c() {}``."""
        name = node.child_by_field_name("name")
        if name is not None:
            shown = self._program.name(name)
            self._program.used.append((name, scope))
            self._program.export("default" if default else shown, Binding("value", name, scope))
        for child in node.named_children:
            if child.type == "variable_declarator" and (inner := child.child_by_field_name("name")) is not None:
                shown = self._program.name(inner)
                self._program.used.append((inner, scope))
                self._program.export(shown, Binding("value", inner, scope))

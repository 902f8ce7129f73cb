"""What one JavaScript file binds, calls and mentions: one walk over its tree, scopes by function."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.declare import Declarations
from skillkeep.auditor.engines.javascript.inner import inner_nodes
from skillkeep.auditor.engines.javascript.scopes import FUNCTIONS, THROWN, Binding, Scope, is_getter
from skillkeep.auditor.engines.javascript.texts import unescape_name

if TYPE_CHECKING:
    from skillkeep.auditor.syntax import Syntax
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Program", "class_around", "read_program"]

_DEEPEST: Final = 200  # functions in functions
_NESTED: Final = 24  # nodes between a call of ``super`` and its class
CLASSES: Final = frozenset({"class_declaration", "class", "abstract_class_declaration"})
_TYPES: Final = frozenset(
    {
        "type_annotation", "type_arguments", "type_parameters", "interface_declaration", "type_alias_declaration",
        "comment", "jsx_text", "property_identifier", "string_fragment", "escape_sequence", "number", "regex",
        "ambient_declaration", "function_signature", "predefined_type", "hash_bang_line", "html_comment",
    }
)  # fmt: skip
_INTO: Final = frozenset(
    {
        "push",
        "unshift",
        "add",
        "set",
        "append",
        "concat",
        "write",
        "assign",
        "defineProperty",
        "defineProperties",
        "merge",
    }
)
_MERGING: Final = frozenset({"assign", "defineProperty", "defineProperties", "merge"})  # into their first argument
_REFLECTS: Final = frozenset({"Reflect", "Object"})
_INTO_SIZES: Final = frozenset(map(len, _INTO))


@dataclass
class Program:
    """One file. `properties` are values stored under a property's name anywhere in it; `used` the names that occur
    in any other way than being called.
    """

    syntax: Syntax
    top: Scope
    functions: dict[int, Scope] = field(default_factory=dict)
    properties: dict[str, list[Binding]] = field(default_factory=dict)
    calls: list[tuple[Node, Scope]] = field(default_factory=list)
    members: list[tuple[Node, Scope]] = field(default_factory=list)
    strings: list[Node] = field(default_factory=list)
    used: list[tuple[Node, Scope]] = field(default_factory=list)
    named: dict[int, tuple[Scope, str]] = field(default_factory=dict)  # functions by id: where and how they are bound
    methods: dict[int, str] = field(default_factory=dict)  # functions by id: the property they are kept under
    constructors: dict[int, str] = field(default_factory=dict)  # functions by id: the name of their class
    bases: dict[str, str] = field(default_factory=dict)  # classes: what each extends
    too_deep: bool = False
    exports: dict[str, list[Binding]] = field(default_factory=dict)
    forwards: list[tuple[str, str, str]] = field(default_factory=list)  # exported name, module, its member

    def name(self, node: Node) -> str:
        """The text of a name, with its escapes resolved."""
        return unescape_name(self.syntax.source(node))

    @cached_property
    def scopes_of(self) -> dict[str, list[Scope]]:
        """Where each name in `used` occurs."""
        found: dict[str, list[Scope]] = {}
        for node, scope in self.used:
            found.setdefault(self.name(node), []).append(scope)
        return found

    @cached_property
    def callers(self) -> dict[str, list[tuple[Node, Scope]]]:
        """The calls of each bare name."""
        return self._called("identifier")

    @cached_property
    def made(self) -> dict[str, list[tuple[Node, Scope]]]:
        """Where objects of each class are made: ``new Name(…)``, ``super(…)``, subclasses without a constructor."""
        found: dict[str, list[tuple[Node, Scope]]] = {}
        for node, scope in self.calls:
            callee = node.child_by_field_name("constructor") or node.child_by_field_name("function")
            if node.type == "new_expression" and callee is not None and callee.type == "identifier":
                found.setdefault(self.name(callee), []).append((node, scope))
            elif callee is not None and callee.type == "super":
                around = class_around(node)
                home = self.class_name(around) if around is not None else ""
                found.setdefault(self.bases.get(home, ""), []).append((node, scope))
        own = set(self.constructors.values())
        for name, base in self.bases.items():
            if name not in own:
                found.setdefault(base, []).extend(found.get(name, ()))
        return found

    def class_name(self, node: Node) -> str:
        """The name of a class, or of the constant that it is put into."""
        name = node.child_by_field_name("name")
        if name is None and node.parent is not None and node.parent.type == "variable_declarator":
            name = node.parent.child_by_field_name("name")
        return self.name(name) if name is not None else ""

    def base(self, node: Node) -> str:
        """What a class extends, when that is a name."""
        inner = next((child for child in node.named_children if child.type == "class_heritage"), None)
        while inner is not None and inner.type in {"class_heritage", "extends_clause"}:
            inner = next(iter(inner_nodes(inner)), None)
        return self.name(inner) if inner is not None and inner.type == "identifier" else ""

    @cached_property
    def method_calls(self) -> dict[str, list[tuple[Node, Scope]]]:
        """The calls of each member's name."""
        return self._called("member_expression")

    def _called(self, kind: str) -> dict[str, list[tuple[Node, Scope]]]:
        found: dict[str, list[tuple[Node, Scope]]] = {}
        for node, scope in self.calls:
            callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            if callee is not None and callee.type == kind:
                named = callee.child_by_field_name("property") if kind == "member_expression" else callee
                found.setdefault(self.name(named) if named is not None else "", []).append((node, scope))
        return found

    def export(self, name: str, binding: Binding) -> None:
        """Remember one value that other modules see; ``*`` is all of ``module.exports``."""
        self.exports.setdefault(name, []).append(binding)

    def store(self, name: str, binding: Binding) -> None:
        """Remember one value of a property."""
        self.properties.setdefault(name, []).append(binding)
        if binding.node is not None and binding.node.type in FUNCTIONS:
            self.methods[binding.node.id] = name

    def bind(self, scope: Scope, name: str, binding: Binding) -> None:
        """Bind a name, and remember the name of a function."""
        scope.bind(name, binding)
        if binding.node is not None and binding.node.type in FUNCTIONS and binding.kind == "value":
            self.named[binding.node.id] = (scope, name)


def class_around(node: Node) -> Node | None:
    """The class in whose constructor ``super`` is called."""
    inner: Node | None = node
    for _ in range(_NESTED):
        inner = inner.parent if inner is not None else None
        if inner is not None and inner.type in CLASSES:
            return inner
    return None


def read_program(syntax: Syntax) -> Program:
    """Walk the tree once."""
    program = Program(syntax, Scope(None))
    _Walk(program).run()
    return program


class _Walk:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._declare = Declarations(program)
        self._queue: list[tuple[Node, Scope]] = []
        self._inline: dict[int, Node] = {}  # functions written as an argument, by id: the call
        self._visitors = {
            "call_expression": self._call,
            "new_expression": self._call,
            "member_expression": self._member,
            "subscript_expression": self._member,
            "variable_declarator": self._declarator,
            "assignment_expression": self._assignment,
            "augmented_assignment_expression": self._assignment,
            "pair": self._pair,
            "field_definition": self._field,
            "public_field_definition": self._field,
            "for_in_statement": self._loop,
            "catch_clause": self._catch,
            "return_statement": self._return,
            "yield_expression": self._return,
            "throw_statement": self._throw,
            "import_statement": self._import,
            "import_alias": self._rest,
            "export_statement": self._export,
            "class_declaration": self._class,
            "class": self._class,
            "abstract_class_declaration": self._class,
            "identifier": self._identifier,
            "shorthand_property_identifier": self._shorthand,
            "string": self._string,
            "template_string": self._template,
            **dict.fromkeys(FUNCTIONS, self._function),
        }

    def run(self) -> None:
        queue, visitors = self._queue, self._visitors
        queue.append((self._program.syntax.root, self._program.top))
        while queue:
            node, scope = queue.pop()
            visit = visitors.get(node.type)
            if visit is not None:
                visit(node, scope)
            elif node.type not in _TYPES:
                queue.extend((child, scope) for child in reversed(node.named_children))
        self._declare.settle()

    def _rest(self, node: Node, scope: Scope, but: Node | None = None) -> None:
        skipped = but.id if but is not None else -1
        for child in reversed(node.named_children):
            if child.id != skipped:
                self._queue.append((child, scope))

    def _then(self, node: Node | None, scope: Scope) -> None:
        if node is not None:
            self._queue.append((node, scope))

    def _identifier(self, node: Node, scope: Scope) -> None:
        self._program.used.append((node, scope))

    def _string(self, node: Node, scope: Scope) -> None:
        self._program.strings.append(node)

    def _template(self, node: Node, scope: Scope) -> None:
        if node.named_child_count:
            self._program.strings.append(node)
            self._rest(node, scope)

    def _call(self, node: Node, scope: Scope) -> None:
        program = self._program
        program.calls.append((node, scope))
        callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        arguments = node.child_by_field_name("arguments")
        but = None
        if callee is not None and callee.type == "identifier":
            but = callee
        elif callee is not None and callee.type == "member_expression":
            method = callee.child_by_field_name("property")
            size = method.end_byte - method.start_byte if method is not None else 0
            name = program.name(method) if method is not None and size in _INTO_SIZES else ""
            if name in _INTO and arguments is not None:
                owner = callee.child_by_field_name("object")
                reflected = name == "set" and owner is not None and program.syntax.source(owner) in _REFLECTS
                merged = reflected or name in _MERGING
                target = inner_nodes(arguments)[:1] if merged else [owner]
                self._declare.part(target[0] if target else None, arguments, scope, merged=merged)
        if arguments is not None:
            for child in arguments.named_children:
                if child.type in FUNCTIONS:
                    self._inline[child.id] = node
        inner = callee
        while inner is not None and inner.type == "parenthesized_expression" and inner.named_child_count:
            inner = next(iter(inner_nodes(inner)), None)
        if inner is not None and inner.type in FUNCTIONS:
            self._inline[inner.id] = node
        self._rest(node, scope, but)

    def _member(self, node: Node, scope: Scope) -> None:
        self._program.members.append((node, scope))
        self._then(node.child_by_field_name("index"), scope)
        self._then(node.child_by_field_name("object"), scope)

    def _declarator(self, node: Node, scope: Scope) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            self._declare.pattern(name, Binding("value" if value is not None else "none", value, scope), scope)
            if name.type != "identifier":
                self._defaults(name, scope)
        self._then(value, scope)

    def _defaults(self, pattern: Node, scope: Scope) -> None:
        """The expressions inside a pattern are code as well."""
        queue = [pattern]
        while queue:
            node = queue.pop()
            if node.type in {"object_assignment_pattern", "assignment_pattern"}:
                self._then(node.child_by_field_name("right"), scope)
                queue.extend(filter(None, (node.child_by_field_name("left"),)))
            elif node.type in {"required_parameter", "optional_parameter"}:
                self._then(node.child_by_field_name("value"), scope)
                queue.extend(filter(None, (node.child_by_field_name("pattern"),)))
            elif node.type == "computed_property_name":
                self._rest(node, scope)
            elif node.type not in _TYPES:
                queue.extend(node.named_children)

    def _assignment(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        kind = "append" if node.type == "augmented_assignment_expression" else "value"
        self._declare.assigned(left, Binding(kind, right, scope))
        self._then(right, scope)
        if left.type in {"member_expression", "subscript_expression"}:
            self._then(left.child_by_field_name("index"), scope)
            target = left.child_by_field_name("object")
            if target is not None and target.type != "identifier":
                self._then(target, scope)
        elif left.type != "identifier":
            self._defaults(left, scope)

    def _pair(self, node: Node, scope: Scope) -> None:
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        if key is not None and value is not None:
            if name := self._declare.key(key):
                self._program.store(name, Binding("value", value, scope))
            if key.type == "computed_property_name":
                self._rest(key, scope)
            self._then(value, scope)

    def _field(self, node: Node, scope: Scope) -> None:
        key = node.child_by_field_name("property") or node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if key is not None and value is not None:
            self._program.store(self._declare.key(key), Binding("value", value, scope))
            self._then(value, scope)

    def _shorthand(self, node: Node, scope: Scope) -> None:
        self._program.store(self._program.name(node), Binding("value", node, scope))
        self._identifier(node, scope)

    def _loop(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            if node.child_by_field_name("kind") is not None:
                self._declare.pattern(left, Binding("element", right, scope), scope)
            else:
                self._declare.assigned(left, Binding("element", right, scope))
        self._rest(node, scope, left)

    def _catch(self, node: Node, scope: Scope) -> None:
        parameter = node.child_by_field_name("parameter")
        if parameter is not None:
            self._declare.pattern(parameter, Binding("caught", None, scope), scope)
        self._rest(node, scope, parameter)

    def _throw(self, node: Node, scope: Scope) -> None:
        for thrown in inner_nodes(node)[:1]:
            self._program.store(THROWN, Binding("value", thrown, scope))
        self._rest(node, scope)

    def _return(self, node: Node, scope: Scope) -> None:
        scope.returns.extend(inner_nodes(node)[:1])
        self._rest(node, scope)

    def _import(self, node: Node, scope: Scope) -> None:
        self._declare.imported(node)

    def _export(self, node: Node, scope: Scope) -> None:
        self._declare.exported(node, scope)
        if node.child_by_field_name("source") is None:
            self._rest(node, scope)

    def _class(self, node: Node, scope: Scope) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            self._program.bind(scope, self._program.name(name), Binding("class", node, scope))
        for child in node.named_children:
            if child.type == "class_heritage":
                self._program.bases[self._program.class_name(node)] = self._program.base(node)
        self._rest(node, scope, name)

    def _function(self, node: Node, scope: Scope) -> None:
        program = self._program
        inner = Scope(scope, node, self._inline.pop(node.id, None), scope.depth + 1)
        if inner.depth > _DEEPEST:
            program.too_deep = True
            return
        program.functions[node.id] = inner
        name = node.child_by_field_name("name")
        if node.type == "method_definition":
            if name is not None:
                kind = "getter" if is_getter(node) else "value"
                key = self._declare.key(name)
                program.store(key, Binding(kind, node, scope))
                made = node.parent.parent if key == "constructor" and node.parent is not None else None
                if made is not None and made.type in CLASSES and (owner := program.class_name(made)):
                    program.constructors[node.id] = owner
        elif name is not None:
            home = inner if node.type in {"function_expression", "generator_function"} else scope
            program.bind(home, program.name(name), Binding("value", node, scope))
        self._declare.parameters(node, inner)
        body = node.child_by_field_name("body")
        parameters = node.child_by_field_name("parameters")
        if parameters is not None:
            self._defaults(parameters, inner)
        if body is not None:
            if node.type == "arrow_function" and body.type != "statement_block":
                inner.returns.append(body)
            self._then(body, inner)

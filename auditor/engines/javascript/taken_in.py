"""Whether all that is done with a file of settings is to put its lines into the program's own environment.

``for (const line of text.split("\\n")) { … process.env[name] ??= value; }`` is what ``source path`` is, which an agent
does by itself. It holds only where nothing else can see the file or a line of it: whatever is not understood is more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.javascript.inner import inner_nodes
from skillkeep.auditor.engines.javascript.scopes import FUNCTIONS, Scope

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.program import Program
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["is_taken_in"]

_MOST: Final = 400  # nodes of a loop
_CHANGES: Final = compiled(  # what may make something else of a text's methods, or of the environment
    r"\b(?:prototype|__proto__|setPrototypeOf|definePropert(?:y|ies)|Proxy|Reflect|eval|Function|globalThis|global)\b"
    r"|\b(?:with|window|self|top)\s*[(.\[]|__define[GS]etter__|\brequire\s*\(\s*[\"'](?:node:)?process\b"
)
_ASKED: Final = frozenset(  # of the process; nothing of it is put
    {"argv", "cwd", "exit", "exitCode", "stdout", "stderr", "stdin", "platform", "pid", "version", "versions", "on"}
    | {"uptime", "hrtime", "memoryUsage", "nextTick", "arch"}
)
_LEFT: Final = frozenset({"assignment_expression", "augmented_assignment_expression", "for_in_statement"})
_PATTERNS: Final = frozenset({"pair_pattern", "array_pattern", "object_pattern", "assignment_pattern", "rest_pattern"})
_CUTS: Final = frozenset(
    {"trim", "trimStart", "trimEnd", "match", "split", "slice", "substring", "indexOf", "startsWith", "endsWith"}
    | {"includes", "replace", "join", "test", "exec", "toString"}
)
_PLAIN: Final = frozenset(  # nodes that only look at a line, or cut it
    {
        "statement_block", "expression_statement", "if_statement", "else_clause", "parenthesized_expression",
        "binary_expression", "unary_expression", "ternary_expression", "lexical_declaration", "variable_declarator",
        "array_pattern", "rest_pattern", "string", "string_fragment", "escape_sequence", "number", "regex",
        "regex_pattern", "regex_flags", "arguments", "continue_statement", "return_statement", "comment", "true",
        "false", "null", "undefined", "empty_statement", "non_null_expression",
    }
)  # fmt: skip
_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"})
_PUTS: Final = frozenset({"assignment_expression", "augmented_assignment_expression"})


def is_taken_in(program: Program, call: Node, scope: Scope) -> bool:
    """True for a `call` that reads a file whose lines become the environment, and that nobody else gets."""
    if scope.lookup("process") is not None or _CHANGES.search(program.syntax.text) or not _is_process_plain(program):
        return False
    text = _alone(program, call, scope)
    lines = _split(program, text) if text is not None else None
    if lines is None or lines.parent is None:
        return False
    around = lines.parent
    if around.type == "for_in_statement":
        head = around.child_by_field_name("left")
        kind, body = around.child_by_field_name("kind"), around.child_by_field_name("body")
        of = around.child_by_field_name("operator")
        plain = head is not None and head.type == "identifier" and kind is not None and kind.type in {"const", "let"}
        if not plain or body is None or head is None or of is None or of.type != "of":
            return False
        return _is_closed(program, body, program.name(head))
    each = around.parent
    if around.type != "member_expression" or each is None or each.type != "call_expression":
        return False
    named = around.child_by_field_name("property")
    given = inner_nodes(arguments) if (arguments := each.child_by_field_name("arguments")) is not None else []
    looped = named is not None and program.name(named) == "forEach" and len(given) == 1
    unused = each.parent is not None and each.parent.type == "expression_statement"
    if not looped or not unused or given[0].type != "arrow_function" or given[0].type not in FUNCTIONS:
        return False
    single = given[0].child_by_field_name("parameter")
    listed = given[0].child_by_field_name("parameters")
    inside = [single] if single is not None else inner_nodes(listed) if listed is not None else []
    body = given[0].child_by_field_name("body")
    if len(inside) != 1 or body is None or body.type != "statement_block":
        return False
    name = inside[0].child_by_field_name("pattern") or inside[0]  # ``(line: string)``
    return name.type == "identifier" and _is_closed(program, body, program.name(name))


def _is_process_plain(program: Program) -> bool:
    """True where the text reads variables of ``process.env``, puts some, and puts nothing else under that name."""
    queue = [program.syntax.root]
    while queue:
        node = queue.pop()
        queue.extend(node.named_children)
        if node.type not in _NAMES or program.name(node) != "process":
            continue
        member = node.parent
        named = member.child_by_field_name("property") if member is not None else None
        if member is None or member.type != "member_expression" or named is None:
            return False
        around = member.parent
        put = around is not None and around.type in _LEFT and around.child_by_field_name("left") == member
        if program.name(named) == "env" and (put or (around is not None and around.type in _PATTERNS)):
            return False
        if program.name(named) != "env" and program.name(named) not in _ASKED:
            return False
    return True


def _alone(program: Program, call: Node, scope: Scope) -> Node | None:
    """The one place where what `call` reads is used: itself, or the name that is bound to it."""
    around = call.parent
    if around is not None and around.type == "await_expression":
        call, around = around, around.parent
    if around is not None and around.type == "parenthesized_expression":
        call, around = around, around.parent
    if around is None or around.type != "variable_declarator":
        return call
    name = around.child_by_field_name("name")
    if around.parent is not None and around.parent.parent is not None and "export" in around.parent.parent.type:
        return None
    bound = scope.lookup(program.name(name)) if name is not None and name.type == "identifier" else None
    if name is None or bound is None or bound[0].node is None or len(bound[1]) != 1:
        return None  # what a file binds at its top is seen by whoever runs it as a part of his own
    found: list[Node] = []
    queue = [bound[0].node]
    while queue:
        node = queue.pop()
        if node.type in _NAMES and program.name(node) == program.name(name):
            found.append(node)
        queue.extend(node.named_children)
    others = [node for node in found if node.start_byte != name.start_byte]
    return others[0] if len(found) == 2 and len(others) == 1 else None


def _split(program: Program, text: Node) -> Node | None:
    """The call ``text.split("\\n")``."""
    member = text.parent
    called = member.parent if member is not None else None
    if member is None or called is None or member.type != "member_expression" or called.type != "call_expression":
        return None
    named, given = member.child_by_field_name("property"), called.child_by_field_name("arguments")
    told = inner_nodes(given) if given is not None else []
    splits = named is not None and program.name(named) == "split" and len(told) == 1
    callee = called.child_by_field_name("function")
    itself = callee is not None and callee.start_byte == member.start_byte and callee.end_byte == member.end_byte
    return called if splits and itself and told[0].type in {"string", "regex"} else None


def _is_closed(program: Program, body: Node, line: str) -> bool:
    """True where `body` only cuts the line, looks at it, and puts parts of it into the environment."""
    names = {line}
    nodes: list[Node] = []
    queue = [body]
    while queue:
        node = queue.pop()
        nodes.append(node)
        if len(nodes) > _MOST:
            return False
        if node.type == "variable_declarator" and (declared := node.child_by_field_name("name")) is not None:
            names |= {program.name(each) for each in (declared, *declared.named_children) if each.type == "identifier"}
            names |= {
                program.name(inner)
                for each in declared.named_children
                if each.type == "rest_pattern"
                for inner in each.named_children
            }
        queue.extend(node.named_children)
    puts = [node for node in nodes if node.type in _PUTS]
    return bool(puts) and "process" not in names and all(_is_plain(program, node, names) for node in nodes)


def _is_plain(program: Program, node: Node, names: set[str]) -> bool:
    kind = node.type
    if kind in _PUTS:
        left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
        told = operator is None or operator.type in {"??=", "||=", "="}
        return left is not None and told and _is_variable(program, left)
    if kind == "identifier":
        return program.name(node) in names or _is_environment(program, node.parent)
    if kind == "property_identifier":
        return True
    if kind == "member_expression":
        called = node.parent is not None and node.parent.type == "call_expression"
        named = node.child_by_field_name("property")
        known = named is not None and program.name(named) in _CUTS
        plain = named is not None and program.name(named) in {"length", "env", "groups"}
        return plain or (known and called)
    if kind == "subscript_expression":
        index = node.child_by_field_name("index")
        return _is_variable(program, node) or (index is not None and index.type == "number")
    if kind == "call_expression":
        callee = node.child_by_field_name("function")
        return callee is not None and callee.type == "member_expression"
    return kind in _PLAIN


def _is_variable(program: Program, node: Node) -> bool:
    """``process.env[name]``."""
    return node.type == "subscript_expression" and _is_environment(program, node.child_by_field_name("object"))


def _is_environment(program: Program, node: Node | None) -> bool:
    return node is not None and node.type == "member_expression" and program.syntax.source(node) == "process.env"

"""Variables of which a program only asks whether they are set, or are one of some words: ``process.env.A === '1'``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.inner import WRAPPERS
from skillkeep.auditor.engines.javascript.program import Program

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["is_asked", "is_told_apart"]

_SAME: Final = frozenset({"===", "!==", "==", "!="})
_WORDS: Final = frozenset({"string", "number", "undefined", "null", "true", "false"})
_WHOLE: Final = frozenset({"toLowerCase", "toUpperCase", "trim"})
_LONGEST: Final = 12  # of a word: nobody guesses a key by it
_MOST: Final = 4_000


def is_told_apart(node: Node) -> bool:
    """True for a comparison of something with a short word that is written there."""
    operator = node.child_by_field_name("operator")
    sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    told = [each for each in sides if each is not None and each.type in _WORDS]
    short = all(each.end_byte - each.start_byte <= _LONGEST for each in told)
    return node.type == "binary_expression" and operator is not None and operator.type in _SAME and bool(told) and short


def is_asked(program: Program, node: Node) -> bool:
    """True where the whole value of `node` is compared with words, or a constant holds it of which that is true."""
    outer = _outer(program, node)
    parent = outer.parent
    if parent is None:
        return False
    if is_told_apart(parent):
        return True
    if parent.type != "variable_declarator" or parent.child_by_field_name("value") != outer:
        return False
    name, kept = parent.child_by_field_name("name"), parent.parent
    block = kept.parent if kept is not None and kept.type == "lexical_declaration" else None
    if name is None or name.type != "identifier" or block is None or block.type != "statement_block":
        return False  # a name of the whole file may be exported
    uses = _uses(program, block, program.name(name))
    return uses is not None and all(_is_compared(program, each) for each in uses if each != name)


def _is_compared(program: Program, node: Node) -> bool:
    parent = _outer(program, node).parent
    return parent is not None and is_told_apart(parent)


def _outer(program: Program, node: Node) -> Node:
    """The expression that `node` is all of: in brackets, in small letters."""
    while (parent := node.parent) is not None:
        if parent.type in WRAPPERS:
            node = parent
            continue
        key = parent.child_by_field_name("property") if parent.type == "member_expression" else None
        call = parent.parent if key is not None and program.name(key) in _WHOLE else None
        if call is None or call.type != "call_expression" or call.child_by_field_name("function") != parent:
            return node
        node = call
    return node


def _uses(program: Program, block: Node, name: str) -> list[Node] | None:
    """Every place in `block` with this name; None where there is too much to look at."""
    found: list[Node] = []
    queue = [block]
    for _ in range(_MOST):
        if not queue:
            return found
        node = queue.pop()
        if node.type in {"identifier", "shorthand_property_identifier"} and program.name(node) == name:
            found.append(node)
        queue.extend(node.named_children)
    return None

"""Works out PowerShell's expressions: strings, operators, variables, casts, lists and calls of methods."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.powershell.operators import binary, cast, formatted, indexed
from skillkeep.auditor.engines.powershell.site import Site
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.engines.values import HOLE, NOTHING, UNKNOWN, Value, joined, listed

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Folder", "TooDeepError"]

_DEPTH: Final = 100
_MOST_STEPS: Final = 200_000
_MOST_RANGE: Final = 1000
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE: Final = compiled(r"`(.)|\"\"", re.DOTALL)
_BINARY: Final = frozenset(
    {
        "additive_expression",
        "multiplicative_expression",
        "comparison_expression",
        "bitwise_expression",
        "additive_argument_expression",
        "multiplicative_argument_expression",
        "comparison_argument_expression",
        "bitwise_argument_expression",
        "logical_expression",
        "logical_argument_expression",
    }
)
_LISTS: Final = frozenset({"array_literal_expression", "argument_expression_list"})
_FORMATS: Final = frozenset({"format_expression", "format_argument_expression"})
_RANGES: Final = frozenset({"range_expression", "range_argument_expression"})
_GIVING_AN_ITEM: Final = frozenset(
    {"script_block_expression", "function_statement", "switch_statement", "catch_clause", "trap_statement", "ERROR"}
)
_STRINGS: Final = frozenset({"expandable_string_literal", "expandable_here_string_literal"})
_VARIABLE: Final = compiled(r"(?<!`)\$(\w{1,60})\b(?!:)")
_MACHINE: Final = {  # what these hold on every machine, in the case that indexes into it rely on
    "home": "~",
    "env:userprofile": "~",
    "env:home": "~",
    "env:homepath": "~",
    "env:appdata": "~/AppData/Roaming",
    "env:localappdata": "~/AppData/Local",
    "env:temp": "%TEMP%",
    "env:tmp": "%TEMP%",
    "true": "True",
    "false": "False",
    "null": "",
    "pshome": "C:\\Windows\\System32\\WindowsPowerShell\\v1.0",
    "shellid": "Microsoft.PowerShell",
    "env:comspec": "C:\\Windows\\system32\\cmd.exe",
    "verbosepreference": "SilentlyContinue",
    "env:public": "C:\\Users\\Public",
    "env:windir": "C:\\Windows",
    "env:systemroot": "C:\\Windows",
    "env:programdata": "C:\\ProgramData",
}


class TooDeepError(ValueError):
    """Expressions are nested deeper than they are followed."""


class Folder:
    """Works out one expression at a time.

    `statements` judges what stands inside ``$(…)``, ``(…)`` and ``{…}``; `call` judges ``object.method(arguments)``
    and ``object.property`` (arguments None).
    """

    def __init__(
        self,
        site: Site,
        statements: Callable[[Node], Value],
        call: Callable[[Node, Value, str, list[Value] | None], Value],
    ) -> None:
        self._site = site
        self._statements = statements
        self._call = call
        self._depth = 0

    def value(self, node: Node) -> Value:
        """What the expression `node` stands for. Raises `TooDeepError`."""
        while node.child_count == 1 and node.named_child_count == 1 and node.type not in _STRINGS:
            node = node.children[0]
        self._site.steps += 1
        if self._site.steps > _MOST_STEPS:
            return UNKNOWN
        self._depth += 1
        if self._depth > _DEPTH:
            raise TooDeepError
        value = self._value(node, node.type)
        self._depth -= 1
        return value

    def _value(self, node: Node, kind: str) -> Value:
        if kind == "variable" or kind == "braced_variable" or kind.startswith("$"):
            return self._variable(node)
        if kind in _STRINGS:
            return self._expandable(node)
        if kind in {"verbatim_string_characters", "verbatim_here_string_characters"}:
            return self._verbatim(node)
        if kind in {"decimal_integer_literal", "hexadecimal_integer_literal"}:
            text = self._site.source(node).lower()
            return (
                Value(str(int(text, 16 if text.startswith("0x") else 10)), kind="int")
                if re.fullmatch(r"\d{1,9}|0x[0-9a-f]{1,8}", text)
                else Value(text)
            )
        if kind in {"generic_token", "simple_name", "command_name", "path_command_name"}:
            return Value(_VARIABLE.sub(self._held, self._site.source(node)).replace("`", ""))
        if kind in _BINARY:
            return self._spine(node)
        if kind in _LISTS:
            return self._list(node)
        if kind in _FORMATS:
            return formatted(self.value(node.children[0]), self.value(node.children[-1]))
        if kind in _RANGES:
            return self._range(self.value(node.children[0]), self.value(node.children[-1]))
        return self._compound(node, kind)

    def _held(self, found: re.Match[str]) -> str:
        """What a variable in a bare word stands for, as far as that is known: ``/i:$address``."""
        value = self._site.variables.get(found[1].lower())
        return value.text if value is not None and value.known else found[0]

    def _compound(self, node: Node, kind: str) -> Value:
        if kind == "cast_expression":
            return cast(self._type(node.children[0]), self.value(node.children[-1]))
        if kind == "expression_with_unary_operator":
            return self._unary(node)
        if kind == "invokation_expression":
            return self._invoked(node)
        if kind == "member_access":
            target, name = self.value(node.children[0]), self._member(node)
            return self._call(node, target, name, None)
        if kind == "element_access":
            index = list(node.named_children[1:])
            target = self.value(node.children[0])
            return indexed(target, self.value(index[0])) if index else target
        if kind == "type_literal":
            return Value(self._type(node), kind="type")
        if kind == "script_block_expression":
            value = self._statements(node)
            return Value(self._site.source(node)[1:-1], value.labels, kind="block")
        if kind == "hash_literal_expression":
            return self._hash(node)
        return self._statements(node)

    def _hash(self, node: Node) -> Value:
        labels = NOTHING
        stack = list(node.named_children)
        while stack:
            child = stack.pop()
            if child.type == "hash_entry":
                labels |= self._statements(child).labels
            else:
                stack.extend(child.named_children)
        return Value(HOLE, labels)

    def _variable(self, node: Node) -> Value:
        name = variable_name(self._site.source(node))
        if name in self._site.variables:
            return self._site.variables[name]
        if name in _MACHINE:
            return Value(_MACHINE[name])
        if name.startswith("env:"):
            return self.environment(name[4:], node)
        shown = "".join(self._site.segment.provenance).startswith("fence") and len(self._site.segment.provenance) == 1
        return Value("") if name == "_" and shown and not _has_item(node) else UNKNOWN

    def environment(self, name: str, node: Node) -> Value:
        """The environment variable `name`, read at `node`."""
        if secrets().variable(name):
            shown = name.upper()
            self._site.capability("env", shown, node)
            message = f"reads the secret {shown} from the environment"
            self._site.report("code-credential-env", node, message, subject=shown)
            return Value(HOLE, frozenset({f"secret:{shown}"}))
        if not secrets().plain(name):
            self._site.capability("env", name.upper(), node)
        return UNKNOWN

    def _expandable(self, node: Node) -> Value:
        """A string in double quotes: literal text lies between the nodes."""
        here = self._site.source(node).startswith("@")
        text = self._site.source(node)
        start = node.start_byte + (text.find("\n") + 1 if here else 1)
        end = node.end_byte - (2 if here else 1)
        parts: list[Value] = []
        for child in node.named_children:
            if child.start_byte >= start:
                parts.append(self._literal(start, child.start_byte))
                inner = self.value(child)
                parts.append(Value(inner.text, inner.labels))
                start = child.end_byte
        parts.append(self._literal(start, max(end, start)))
        return joined(tuple(parts))

    def _literal(self, start: int, end: int) -> Value:
        text = self._site.text[start:end]
        return Value(_ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]) if found[1] else '"', text))

    def _verbatim(self, node: Node) -> Value:
        text = self._site.source(node)
        if text.startswith("@"):
            return Value(text[text.find("\n") + 1 : -2].rstrip("\r\n"))
        return Value(text[1:-1].replace("''", "'"))

    def _spine(self, node: Node) -> Value:
        """``a + b + c``, which the grammar nests to the left."""
        kind = node.type
        rest: list[tuple[str, Node]] = []
        while node.type == kind and node.child_count > 2:
            rest.append((self._site.source(node.children[-2]).strip().lower(), node.children[-1]))
            node = node.children[0]
        value = self.value(node)
        for operator, right in reversed(rest):
            value = binary(operator, value, self.value(right))
        return value

    def _list(self, node: Node) -> Value:
        values = [self.value(child) for child in node.named_children]
        return values[0] if len(values) == 1 else listed(tuple(values))

    @staticmethod
    def _range(first: Value, last: Value) -> Value:
        start, end = first.number, last.number
        if start is not None and end is not None and abs(end - start) < _MOST_RANGE:
            step = 1 if end >= start else -1
            return listed(tuple(Value(str(number), kind="int") for number in range(start, end + step, step)))
        return UNKNOWN

    def _unary(self, node: Node) -> Value:
        operator = self._site.source(node.children[0]).lower()
        value = self.value(node.children[-1])
        if operator == "-join":
            return joined(value.parts())
        if operator == "-split" and value.known:
            return listed(tuple(Value(part, value.labels) for part in value.text.split()))
        if operator == "-" and value.number is not None:
            return Value(str(-value.number), kind="int")
        if operator == ",":
            return listed((value,))
        return value if node.child_count == 1 or operator in {"+", "++", "--"} else Value(HOLE, value.labels)

    def _invoked(self, node: Node) -> Value:
        target = self.value(node.children[0])
        arguments: list[Value] = []
        for child in node.children:
            if child.type == "argument_list":
                for inner in child.named_children:
                    parts = inner.named_children if inner.type == "argument_expression_list" else [inner]
                    arguments += [self.value(part) for part in parts]
        return self._call(node, target, self._member(node), arguments)

    def _member(self, node: Node) -> str:
        for child in node.children[1:]:
            if child.type == "member_name":
                inner = child.children[0] if child.child_count else child
                if inner.type in {"simple_name", "type_identifier"} or not inner.child_count:
                    return self._site.source(inner).replace("`", "").lower()
                return self.value(inner).text.lower()
        return ""

    def _type(self, node: Node) -> str:
        """``[System.Text.Encoding]`` as ``text.encoding``."""
        name = self._site.source(node).strip().replace("`", "").replace(" ", "").lower()
        return name.removeprefix("[").removesuffix("]").removeprefix("system.")


def _has_item(node: Node) -> bool:
    """True where ``$_`` can stand for something: in a block, a function, a ``switch`` or a handler of errors."""
    around = node.parent
    while around is not None:
        if around.type in _GIVING_AN_ITEM:
            return True
        around = around.parent
    return False


def variable_name(text: str) -> str:
    """``${Env:Path}`` as ``env:path``; scopes such as ``script:`` go."""
    name = text.lstrip("$@").strip("{}").replace("`", "").lower()
    scope, colon, rest = name.partition(":")
    return rest if colon and scope in {"global", "script", "local", "private", "using", "variable"} else name

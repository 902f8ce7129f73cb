"""What runs commands or code and goes where the engine does not follow it; the texts that may be run there.

A module that is wrapped, yielded, spread or handed to other code is no longer seen when it is used. In such a file
each text that reads as a whole command, or as code that reaches for a module, is judged as what it would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.javascript.inner import inner_nodes
from skillkeep.auditor.engines.javascript.program import class_around
from skillkeep.auditor.engines.javascript.scopes import FUNCTIONS, Scope
from skillkeep.auditor.engines.javascript.site import Site
from skillkeep.auditor.engines.javascript.texts import HOLE, string_value, unescape
from skillkeep.auditor.engines.javascript.words import Words, words
from skillkeep.auditor.engines.whole_commands import is_whole_command

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Lost"]

_MOST_CLIMBED: Final = 48
_SHORTEST: Final = 8
_SHOWN: Final = ("console.", "process.stdout.", "process.stderr.", "process.emitWarning")
_ERRORS: Final = compiled(r"(?:^|\.)\w*Error$")
_LANGUAGE_ERRORS: Final = frozenset(
    {"AggregateError", "Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"}
)
_MOST_EXTENDED: Final = 8
_CODE: Final = compiled(r"\b(?:require|import|process|globalThis|eval|fetch|Function)\b\s*[(.\[]")
_THROUGH: Final = frozenset(
    {
        "parenthesized_expression", "await_expression", "non_null_expression", "as_expression", "satisfies_expression",
        "type_assertion", "spread_element", "ternary_expression", "array", "object", "pair",
    }
)  # fmt: skip
_KEPT: Final = frozenset(
    {
        "variable_declarator", "assignment_expression", "field_definition", "public_field_definition",
        "export_statement", "export_specifier", "expression_statement", "unary_expression", "throw_statement",
        "template_substitution", "for_in_statement", "import_specifier", "if_statement",
        "augmented_assignment_expression",
        "object_pattern", "pair_pattern", "switch_case", "switch_statement", "jsx_expression", "program",
        "binary_expression", "sequence_expression", "call_expression", "new_expression",
        "while_statement", "import_alias", "type_query", "class_heritage", "extends_clause", "export_clause",
    }
)  # fmt: skip
_CHOOSING: Final = frozenset({"||", "??", "&&"})
_ADAPTERS: Final = frozenset({"bind", "then", "catch", "finally"})
_NO_MODULES: Final = frozenset({"", "Reflect", "globalThis", "$", "module"})


@cache
def _runners() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Modules whose functions run something, those functions, and the names that such a method may have."""
    known = words()
    named = [name for names in (known.shell, known.process, known.code) for name in names if "()" not in name]
    modules = frozenset(name.rpartition(".")[0] for name in named) - _NO_MODULES
    functions = frozenset(named) - {"$", "Worker", "worker_threads.Worker", "Function", "Reflect.construct"}
    methods = frozenset(name.rpartition(".")[2] for name in (*known.shell, *known.process))
    return modules, functions, methods


class Lost:
    """The judge of one file, asked after every call was judged."""

    def __init__(self, site: Site, known: Words) -> None:
        self._site = site
        self._words = known
        self._value = site.resolver.value
        self._program = site.resolver.program
        self._modules, self._functions, self._methods = _runners()
        self._judged: set[str] = set()
        self._runs_code = False  # what runs a text as code is lost

    def judge(self) -> None:
        """Judge the texts of a file in which what runs them is lost; else those of calls that look like it."""
        lost = self._is_lost()
        for node, scope in self._program.calls:
            callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            if callee is None or not (lost or self._looks_like_runner(callee, scope)):
                continue
            if self._is_shown(node, scope) or self._makes_error(callee, scope):
                continue
            arguments = self._site.resolver.arguments(node)
            for argument in arguments:
                value = self._value(argument, scope)
                for text in value.known:
                    self._text(text, argument)
            if lost and arguments and self._is_unknown(callee, scope):
                self._fetched(node, arguments, scope)
        for node in self._program.strings if lost else ():
            if node.end_byte - node.start_byte > _SHORTEST and not self._is_shown(node, self._program.top):
                source = self._program.syntax
                is_string = node.type == "string"
                self._text(string_value(source, node) if is_string else unescape(source.source(node)[1:-1]), node)

    def _text(self, text: str, node: Node) -> None:
        if len(text) < _SHORTEST or text in self._judged or HOLE in text:
            return
        self._judged.add(text)
        if is_whole_command(text):
            self._site.derive(text, Context.SHELL, node, "handed to what runs commands")
        elif _CODE.search(text) and "(" in text:
            self._site.derive(text, Context.JAVASCRIPT, node, "handed to what runs code")

    def _fetched(self, node: Node, arguments: list[Node], scope: Scope) -> None:
        if any("download" in self._site.flow.labels(each, scope) for each in arguments[:4]):
            message = "what came from the network is given to a function that may run it"
            self._site.report("javascript-downloaded-execution", node, message)

    def _looks_like_runner(self, callee: Node, scope: Scope) -> bool:
        """``x.exec(…)`` of which nothing is known but its name."""
        if callee.type != "member_expression":
            return False
        name = callee.child_by_field_name("property")
        return name is not None and self._program.name(name) in self._methods and self._is_unknown(callee, scope)

    def _is_unknown(self, callee: Node, scope: Scope) -> bool:
        """True for a function of which at most a name is known that may be one of a module that is lost."""
        value = self._value(callee, scope)
        if value.functions:
            return False
        if callee.type in {"member_expression", "identifier"}:
            named = callee if callee.type == "identifier" else callee.child_by_field_name("property")
            like = named is not None and self._program.name(named) in self._methods
            if any(path in self._functions for path in value.paths):
                return False
            called = any(path.endswith(")") or ")." in path for path in value.paths) or value.opaque
            return like or (self._runs_code and callee.type == "member_expression" and called and self._is_made(callee))
        return value.opaque

    @staticmethod
    def _is_made(callee: Node) -> bool:
        """True for ``make().member``, of an object that a call has just made."""
        inner: Node | None = callee
        while inner is not None and inner.type == "member_expression":
            inner = inner.child_by_field_name("object")
        return inner is not None and inner.type in {"call_expression", "new_expression", "parenthesized_expression"}

    def _is_shown(self, node: Node, scope: Scope) -> bool:
        """True for what is printed, or said by an error."""
        inner: Node | None = node
        for _ in range(_MOST_CLIMBED):
            if inner is None or inner.type in FUNCTIONS or inner.type.endswith("_statement"):
                return inner is not None and inner.type == "throw_statement"
            if inner.type in {"call_expression", "new_expression"}:
                callee = inner.child_by_field_name("function") or inner.child_by_field_name("constructor")
                source = self._program.syntax.source(callee) if callee is not None else ""
                if source.startswith(_SHOWN) or _ERRORS.search(source):
                    return True
            inner = inner.parent
        return False

    def _makes_error(self, callee: Node, scope: Scope) -> bool:
        """``super(message)`` in a class that extends an error of the language, directly or through others here."""
        around = class_around(callee) if callee.type == "super" else None
        name = self._program.base(around) if around is not None else ""
        for _ in range(_MOST_EXTENDED):
            if name in _LANGUAGE_ERRORS:
                return scope.lookup(name) is None
            name = self._program.bases.get(name, "")
        return False

    def _is_lost(self) -> bool:
        lost = False
        for node, scope in self._references():
            code = any(path in self._words.code for path in self._value(node, scope).paths)
            if (code or not lost) and self._escapes(node, scope):
                lost, self._runs_code = True, self._runs_code or code
            if self._runs_code:
                break
        return lost

    def _references(self) -> Iterator[tuple[Node, Scope]]:
        """Every expression that stands for a module or function that runs something, or for what loads one."""
        program, loaders = self._program, self._words.importers
        for node, scope in (*program.used, *program.members):
            paths = self._value(node, scope).paths
            if any(path in self._modules or path in self._functions or path in loaders for path in paths):
                yield node, scope
        for node, scope in program.calls:
            callee = node.child_by_field_name("function")
            called = self._value(callee, scope).paths if callee is not None else ()
            of_module = any(path in self._modules for path in self._value(node, scope).paths)
            if of_module or any(self._adapts(path) for path in called):
                yield node, scope
            elif any(path in loaders for path in called):
                arguments = self._site.resolver.arguments(node)
                if arguments and not self._value(arguments[0], scope).texts:
                    yield node, program.top

    def _adapts(self, path: str) -> bool:
        base, _, method = path.rpartition(".")
        return method in _ADAPTERS and (base in self._modules or base in self._functions)

    def _escapes(self, node: Node, scope: Scope) -> bool:
        """True where what stands at `node` goes out of sight."""
        callee = node.child_by_field_name("function") if node.type == "call_expression" else None
        if callee is not None:
            paths, made = self._value(callee, scope).paths, self._value(node, scope).paths
            if any(self._adapts(path) for path in paths):
                given = self._site.resolver.arguments(node)
                return not (given and all(each.type in FUNCTIONS for each in given))
            if made == ("?",) or (not made and any(path in self._words.importers for path in paths)):
                return True
        inner, parent = node, node.parent
        for _ in range(_MOST_CLIMBED):
            if parent is None:
                return False
            if not _is_itself(inner, parent):
                return self._leaves(inner, parent, scope)
            inner, parent = parent, parent.parent
        return True

    def _leaves(self, inner: Node, parent: Node, scope: Scope) -> bool:
        """True where `inner`, a part of `parent`, is not followed any further."""
        kind = parent.type
        if kind in {"member_expression", "subscript_expression"}:
            return inner.type == "array" and kind == "member_expression"
        if kind == "arguments":
            return parent.parent is not None and not self._follows(parent.parent, scope)
        if kind in FUNCTIONS or kind == "return_statement":
            return _is_handed(parent)
        return kind not in _KEPT

    def _follows(self, call: Node, scope: Scope) -> bool:
        """True for a call that the engine follows with what it is given, or that only looks at it."""
        callee = call.child_by_field_name("function") or call.child_by_field_name("constructor")
        if callee is None:
            return False
        source = self._program.syntax.source(callee)
        value = self._value(callee, scope)
        looks = source.startswith((*_SHOWN, "Object.freeze")) or source.endswith("promisify")
        return looks or bool(value.functions) or any(path in self._functions for path in value.paths)


def _is_itself(inner: Node, parent: Node) -> bool:
    """True where `parent` may stand for the same value as `inner`, or holds it in a list or object."""
    if parent.type == "binary_expression":
        return _operator(parent) in _CHOOSING
    if parent.type == "sequence_expression":
        return inner_nodes(parent)[-1].id == inner.id
    return parent.type in _THROUGH


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""


def _is_handed(node: Node) -> bool:
    """True for what a function returns that is itself an argument, or a method, and so called by somebody else."""
    inner: Node | None = node
    for _ in range(_MOST_CLIMBED):
        if inner is None:
            return False
        if inner.type in FUNCTIONS:
            break
        inner = inner.parent
    if inner is None or inner.type == "method_definition":
        return inner is not None and inner.children[0].type != "get"
    return inner.parent is not None and inner.parent.type in {"arguments", "pair"}

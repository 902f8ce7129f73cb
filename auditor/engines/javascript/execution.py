"""Judges what runs code: eval and its relatives, shells, programs, imports, and functions handed on that do so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.examples import example_severity
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.javascript.inner import copies_event, inner_nodes
from skillkeep.auditor.engines.javascript.passed_on import passed_on
from skillkeep.auditor.engines.javascript.published import judge_published
from skillkeep.auditor.engines.javascript.scopes import FUNCTIONS, Scope
from skillkeep.auditor.engines.javascript.site import Site
from skillkeep.auditor.engines.javascript.texts import HOLE
from skillkeep.auditor.engines.javascript.typed import Typed
from skillkeep.auditor.engines.javascript.values import UNKNOWN, Value
from skillkeep.auditor.engines.javascript.words import Words
from skillkeep.auditor.engines.publishing import words_of
from skillkeep.auditor.engines.quoted import is_argument, is_known_program, is_weakness
from skillkeep.auditor.engines.tables import subject_of
from skillkeep.auditor.interface import Severity

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Execution"]

_UNKNOWN_WORD: Final = '"$NOT_KNOWN"'
_RUNS_NEXT: Final = compiled(r"-[a-z]{0,3}[ce]|/c|-(?:Encoded)?Command", re.IGNORECASE)
_READERS: Final = frozenset({"node", "deno", "bun", "python", "python3", "ruby", "perl", "php", "lua", "osascript"})
_CALLERS: Final = frozenset({"call", "apply"})
_PAGE: Final = compiled(r"\b(?:document|window)\.|\baddEventListener\(|</?(?:script|div|button)\b")
_MAKERS: Final = frozenset({"Function", "AsyncFunction", "GeneratorFunction"})
_OWN_SCRIPT: Final = compiled(  # below the tool's own folder, wherever an agent keeps its tools
    rf"(?:(?:[\w.~{HOLE}-]*/)*(?:skills|plugins)/|{HOLE}/|\.{{1,2}}/)?(?!/)(?:[\w.-]+/){{0,8}}[\w.-]+\.[cm]?js"
)
_MOST_NESTED: Final = 256
_PASSABLE: Final = frozenset(
    {"identifier", "member_expression", "subscript_expression", "shorthand_property_identifier"}
)


class Execution:
    """Judges one call at a time."""

    def __init__(self, site: Site, words: Words) -> None:
        self._site = site
        self._words = words
        self._value = site.resolver.value
        self._connects = False
        self._typed = Typed(site)

    def fed(self, node: Node, scope: Scope, arguments: list[Node]) -> None:
        """Any call may type something into an interpreter that was started before."""
        self._typed.fed(node, scope, arguments)

    def joined(self) -> None:
        """After every call: a shell that waits for orders where a socket is opened."""
        if self._connects and self._typed.shell is not None:
            message = "a shell without a command is started beside a network connection"
            self._site.report("javascript-reverse-shell", self._typed.shell, message)

    def judge(self, node: Node, scope: Scope, path: str, arguments: list[Node]) -> None:
        """Judge the call `node` of `path`."""
        words = self._words
        self._connects = self._connects or path in words.sockets
        base, _, method = path.rpartition(".")
        if method in _CALLERS and (base in words.code or base in words.shell or self._is_maker(base)):
            self.judge(node, scope, base, arguments[1:])
        elif path == "Reflect.apply" and len(arguments) == 3:
            self._applied(node, scope, arguments)
        elif self._makes_code(node, path, arguments, scope):
            self._code(node, scope, path, _pick(arguments, words.code.get(path, -1)))
        elif path in words.template:
            first = _pick(arguments, words.template[path])
            if first is not None and "download" in self._site.flow.labels(first, scope):
                message = f"{path} runs the code in a template that comes from the network"
                self._site.report("javascript-downloaded-execution", node, message)
        elif path in words.code_if_text:
            first = _pick(arguments, 0)
            if first is not None and (self._value(first, scope).texts or self._is_fetched(first, scope)):
                self._code(node, scope, path, first)
        elif path in words.shell:
            self._shell(node, scope, path, _pick(arguments, 0))
        elif path in words.process:
            self._process(node, scope, path, arguments)
        elif path in words.importers:
            self._import(node, scope, path, _pick(arguments, 0))
        elif words.is_chosen(path):
            self._site.report("javascript-hidden-execution", node, "a function chosen at run time is called")

    @staticmethod
    def _is_maker(path: str) -> bool:
        """``x.constructor.constructor(…)``, ``[].map.constructor(…)``, ``Object.getPrototypeOf(f).constructor(…)``."""
        if not path.endswith("constructor"):
            return False
        base = path.rpartition(".")[0]
        return base.endswith(".constructor") or base.split(".")[0] in {"Function", "text"} or "getPrototypeOf()" in base

    def _applied(self, node: Node, scope: Scope, arguments: list[Node]) -> None:
        """``Reflect.apply(f, this, [arguments])``."""
        listed = inner_nodes(arguments[2]) if arguments[2].type == "array" else arguments[2:]
        for path in self._value(arguments[0], scope).paths:
            self.judge(node, scope, path, listed)

    def _makes_code(self, node: Node, path: str, arguments: list[Node], scope: Scope) -> bool:
        """True for what runs a text, as ``Reflect.construct(Function, [parameters, body])``; bundlers make objects of
        any class so."""
        if copies_event(node, arguments, self._site.resolver.program.syntax.source):
            return False
        made: Sequence[str] = (path,)
        if path == "Reflect.construct":
            made = self._value(arguments[0], scope).paths if arguments else ()
        return any(each in self._words.code or self._is_maker(each) for each in made)

    def _code(self, node: Node, scope: Scope, path: str, argument: Node | None) -> None:
        if argument is None:
            return
        value = self._replaced(self._value(argument, scope), argument, scope)
        for text in value.known:
            if value.decoded:
                self._site.report("javascript-decoded-execution", node, f"{path} runs a text that was hidden")
            self._site.derive(text, Context.JAVASCRIPT, node, path)
        if not value.texts or len(value.known) < len(value.texts):
            message = f"{path} runs text that is made at run time"
            severity = Severity.WARN if self._reads_script(argument, scope) else None
            self._unknown("javascript-eval", message, node, scope, (argument, value), severity)

    def _is_fetched(self, argument: Node, scope: Scope) -> bool:
        """True for a name of which only that is known that it came from the network."""
        value = self._value(argument, scope)
        known = value.functions or value.objects or value.items is not None
        bound = scope.lookup(self._site.resolver.program.name(argument))
        if bound is not None and len(bound[1]) == 1 and value.paths:  # a function of another file of the tool
            known = known or all(map(self._site.resolver.surroundings.is_function, value.paths))
        return argument.type == "identifier" and not known and "download" in self._site.flow.labels(argument, scope)

    def _replaced(self, value: Value, argument: Node, scope: Scope) -> Value:
        """`value`, of which nothing is known where what came from the network may have been put over it."""
        return UNKNOWN if value.loose and "download" in self._site.flow.labels(argument, scope) else value

    def _reads_script(self, argument: Node, scope: Scope) -> bool:
        """True for a script of the tool, read by its written name: it is audited itself, as one that is required is."""
        target = argument.child_by_field_name("function") if argument.type == "call_expression" else None
        given = argument.child_by_field_name("arguments") if target is not None else None
        if target is None or given is None or not (inner := inner_nodes(given)):
            return False
        if not any(path in self._words.read for path in self._value(target, scope).paths):
            return False
        names = self._value(inner[0], scope).texts
        return bool(names) and all(map(_OWN_SCRIPT.fullmatch, names))

    def _unknown(
        self,
        rule: str,
        message: str,
        node: Node,
        scope: Scope,
        given: tuple[Node, Value],
        severity: Severity | None = None,
    ) -> None:
        labels = self._site.flow.labels(given[0], scope)
        if "download" in labels:
            self._site.report("javascript-downloaded-execution", node, f"{message}, and it comes from the network")
        elif given[1].decoded or "decoded" in labels:
            self._site.report("javascript-decoded-execution", node, f"{message}, out of a decoder")
        else:
            start, end = self._site.resolver.program.syntax.span(node)
            severity = severity or example_severity(self._site.segment, self._site.segment.text[start:end])
            self._site.report(rule, node, message, severity=severity)

    def _shell(self, node: Node, scope: Scope, path: str, argument: Node | None) -> None:
        if argument is None:
            return
        tagged = argument.type == "template_string" and argument.start_byte == _arguments_start(node)
        if path == "$" and not tagged:
            return
        if path == "execa.$" and argument.type == "object" and not self._has_option("shell", [argument], scope):
            return  # options of the tag that follows, which quotes what it is given
        value = self._replaced(self._value(argument, scope), argument, scope)
        unknown = [] if value.texts else [HOLE]
        for text in value.texts:
            if HOLE in text and not tagged and not self._is_own(text, argument, scope):
                unknown.append(text)
                continue
            if value.decoded:
                self._site.report("javascript-decoded-execution", node, f"{path} runs a command that was hidden")
            self._site.derive(text.replace(HOLE, _UNKNOWN_WORD), Context.SHELL, node, path)
        self._sends(node, scope, argument, value)
        for text in value.texts:
            judge_published(self._site, self._words, node, scope, words_of(text), argument)
        if not unknown and self._is_listed_elsewhere(argument, scope):
            unknown = [HOLE]  # what is known of the list is not all that it holds
        if unknown:
            shape = f": {unknown[0].replace(HOLE, '…')[:120]}" if unknown[0].strip(HOLE) else ""
            message = f"{path} has a shell run a command made at run time{shape}"
            plain = all(map(is_argument, unknown))
            if plain:
                for text in unknown:
                    self._site.derive(text.replace(HOLE, "NOT_KNOWN"), Context.SHELL, node, path)
            severity = Severity.WARN if plain or self._is_chosen_here(unknown, node, scope, argument) else None
            self._unknown("javascript-shell-command", message, node, scope, (argument, value), severity)

    def _is_chosen_here(self, texts: list[str], node: Node, scope: Scope, argument: Node) -> bool:
        """True where programs that run nothing are written down; those that send get no stranger's text."""
        if not all(map(is_known_program, texts)):
            return False
        if not all(map(is_weakness, texts)) and "stranger" in self._site.flow.labels(argument, scope):
            return False
        for text in texts:
            self._site.derive(text.replace(HOLE, "NOT_KNOWN"), Context.SHELL, node, "a command with parts made here")
        return True

    def _is_listed_elsewhere(self, argument: Node, scope: Scope) -> bool:
        """True for what a loop takes out of a list that came, all or in part, from the network."""
        head: Node | None = argument
        while head is not None and head.type == "member_expression":
            head = head.child_by_field_name("object")
        bound = scope.lookup(self._site.resolver.program.name(head)) if head and head.type == "identifier" else None
        looped = bound is not None and any(each.kind == "element" for each in bound[1])
        return looped and "download" in self._site.flow.labels(argument, scope)

    def _is_own(self, text: str, argument: Node, scope: Scope) -> bool:
        """True when the file itself decides what the holes say, and the program is one it names."""
        program = text.split()[0] if text.strip() else HOLE
        if HOLE in program or program.rpartition("/")[2] not in self._words.local_programs:
            return False
        return "outside" not in self._site.flow.labels(argument, scope)

    def _process(self, node: Node, scope: Scope, path: str, arguments: list[Node]) -> None:
        program = _pick(arguments, 0)
        if program is None:
            return
        for name, *others in passed_on(self._site.resolver, arguments, scope):
            told = map(_word, others[0].items or ()) if others else ()
            for text in name.known[:1]:
                self._site.derive(" ".join((shlex.quote(text), *told)), Context.SHELL, node, path)
        if self._has_option("shell", arguments[1:], scope):
            self._shell(node, scope, path, program)
            return
        if path.endswith("Worker") and self._has_option("eval", arguments[1:], scope):
            self._code(node, scope, path, program)
            return
        value = self._replaced(self._value(program, scope), program, scope)
        known = [text for text in value.texts if text.strip(HOLE)]
        if not known:
            self._site.capability("binary", "*", node)
            if "download" in self._site.flow.labels(program, scope):
                message = f"{path} starts a program whose name comes from the network"
                self._site.report("javascript-downloaded-execution", node, message)
            return
        rest = self._listed(arguments[1], scope) if len(arguments) > 1 else Value(items=())
        items = (rest.items if rest.items is not None else (UNKNOWN,))[:256]
        if value.decoded or (self._starts_interpreter(known) and _runs_decoded(items)):
            message = f"{path} starts a program whose {'name' if value.decoded else 'command'} is hidden"
            self._site.report("javascript-decoded-execution", node, message)
        words = [_word(item) for item in items]
        for text in known:
            if self._starts_interpreter((text,)):
                is_shell = _name(text) in self._words.shells
                self._typed.started(node, scope, _name(text), words, arguments[1:3], is_shell=is_shell)
            command = shlex.quote(text.replace(HOLE, "NOT_KNOWN"))
            self._site.derive(" ".join((command, *words)), Context.SHELL, node, path)
            judge_published(self._site, self._words, node, scope, [text, *map(_told, items)], *arguments[1:])
        if len(arguments) > 1:
            self._sends(node, scope, arguments[1], value)

    def _starts_interpreter(self, programs: Iterable[str]) -> bool:
        return any(_name(text) in _READERS or _name(text) in self._words.shells for text in programs)

    def _listed(self, argument: Node, scope: Scope) -> Value:
        """The arguments of a program: a list, or the ``args`` of options."""
        value = self._value(argument, scope)
        if value.objects:
            inner = self._site.resolver.names.member(Value(objects=value.objects), "args")
            return inner if inner.items is not None else Value(items=())
        return value

    def _sends(self, node: Node, scope: Scope, argument: Node, command: Value) -> None:
        """A secret on the command line of a program that talks to other machines."""
        spoken = {word.rpartition("/")[2] for text in command.texts for word in text.replace(HOLE, " ").split()[:64]}
        programs = spoken & self._words.sending_programs
        if not programs:
            return
        for label in sorted(self._site.flow.labels(argument, scope)):
            if label.startswith("secret:"):
                what = label.partition(":")[2]
                subject = subject_of(what)
                message = f"{what} flows into {min(programs)}"
                self._site.report("code-credential-sent", node, message, subject=subject)

    def _has_option(self, name: str, options: list[Node], scope: Scope) -> bool:
        """True when an option object switches `name` on."""
        for option in options:
            literals = self._value(option, scope).objects if option.type not in FUNCTIONS else ()
            for literal, home in literals:
                for child in literal.named_children:
                    key = child.child_by_field_name("key") if child.type == "pair" else None
                    if key is None or self._site.resolver.program.name(key).strip("'\"") != name:
                        continue
                    given = child.child_by_field_name("value")
                    if given is not None and given.type not in {"false", "undefined", "null"}:
                        return self._value(given, home).text != "false"
        return False

    def _import(self, node: Node, scope: Scope, path: str, argument: Node | None) -> None:
        if argument is None:
            return
        value = self._value(argument, scope)
        if value.decoded:
            self._site.report("javascript-hidden-import", node, "the name of the imported module is hidden")
            return
        for text in value.texts:
            if text.startswith(("data:", "blob:")):
                self._site.report("javascript-eval", node, f"{path} runs code that stands in an address")
            elif "://" in text and not text.startswith("file://"):
                message = f"{path} runs code from {text.replace(HOLE, '…')[:120]}"
                fenced = "".join(self._site.segment.provenance[:1]).startswith("fence")
                page = fenced and _PAGE.search(self._site.segment.text)
                listed = text.startswith(self._words.vendors) and ".." not in text and HOLE not in text
                severity = Severity.WARN if page or listed else None  # what a page has its visitors' browsers load
                self._site.report("javascript-downloaded-execution", node, message, severity=severity)
        if not value.texts and "download" in self._site.flow.labels(argument, scope):
            self._site.report("javascript-downloaded-execution", node, f"{path} loads what came from the network")
        elif not value.texts or any(text.startswith(HOLE) for text in value.texts):
            self._site.report("javascript-chosen-import", node, f"{path} loads a module chosen at run time")

    def handed(self, path: str, arguments: list[Node], scope: Scope) -> None:
        """``lines.forEach(eval)``: whoever gets such a function decides what it runs."""
        if path.endswith("promisify") or path in {"Reflect.apply"}:
            return
        arrays = (each for each in arguments if each.type == "array")
        nested = list(islice(chain.from_iterable(self._below(each, scope) for each in arrays), _MOST_NESTED))
        called = {each.child_by_field_name("function") for each, _ in nested if each.type == "call_expression"}
        for argument, inner in (*((each, scope) for each in arguments), *nested):
            if argument.type not in _PASSABLE or argument in called:
                continue
            for name in self._value(argument, inner).paths:
                runs = (name in self._words.code and name not in _MAKERS) or name in self._words.shell
                if runs and name != "$":
                    message = f"{name} is handed to other code, so what it will run cannot be judged"
                    self._site.report("javascript-handed-execution", argument, message)

    def _below(self, array: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        """What an array holds, each with the scope that it is read in: a function in it has names of its own."""
        queue = [(array, scope)]
        while queue:
            node, inner = queue.pop()
            yield node, inner
            if node.type in FUNCTIONS:
                inner = self._site.resolver.program.functions.get(node.id, inner)
            queue += [(child, inner) for child in reversed(node.named_children)]


def _pick(arguments: list[Node], position: int) -> Node | None:
    if not arguments:
        return None
    return arguments[-1] if position < 0 else arguments[position] if position < len(arguments) else None


def _arguments_start(node: Node) -> int:
    listed = node.child_by_field_name("arguments")
    return listed.start_byte if listed is not None else -1


def _name(program: str) -> str:
    return program.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _runs_decoded(items: Sequence[Value]) -> bool:
    """``["-c", decoded]``: an interpreter is given a program that was hidden."""
    return any(
        item.decoded and any(_RUNS_NEXT.fullmatch(text) for text in before.texts) for before, item in pairwise(items)
    )


def _told(item: Value) -> str:
    return item.text or HOLE


def _word(item: Value) -> str:
    text = item.text
    return _UNKNOWN_WORD if text is None or HOLE in text else shlex.quote(text)

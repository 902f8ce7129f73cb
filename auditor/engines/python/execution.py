"""Judges calls that run something: source text, shell commands, programs, serialised objects, chosen modules."""

from __future__ import annotations

import ast
from functools import cache
from itertools import dropwhile
from typing import Any, Final

from skillkeep.auditor.engines.examples import example_severity
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.python.dumped import is_own_dump
from skillkeep.auditor.engines.python.fetched_scripts import starts_fetched
from skillkeep.auditor.engines.python.flow import Flow, secret_labels
from skillkeep.auditor.engines.python.import_hooks import is_handed_on
from skillkeep.auditor.engines.python.inputs import FEEDING, judge_input, judge_program, judge_template
from skillkeep.auditor.engines.python.loaders import unsafe_loading
from skillkeep.auditor.engines.python.made import made_by, words_of
from skillkeep.auditor.engines.python.named_scripts import is_named_script
from skillkeep.auditor.engines.python.programs import runs_fetched
from skillkeep.auditor.engines.python.scopes import Binding, Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.streams import is_joined_shell
from skillkeep.auditor.engines.python.told import plain_texts, run_by_shell, text_of_shell, told_texts
from skillkeep.auditor.engines.python.values import HOLE, HOLE_WORD, alternatives, as_word, is_whole, texts_of
from skillkeep.auditor.engines.python.wrapped import wrapped_commands
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Severity

__all__ = ["LOOKS", "Execution", "names_that_run"]

LOOKS: Final = frozenset(
    {"builtins.callable", "builtins.hasattr", "builtins.isinstance", "inspect.signature", "builtins.print"}
)
"""Calls that run nothing that is handed to them."""

_ONLY_SYNTAX: Final = 0x400  # ast.PyCF_ONLY_AST: compile() returns a tree and no code
_SPREAD_ARGUMENTS: Final = ("os.execl", "os.spawnl", "asyncio.create_subprocess_exec")
_KINDS: Final = (
    "code", "template", "interpreted", "shell", "process", "deserialise", "deserialise_file", "import", "import_soft",
    "native")  # fmt: skip
_HOLDERS: Final = frozenset({"value", "import", "element", "item", "part"})
_HOLDING: Final = frozenset(
    {ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Await, ast.List,
     ast.Tuple, ast.Set}
)  # fmt: skip
_GETTERS: Final = frozenset(
    {"getattr", "get", "pop", "__getattribute__", "__getattr__", "__import__", "import_module", "partial", "closing",
     "attrgetter", "wraps", "methodcaller", "vars"}
)  # fmt: skip
_REFERENCES: Final = frozenset({ast.Name, ast.Attribute, ast.Subscript})
_PROGRAM_FIRST: Final = ("os.execv", "os.spawnv", "os.posix_spawn")


def names_that_run(sinks: dict[str, Any]) -> frozenset[str]:
    """The names of calls that `Execution.judge` has to see; of all others, `Execution.handed_on` is enough."""
    return frozenset((*(name for kind in _KINDS for name in sinks[kind]), *FEEDING, "os.dup2"))


@cache
def _known() -> tuple[frozenset[str], dict[str, str], frozenset[str], frozenset[str]]:
    """Dangerous modules, the kind of every name that runs something, names that must not be handed on, their ends."""
    sinks = table("python")
    handed = frozenset(sinks["code"]) | frozenset(sinks["shell"]) | frozenset(sinks["deserialise"])
    kinds = {name: kind for kind in reversed(_KINDS) for name in sinks[kind]}
    return frozenset(sinks["dangerous_modules"]), kinds, handed, frozenset(name.rpartition(".")[2] for name in handed)


class Execution:
    """Judges one call at a time by the names it may resolve to."""

    def __init__(self, site: Site, flow: Flow, sinks: dict[str, Any]) -> None:
        self._site = site
        self._flow = flow
        self._table = sinks
        self._duplicated: ast.Call | None = None
        self._may: dict[tuple[int, str], bool] = {}  # whether a name of a scope may stand for what runs something
        self._modules, self._kinds, self._handed, self._handed_ends = _known()

    def judge(self, call: ast.Call, scope: Scope, names: tuple[str, ...]) -> None:
        """Judge `call`, whose callee may be any of `names`."""
        for name in names:
            kind = self._kinds.get(name)
            if kind is not None:
                self._dangerous(call, scope, name, kind)
            elif name.endswith(".?"):
                self._hidden(call, name)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__subclasses__":
            self._site.report("python-hidden-execution", call, "searches all classes for one that runs code")
        if "os.dup2" in names:
            self._duplicated = call
        if not FEEDING.isdisjoint(names):
            judge_input(self._site, self._flow, call, scope)
        self.handed_on(call, scope)

    def _dangerous(self, call: ast.Call, scope: Scope, name: str, kind: str) -> None:
        where = self._table[kind][name]
        if kind == "code":
            self._code(call, scope, name, where)
        elif kind in {"template", "interpreted"}:
            judge_template(self._site, self._flow, call, scope, self._site.argument(call, where))
        elif kind == "shell":
            self._shell(call, scope, name, self._site.argument(call, where))
        elif kind == "process":
            self._process(call, scope, name, where)
        elif kind.startswith("deserialise"):
            self._deserialise(call, scope, name)
        elif kind == "native":
            self._site.report("python-native-code", call, f"{name} loads machine code that this audit cannot read")
        else:
            rule = "python-dynamic-import" if kind == "import" else "python-chosen-import"
            self._import(call, scope, name, where, rule)

    def joined(self, *, connects: bool) -> None:
        """After every call: standard streams that are replaced where a socket connects."""
        if connects and self._duplicated is not None:
            self._site.report("python-reverse-shell", self._duplicated, "standard streams are joined to a connection")

    def stored(self) -> None:
        """After every call: code put into a function, and objects that say what runs when they are loaded."""
        for binding, scope in self._site.found.attributes.get("__code__", ()):
            value = binding.node
            if isinstance(value, ast.expr) and not any(
                isinstance(each, ast.Attribute) and each.attr == "__code__" for each in ast.walk(value)
            ):
                self._unknown(value, scope, value, (), "python-eval", "code made at run time becomes a function's")
        for name in ("__reduce__", "__reduce_ex__"):
            for binding, scope in self._site.found.attributes.get(name, ()):
                inner = self._site.names.inner(binding.node, scope)
                for value in inner.returns if inner is not None else ():
                    self._reduced(value, inner)

    def _reduced(self, value: ast.expr, scope: Scope | None) -> None:
        if scope is None or not isinstance(value, ast.Tuple) or not value.elts:
            return
        for name in self._site.names.resolve(value.elts[0], scope):
            if name in self._handed or name in self._table["process"]:
                self._site.report("python-handed-execution", value, f"loading the object calls {name}")

    def decorated(self, decorator: ast.expr, scope: Scope) -> None:
        """A decorator is called with what it decorates."""
        for name in self._site.names.resolve(decorator, scope):
            if name in self._handed:
                self._site.report("python-handed-execution", decorator, f"{name} is used as a decorator")

    def _code(self, call: ast.Call, scope: Scope, name: str, where: list[int | str]) -> None:
        argument = self._site.argument(call, where)
        if argument is None and not call.args and not call.keywords:
            return
        if name == "builtins.compile" and (id(call) in self._site.found.unused or self._only_syntax(call, scope)):
            return
        if name.startswith("timeit.") and argument is not None and self._is_function(argument, scope):
            return
        value, layers = self._site.judged(argument, scope)
        short = name.removeprefix("builtins.")
        if is_whole(value) and all(isinstance(item, str | bytes) for item in alternatives(value)):
            if layers:
                self._decoded(call, short, layers)
            for item in alternatives(value):
                self._site.derive(item, Context.PYTHON, argument or call, short)
            return
        mild = Severity.WARN if is_named_script(self._site, argument, scope) else None
        self._unknown(call, scope, argument, layers, "python-eval", f"{short} runs text that is made at run time", mild)

    def _only_syntax(self, call: ast.Call, scope: Scope) -> bool:
        flags = self._site.argument(call, [3, "flags"])
        if flags is None:
            return False
        names = self._site.names.resolve(flags, scope)
        return "ast.PyCF_ONLY_AST" in names or self._site.fold(flags, scope) == _ONLY_SYNTAX

    def _is_function(self, argument: ast.expr, scope: Scope) -> bool:
        """True for a function of this file: its body is judged where it stands."""
        if isinstance(argument, ast.Lambda):
            return True
        bound = scope.lookup(argument.id) if isinstance(argument, ast.Name) else None
        return bound is not None and all(item.kind == "define" for item in bound[1])

    def _decoded(self, call: ast.Call, short: str, layers: tuple[str, ...]) -> None:
        self._site.report("python-decoded-execution", call, f"{short} runs a text hidden by {', '.join(layers)}")

    def _unknown(
        self,
        call: ast.expr,
        scope: Scope,
        argument: ast.expr | None,
        layers: tuple[str, ...],
        rule: str,
        message: str,
        severity: Severity | None = None,
    ) -> None:
        """Report execution of something the file does not tell, by the worst that flows into it."""
        labels = self._flow.labels(argument, scope)
        if "download" in labels:
            self._site.report("python-downloaded-execution", call, f"{message}, and it comes from the network")
        elif "decoded" in labels or layers:
            self._site.report("python-decoded-execution", call, f"{message}, out of a decoder")
        elif rule == "python-os-command" and secret_labels(labels):
            self._site.report(rule, call, f"{message}, and a secret flows into it")
        else:
            severity = severity or example_severity(self._site.segment, self._site.excerpt(call))
            self._site.report(rule, call, message, severity=severity)

    def _shell(self, call: ast.Call, scope: Scope, name: str, argument: ast.expr | None) -> None:
        value, layers = run_by_shell(self._site, argument, scope)
        if any(starts_fetched(self._flow, item, scope) for item in texts_of(value)):
            message = f"{name} has a shell start what came from the network"
            self._site.report("python-downloaded-execution", call, message)
        if is_whole(value) and all(isinstance(item, str | bytes) for item in alternatives(value)):
            if layers:
                self._decoded(call, name, layers)
            for item in alternatives(value):
                self._site.derive(item, Context.SHELL, argument or call, name)
                self._made(call, scope, None, words_of(item) if isinstance(item, str) else [])
            return
        rule = "python-shell-true" if name in self._table["process"] else "python-os-command"
        known = next((item for item in alternatives(value) if isinstance(item, str)), "")
        shape = f": {known.replace(HOLE, '…')[:120]}" if known.strip(HOLE) else ""
        plain = plain_texts(told := told_texts(self._site, argument, scope), value)
        for item in plain:
            self._site.derive(item.replace(HOLE, "NOT_KNOWN"), Context.SHELL, argument or call, name)
        if told and not layers and HOLE not in "".join(told) and not self._flow.labels(argument, scope):
            return
        message = f"{name} has a shell run a command made at run time{shape}"
        self._unknown(call, scope, argument, layers, rule, message, Severity.WARN if plain else None)

    def _process(self, call: ast.Call, scope: Scope, name: str, where: list[int | str]) -> None:
        argument = self._site.argument(call, where)
        shell = list(alternatives(self._site.keyword(call, "shell", scope)))
        if any(shell):
            self._shell(call, scope, name, argument)
            return
        for given, place in wrapped_commands(self._site, argument, scope):
            completed = list(dropwhile(HOLE_WORD.__eq__, map(as_word, given)))  # the program: below
            if completed:
                self._site.derive(" ".join(completed), Context.SHELL, place, name)
        judge_program(self._site, self._flow, call, scope, argument)
        words = self._words(call, scope, name, argument, where)
        if is_joined_shell(call, words):
            self._duplicated = call
        if not shell and not self._forwards(call, scope):
            message = "whether a shell is used is decided at run time"
            self._site.report("python-shell-true", call, message, severity=Severity.WARN)
        if words is None:
            self._not_known(call, scope, name, argument)
            return
        if words[0] == HOLE_WORD:  # a program that the file does not name, as in ``run([tool, "--help"])``
            self._site.capability("binary", "*", call)
            if self._flow.labels(argument, scope).isdisjoint({"download", "decoded"}):
                words = list(dropwhile(HOLE_WORD.__eq__, words))
            elif len(words) > 1:
                words = words[1:]
            if not words:
                return
        self._site.derive(" ".join(words), Context.SHELL, argument or call, name)
        if (text := text_of_shell(self._site, argument, words, scope)) is not None:
            self._shell(call, scope, name, text)
        self._made(call, scope, argument, words)

    def _not_known(self, call: ast.Call, scope: Scope, name: str, argument: ast.expr | None) -> None:
        """A program is started of which nothing is known."""
        if runs_fetched(self._site, self._flow, argument, scope):
            self._site.report("python-downloaded-execution", call, f"{name} starts what came from the network")
        self._site.capability("binary", "*", call)

    def _made(self, call: ast.Call, scope: Scope, argument: ast.expr | None, words: list[str]) -> None:
        """A program is started that the program itself has written."""
        for text in made_by(self._flow.contents, self._site.folder, argument, scope, words):
            self._site.derive(text, Context.SHELL, call, "written to a file and run")

    def _forwards(self, call: ast.Call, scope: Scope) -> bool:
        """True when the unknown options are the caller's own ``**kwargs``, handed through."""
        spreads = [item.value for item in call.keywords if item.arg is None]
        bound = [scope.lookup(item.id) if isinstance(item, ast.Name) else None for item in spreads]
        opaque = [found is not None and all(each.kind in {"opaque", "more"} for each in found[1]) for found in bound]
        return bool(opaque) and all(opaque)

    def _words(
        self, call: ast.Call, scope: Scope, name: str, argument: ast.expr | None, where: list[int | str]
    ) -> list[str] | None:
        """The command as shell words, unknown ones as a variable; None when nothing is known."""
        position = where[0] if isinstance(where[0], int) else 0
        if name.startswith(_SPREAD_ARGUMENTS):
            skip = 1 if name.startswith("asyncio.") else 2
            chosen = [*call.args[position : position + 1], *call.args[position + skip :]]
            return [as_word(self._site.fold(item, scope)) for item in chosen] or None
        value = self._site.fold(argument, scope)
        if isinstance(value, tuple):
            words = [as_word(item) for item in value]
            if name.startswith(_PROGRAM_FIRST) and 0 < position <= len(call.args):
                words = [as_word(self._site.fold(call.args[position - 1], scope)), *words[1:]]
            return words or None
        texts = [item for item in alternatives(value) if isinstance(item, str)]
        return [texts[0].replace(HOLE, HOLE_WORD)] if len(texts) == 1 and texts[0].strip(HOLE) else None

    def _deserialise(self, call: ast.Call, scope: Scope, name: str) -> None:
        argument = call.args[0] if call.args else None
        if isinstance(argument, ast.Call) and any(
            inner.endswith(".dumps") for inner in self._site.names.resolve(argument.func, scope)
        ):
            return
        if name in self._table["deserialise"]:
            rule = "python-deserialise"
            labels = self._flow.labels(argument, scope)
            origin = " that comes from the network" if "download" in labels else ""
            own = name.endswith(".load") and not labels and is_own_dump(self._site, argument, scope)
            example = name.endswith(".load") and not labels and "fence" in "".join(self._site.segment.provenance[:1])
            shown = None if labels else example_severity(self._site.segment, self._site.excerpt(call))
            severity = Severity.WARN if example or own else shown
            self._site.report(rule, call, f"{name} runs code that the data{origin} chooses", severity=severity)
        elif rule := unsafe_loading(self._site, self._flow, call, scope, name):
            self._site.report(rule, call, f"{name} can run code that the file chooses")

    def _import(self, call: ast.Call, scope: Scope, name: str, where: list[int | str], rule: str) -> None:
        argument = self._site.argument(call, where)
        value, layers = self._site.judged(argument, scope)
        told = told_texts(self._site, argument, scope)
        if is_whole(value) or (told and HOLE not in "".join(told)):
            if layers:
                self._site.report("python-hidden-import", call, f"the imported module's name is hidden by {layers[0]}")
            return
        labels = self._flow.labels(argument, scope)
        if "download" in labels:
            self._site.report("python-downloaded-execution", call, f"{name} imports what came from the network")
            return
        guarded = any(one <= call.lineno <= last for one, last in self._site.found.import_guards)
        harmless = not labels and (guarded or is_handed_on(call, scope))
        message = f"{name.removeprefix('builtins.')} imports a module chosen at run time"
        chosen = rule == "python-chosen-import"
        shown = None if chosen else example_severity(self._site.segment, self._site.excerpt(call))
        self._site.report(rule, call, message, severity=Severity.WARN if harmless else shown)

    def _hidden(self, call: ast.Call, name: str) -> None:
        module = name.removesuffix(".?")
        if module in self._modules:
            message = f"a function of {module} is chosen at run time and called"
            self._site.report("python-hidden-execution", call, message)
        elif module == "globals":
            self._site.report("python-chosen-call", call, "a function is chosen by a name made at run time and called")

    def handed_on(self, call: ast.Call, scope: Scope) -> None:
        """Judge functions that run things where they are passed as arguments."""
        may = self._may
        for item in (*call.args, *[each.value for each in call.keywords]) if call.keywords else call.args:
            kind = item.__class__
            if kind is ast.Name:
                key = (id(scope), item.id)  # type: ignore[attr-defined]
                known = may.get(key)
                if known is None:
                    known = may[key] = self._may_be_handed(item, scope)
            else:
                known = kind in _REFERENCES and self._may_be_handed(item, scope)
            if known:
                self._reference(call, item, scope)

    def _reference(self, call: ast.Call, item: ast.expr, scope: Scope) -> None:
        for name in self._site.names.resolve(item, scope):
            if name in self._handed and not self._only_looked_at(call, scope):
                message = f"{name} is handed to other code, so what it will run cannot be judged"
                self._site.report("python-handed-execution", item, message)

    def _may_be_handed(self, item: ast.AST | None, scope: Scope) -> bool:
        """False, at little cost, for most expressions: nothing of that name runs anything, and none is set here."""
        kind = item.__class__
        if self._site.names.program.linked:
            return kind in _REFERENCES
        if kind is ast.Name:
            bound = scope.lookup(item.id)  # type: ignore[union-attr]
            if bound is None:
                return item.id in self._handed_ends or bool(scope.module.stars)  # type: ignore[union-attr]
            return any(each.kind in _HOLDERS and self._may_hold(each, bound[0]) for each in bound[1])
        if kind is ast.Attribute:
            return item.attr in self._handed_ends or item.attr in self._site.found.attributes  # type: ignore[union-attr]
        return kind in _REFERENCES

    def _may_hold(self, binding: Binding, home: Scope) -> bool:
        if binding.kind == "import":
            return binding.name.rpartition(".")[2] in self._handed_ends
        node = binding.node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr in _GETTERS or node.func.attr in self._site.found.attributes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._may_answer(node.func.id, home)
        return node.__class__ in _HOLDING and (not isinstance(node, ast.Attribute) or self._may_be_handed(node, home))

    def _may_answer(self, function: str, scope: Scope) -> bool:
        """False for calls that answer no function: of most builtins, of classes, of most imported names."""
        bound = scope.lookup(function)
        if bound is None:
            return function in _GETTERS or bool(scope.module.stars)
        return any(
            each.name.rpartition(".")[2] in _GETTERS
            if each.kind == "import"
            else not isinstance(each.node, ast.ClassDef)
            for each in bound[1]
        )

    def _only_looked_at(self, call: ast.Call, scope: Scope) -> bool:
        names = self._site.names.resolve(call.func, scope)
        return bool(names) and LOOKS.issuperset(names)

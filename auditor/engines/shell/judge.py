"""Judges a parsed script: follows data along pipelines and through variables, and asks each call what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.shell.acting import Acting, only_looks
from skillkeep.auditor.engines.shell.braces import braced
from skillkeep.auditor.engines.shell.callers import Callers
from skillkeep.auditor.engines.shell.calls import calls_of, given_to, program_name
from skillkeep.auditor.engines.shell.earlier import ways
from skillkeep.auditor.engines.shell.evaluate import HOLE, OWN_VARIABLE
from skillkeep.auditor.engines.shell.execution import Execution
from skillkeep.auditor.engines.shell.lookup import lookup
from skillkeep.auditor.engines.shell.model import Command, Pipeline, Script, Substitution, Variable, Word
from skillkeep.auditor.engines.shell.narrowing import narrows, takes_jobs_out
from skillkeep.auditor.engines.shell.parameters import Given
from skillkeep.auditor.engines.shell.putting import puts
from skillkeep.auditor.engines.shell.reach import Reach
from skillkeep.auditor.engines.shell.remembering import remember
from skillkeep.auditor.engines.shell.set_first import set_first
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.tables import secrets, subject_of

__all__ = ["Judge", "Told"]

Told = tuple[str, str, Sequence[Callable[[], None]]]
"""A function that its own script calls: the script's path, its name, and the ways to report what else it could do."""

_NOTHING: Final[frozenset[str]] = frozenset()
_LONGEST_EVALUATED: Final = 32  # commands whose output is worked out; longer pipelines are followed by labels
_DECLARING: Final = frozenset({"declare", "export", "local", "readonly", "typeset"})
_LOCAL: Final = frozenset({"declare", "local", "typeset"})
_MOST_CALLS: Final = 300  # of the script's own functions, judged again with their arguments
_DEEPEST_CALL: Final = 4
_MOST_SHIFTS: Final = 3
_MOST_SHIFTED: Final = 9
_RUNNING: Final = frozenset(
    {"shell-eval", "shell-dynamic-command", "shell-decoded-execution", "shell-download-execution"}
)
_NO_PATH: Final = compiled(r"[\w:+,%-]{0,60}")
_PRINTING: Final = frozenset({"echo", "printf", "test", "[", "exit", "return", "break", "continue"})
_TELLING: Final = compiled(r"[/|$;`~]|[A-Za-z0-9+=]{12}")  # a path, an address, a command or a payload


class Judge:
    """Judges one segment. Labels: ``secret:<what>``, ``environment``, ``download``, ``decoded``."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table
        self._execution = Execution(site, table, self.script)
        self._reach = Reach(site, table)
        self._run_later = lookup().run_later
        self._telling = lookup().telling
        self._evaluating = {"eval", *table["interpreters"]}
        self._reading = {*table["interpreters"], *table["sources"], *table["prefixes"], "cat", "tee"}
        self._acting = Acting(site.functions)
        self._called: dict[tuple[object, ...], frozenset[str]] = {}
        self._callers = Callers(site)
        self._depth = 0
        self._set_first: frozenset[str] = _NOTHING

    def whole(self, script: Script) -> None:
        """Judge a script to its end: what its functions do with their arguments is told by those who call them."""
        self._set_first = set_first(script, self._site.segment.text)
        self.script(script)
        for name in list(filter(self._acting.acts, self._callers.late())):
            self._again(name)
        for name, reports in self._site.doubts.items():
            if not self._callers.are_told(name):
                for report in reports:
                    report()
            elif reports and self._site.segment.anchor is None:
                self._site.emit.notes.setdefault("told", []).append((self._site.segment.path, name, reports))
        self._execution.finish()

    def _again(self, name: str) -> None:
        """A function that somebody may still call (``trap``), with what the variables hold in the end."""
        outer, self._site.defining = self._site.defining, name
        with self._site.scope.called_with(None), self._callers.inside(name), self._site.files.tried():
            self.script(self._site.functions[name])
        self._site.defining = outer

    def script(self, script: Script, flowing: frozenset[str] = _NOTHING, before: Sequence[Call] = ()) -> frozenset[str]:
        """Judge every pipeline, fed with `flowing` by the calls `before`; the labels of what the script prints."""
        for pipeline in script.pipelines:
            first = pipeline.commands[0]
            if first.function and first.body is not None:
                self._site.functions[first.function] = first.body
        labels = _NOTHING
        for pipeline in script.pipelines:
            labels |= self._pipeline(pipeline, flowing, before)
        return labels

    def _pipeline(self, pipeline: Pipeline, flowing: frozenset[str], fed_by: Sequence[Call]) -> frozenset[str]:
        commands = pipeline.commands
        self._site.narrowed = not commands[0].redirects and narrows(commands[1:])
        self._site.clearing = takes_jobs_out(commands)
        if len(commands) == 1:
            return self._command(commands[0], flowing, list(fed_by), None, alone=not fed_by)
        before = list(fed_by)
        for index, command in enumerate(commands):
            feeding = Pipeline(commands[:index]) if 0 < index <= _LONGEST_EVALUATED else None
            flowing = self._command(command, flowing, before, feeding)
        self._site.narrowed = False
        self._reach.pipeline(before)
        return flowing

    def _command(
        self,
        command: Command,
        flowing: frozenset[str],
        before: list[Call],
        feeding: Pipeline | None,
        *,
        alone: bool = False,
    ) -> frozenset[str]:
        if command.body is not None:
            labels = self._compound(command, flowing, before)
            if command.redirects:
                puts(self._site, command, (), feeding)
            return labels
        own = self._words(command, flowing, before)
        if not command.words and command.heredoc is None:
            self._assignments(command)
            return own | self._reach.redirects(command, None, own) if command.redirects else own
        if alone and not own and command.words and self._is_ordinary(command):
            return own
        passing = self._passing(command) if command.assignments and command.words else ()
        if command.assignments:
            self._assignments(command)
        if command.heredoc is not None:
            own |= self._word(command.heredoc)
        calls = list(calls_of(command, self._site.scope, self._table)) if command.words else []
        puts(self._site, command, calls, feeding)
        if not calls:
            return own | self._without_call(command, flowing, own)
        for call in calls:
            own |= self._call(call, flowing, own, before, feeding)
        self._site.scope.own.difference_update(passing)
        before.extend(calls)
        if command.redirects:
            self._fed(command, flowing | own, before)
            own |= self._reach.redirects(command, calls[0], flowing | own)
        return flowing | own

    def _call(
        self, call: Call, flowing: frozenset[str], own: frozenset[str], before: list[Call], feeding: Pipeline | None
    ) -> frozenset[str]:
        if call.name in self._site.functions:
            self._execution.fed_function(call, flowing | own, before)
            for each in ways(call, self._site.scope):
                own |= self._function(each, flowing, before)
            return own
        for word in call.command.words if "env" in call.prefixes or "sudo" in call.prefixes else ():
            name, _, value = self._site.scope.text(word).partition("=")
            if value and word is not call.program:
                self._loads(call.command, name, value, self._labels(word))
        printed = self._site.scope.printed(feeding) if feeding is not None else None
        for each in ways(call, self._site.scope) if call.name in self._evaluating else (call,):
            self._execution.judge(each, flowing | own, before, printed)
        own |= self._reach.judge(call, flowing | own, printed)
        remember(call, self._site, flowing | own, [self._labels(word) for word in call.words])
        return own

    def _without_call(self, command: Command, flowing: frozenset[str], own: frozenset[str]) -> frozenset[str]:
        if own and any(operator == "<" for operator, _ in command.redirects):
            self._site.files.handed |= own  # ``exec 3< <(command)``
        self._reach.recipe(command)
        return self._reach.redirects(command, None, flowing | own)

    def _fed(self, command: Command, flowing: frozenset[str], before: list[Call]) -> None:
        """``command > >(sh)``."""
        for _, target in command.redirects:
            if isinstance(target.only, Substitution) and target.only.into:
                self.script(target.only.script, flowing, before)

    def _is_ordinary(self, command: Command) -> bool:
        """A program that no table knows, or `echo` and its like, with arguments that are no paths."""
        name = command.words[0].literal
        if name is None or command.redirects or command.assignments or command.heredoc is not None:
            return False
        if name not in _PRINTING and (
            name not in self._site.programs or name in self._telling or name in self._site.functions
        ):
            return False
        text = self._site.scope.text
        prints = name in _PRINTING
        if name.startswith("mkfs"):
            return False
        for word in command.words[1:]:
            argument = word.literal if word.literal is not None else text(word)
            if argument == "-v" or (not _NO_PATH.fullmatch(argument) and not (prints and " " in argument)):
                return False
        return True

    def _compound(self, command: Command, flowing: frozenset[str], before: list[Call]) -> frozenset[str]:
        assert command.body is not None
        if command.function:
            self._site.printed_by.setdefault(command.function, _NOTHING)
            outer, self._site.defining = self._site.defining, command.function
            early = self._set_first - self._site.scope.own
            self._site.scope.own |= early
            with self._site.scope.called_with(None), self._callers.inside(command.function, command):
                self._site.printed_by[command.function] |= self.script(command.body)
            self._site.scope.own -= early
            self._callers.look(command.function)
            self._site.defining = outer
            return _NOTHING
        own = self._words(command, flowing, before)
        if command.heredoc is not None:
            own |= self._word(command.heredoc)
        fed = own | self._reach.inputs(command)  # ``done < <(command)``, ``done <<< "$text"``
        if command.loop is not None:
            self._loop(command)
        inside = list(before)
        with self._handed_down(command.body, command.heredoc):
            own |= self.script(command.body, flowing | fed, inside)
        first = command.body.pipelines[0].commands[0] if command.body.pipelines else None
        own |= self._reach.redirects(command, None, flowing | own)
        if first is not None and command.loop is None:
            before.extend(calls_of(first, self._site.scope, self._table))
        return flowing | own

    @contextmanager
    def _handed_down(self, body: Script, given: Word | None) -> Iterator[None]:
        """``{ bash; } <<EOF``: what a block is fed is read by those commands in it that read their input."""
        firsts = [pipeline.commands[0] for pipeline in body.pipelines] if given is not None else []
        fed = [first for first in firsts if self._reads_on(first)]
        for command in fed:
            command.heredoc = given
        yield
        for command in fed:
            command.heredoc = None

    def _reads_on(self, command: Command) -> bool:
        if command.function or command.heredoc is not None or any(operator == "<" for operator, _ in command.redirects):
            return False
        return command.body is not None or (
            bool(command.words) and program_name(command.words[0].literal or "") in self._reading
        )

    def _function(self, call: Call, flowing: frozenset[str], before: list[Call]) -> frozenset[str]:
        """A function of the script: judged again with these arguments when they tell something."""
        known = self._site.printed_by.get(call.name)
        self._callers.met(call)
        arguments = given_to(call, self._site.scope, self._labels, _MOST_SHIFTED)
        given, body = call.command.heredoc, self._site.functions[call.name]
        changed = self._callers.changed(call.name)
        key = (call.name, flowing, given.start if given is not None else -1, changed, *arguments)
        telling = known is None or given is not None or call.name in self._site.doubts
        telling = telling or self._tells(call.name, flowing, arguments)
        if key in self._called or not telling:
            return self._called.get(key) or known or _NOTHING
        if self._depth >= _DEEPEST_CALL or len(self._called) >= _MOST_CALLS:
            self._callers.untold.add(call.name)
            return known or _NOTHING
        self._called[key] = known or _NOTHING
        self._depth += 1
        outer, self._site.defining = self._site.defining, ""
        with self._handed_down(body, given), self._callers.inside(call.name):
            with self._site.scope.called_with(arguments):
                printed = self.script(body, flowing, before)
                shifts = self._site.scope.parameters.shifts
            if shifts and call.name in self._site.doubts:
                self._moved(call.name, arguments, shifts, flowing)
        self._site.defining = outer
        self._depth -= 1
        self._site.printed_by[call.name] = (known or _NOTHING) | (printed - flowing)
        self._called[key] = printed
        return printed

    def _moved(self, name: str, arguments: list[Given], shifts: int, flowing: frozenset[str]) -> None:
        """What the function runs when one `shift` of it is made as often as it can be, or none: see `Parameters`."""
        if shifts > _MOST_SHIFTS or len(arguments) > _MOST_SHIFTED:
            self._callers.untold.add(name)
            return
        only, self._site.only = self._site.only, self._site.only & _RUNNING or _RUNNING
        for moving in [(1, 0), *((at, count) for at in range(shifts + 1) for count in range(1, len(arguments)))]:
            with self._site.scope.called_with(arguments, moving), self._site.files.tried():
                self.script(self._site.functions[name], flowing)
        self._site.only = only

    def _tells(self, name: str, flowing: frozenset[str], arguments: list[tuple[str, frozenset[str]]]) -> bool:
        """True when what the function is given can change what it does."""
        find = self._site.files.find
        given = flowing or any(labels or _TELLING.search(text) or find(text) for text, labels in arguments)
        return bool(given or self._callers.changed(name)) and self._acting.acts(name)

    def _words(self, command: Command, flowing: frozenset[str], before: list[Call]) -> frozenset[str]:
        labels = _NOTHING
        for word in command.words:
            if word.literal is None:
                labels |= self._word(word, flowing, before)
        for _, target in command.redirects:
            if target.literal is None:
                labels |= self._word(target, flowing, before)
        return labels

    def _word(self, word: Word, flowing: frozenset[str] = _NOTHING, before: Sequence[Call] = ()) -> frozenset[str]:
        """Judge what is inside a word; the labels of its value."""
        labels = _NOTHING
        if word.literal is not None:
            return labels
        for piece in word.pieces:
            if isinstance(piece, Substitution):
                labels |= self.script(piece.script, flowing, before) if piece.into else self.script(piece.script)
            elif isinstance(piece, Variable):
                labels |= self._variable(piece, word)
        return labels

    def _labels(self, word: Word) -> frozenset[str]:
        """The labels of a word that has been judged already."""
        names = [piece.name for piece in word.pieces if isinstance(piece, Variable)] if word.literal is None else []
        return _NOTHING.union(*(self._site.scope.labels.get(name, _NOTHING) for name in names))

    def _variable(self, variable: Variable, word: Word) -> frozenset[str]:
        scope = self._site.scope
        name = variable.name
        inner = self._word(variable.default) if variable.default is not None else _NOTHING
        if variable.default is not None and variable.assigns and name in scope.own and not scope.texts.get(name):
            scope.assign(name, variable.default, inner, appended=False)
        for operand in variable.operands:
            inner |= self._word(operand)
        whole = name.partition("[")[0]
        if whole in scope.own:
            return scope.labels.get(name, _NOTHING) | scope.labels.get(whole, _NOTHING) | inner
        if not secrets().variable(name):
            return inner
        self._site.capability("env", name, word)
        self._site.report("code-credential-env", word, f"reads the secret {name} from the environment", subject=name)
        return inner | {f"secret:{name}"}

    def _assignments(self, command: Command) -> None:
        scope = self._site.scope
        local = bool(command.words) and command.words[0].literal in _LOCAL
        for name, value, appended in command.assignments:
            if local:
                scope.local(name)
            labels = self._word(value)
            if local and any(word.literal == "-n" for word in command.words):
                scope.forget(name, labels)  # stands for another variable
                continue
            scope.assign(name, value, labels, appended=appended)
            self._site.keep_name(name, value)
            self._loads(command, name, scope.text(value), labels)

    def _loads(self, command: Command, name: str, value: str, labels: frozenset[str]) -> None:
        """``PAGER=./show man ls``: what the variable `name` has programs run or take in."""
        self._reach.preloaded(command, name, value, labels)
        if name in self._run_later:
            self._site.derive(value.replace(HOLE, OWN_VARIABLE), Context.SHELL, command, name)

    def _passing(self, command: Command) -> list[str]:
        """Names of secrets that are set for one command alone (``TOKEN=x true``): behind it they are the user's."""
        if command.words[0].literal in _DECLARING:
            return []
        own = self._site.scope.own
        return [name for name, *_ in command.assignments if secrets().variable(name) and name not in own]

    def _loop(self, command: Command) -> None:
        loop = command.loop
        assert loop
        labels = _NOTHING
        for value in loop.values:
            labels |= self._word(value)
        scope = self._site.scope
        given = [text for value in loop.values for text in scope.arguments(value) or scope.elements(value)]
        if len(given) > 1:
            self._site.scope.forget(loop.name, labels, given)
        elif len(loop.values) == 1 and "{" not in (loop.values[0].literal or ""):
            self._site.scope.assign(loop.name, loop.values[0], labels, appended=False)
        else:
            self._site.scope.forget(loop.name, labels, [self._site.scope.text(value) for value in loop.values])
        texts = [(value, text) for value in loop.values for text in braced(self._site.scope.text(value))]
        for value, text in texts:
            what = secrets().path(text.replace(HOLE, ""))
            if what is not None and command.body is not None and only_looks(command.body, loop.name):
                self._site.report("code-credential-mention", value, f"names the place of {what} in a loop")
            elif what is not None:
                message = f"goes through files that hold secrets: {what}"
                self._site.report(
                    "code-credential-file", value, message, subject=subject_of(what), severity=secrets().reading(what)
                )

"""Judges a parsed script: follows data along pipelines and through variables, and asks each call what it does."""

from __future__ import annotations

from typing import Any, Final

from skillkeep.auditor.engines.shell.calls import calls_of
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.execution import Execution
from skillkeep.auditor.engines.shell.model import Command, Pipeline, Script, Substitution, Variable, Word
from skillkeep.auditor.engines.shell.reach import Reach
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.tables import secrets

__all__ = ["Judge"]

_NOTHING: Final[frozenset[str]] = frozenset()
_DECLARING: Final = frozenset({"export", "local", "declare", "typeset", "readonly", "ENV", "ARG"})
_LONGEST_EVALUATED: Final = 32  # commands whose output is worked out; longer pipelines are followed by labels


class Judge:
    """Judges one segment. Labels: ``secret:<what>``, ``environment``, ``download``, ``decoded``."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table
        self._execution = Execution(site, table, self.script)
        self._reach = Reach(site, table)

    def script(self, script: Script) -> frozenset[str]:
        """Judge every pipeline; the labels of what the script prints."""
        self._site.functions |= script.functions
        labels = _NOTHING
        for pipeline in script.pipelines:
            labels |= self._pipeline(pipeline)
        return labels

    def _pipeline(self, pipeline: Pipeline) -> frozenset[str]:
        flowing = _NOTHING
        before: list[Call] = []
        for index, command in enumerate(pipeline.commands):
            feeding = Pipeline(pipeline.commands[:index]) if 0 < index <= _LONGEST_EVALUATED else None
            flowing = self._command(command, flowing, before, feeding)
        self._reach.pipeline(before)
        return flowing

    def _command(
        self, command: Command, flowing: frozenset[str], before: list[Call], feeding: Pipeline | None
    ) -> frozenset[str]:
        own = self._words(command)
        if command.loop is not None:
            self._loop(command)
        calls = list(calls_of(command, self._site.scope, self._table))
        self._assignments(command, calls)
        if command.heredoc is not None:
            own |= self._word(command.heredoc)
        if not calls:
            self._reach.redirects(command, None)
            return _NOTHING
        for call in calls:
            if call.name in self._site.functions:
                self._execution.fed_function(call, flowing | own, before)
                continue
            printed = self._site.scope.printed(feeding) if feeding is not None else None
            self._execution.judge(call, flowing | own, before, printed)
            own |= self._reach.judge(call, flowing | own)
        before.extend(calls)
        self._reach.redirects(command, calls[0])
        return flowing | own

    def _words(self, command: Command) -> frozenset[str]:
        labels = _NOTHING
        for word in (*command.words, *(target for _, target in command.redirects)):
            labels |= self._word(word)
        return labels

    def _word(self, word: Word) -> frozenset[str]:
        """Judge what is inside a word; the labels of its value."""
        labels = _NOTHING
        for piece in word.pieces:
            if isinstance(piece, Substitution):
                labels |= self.script(piece.script)
            elif isinstance(piece, Variable):
                labels |= self._variable(piece, word)
        return labels

    def _variable(self, variable: Variable, word: Word) -> frozenset[str]:
        scope = self._site.scope
        name = variable.name
        inner = self._word(variable.default) if variable.default is not None else _NOTHING
        if name in scope.own:
            return scope.labels.get(name, _NOTHING) | inner
        if not secrets().variable(name):
            return inner
        self._site.capability("env", name, word)
        self._site.report("code-credential-env", word, f"reads the secret {name} from the environment", subject=name)
        return inner | {f"secret:{name}"}

    def _assignments(self, command: Command, calls: list[Call]) -> None:
        scope = self._site.scope
        for name, value, appended in command.assignments:
            labels = self._word(value)
            scope.assign(name, value, labels, appended=appended)
        for call in calls:
            if call.name == "read":
                for name in call.operands:
                    scope.forget(name)
            elif call.name in _DECLARING and call.name not in {"ENV", "ARG"}:
                continue

    def _loop(self, command: Command) -> None:
        loop = command.loop
        assert loop
        labels = _NOTHING
        for value in loop.values:
            labels |= self._word(value)
        if len(loop.values) == 1:
            self._site.scope.assign(loop.name, loop.values[0], labels, appended=False)
        else:
            self._site.scope.forget(loop.name)
            self._site.scope.labels[loop.name] = labels
        for value in loop.values:
            what = secrets().path(self._site.scope.text(value).replace(HOLE, ""))
            if what is not None:
                self._site.report("code-credential-file", value, f"goes through files that hold secrets: {what}")

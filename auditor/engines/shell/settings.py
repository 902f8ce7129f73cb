"""Whether the command whose output a shell runs prints settings, by the usual words for that."""

from __future__ import annotations

from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.quoted import is_argument, is_own_command, is_weakness
from skillkeep.auditor.engines.shell.dotenv import prints_dotenv
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.model import Command, Script, Substitution, Variable
from skillkeep.auditor.engines.shell.named_keys import is_start_up_line
from skillkeep.auditor.engines.shell.outputs import is_completion, is_own, is_setting
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.shell.taking import prints_of_anybody

__all__ = ["Settings"]

_ASSIGNS: Final = compiled(  # ``eval "$name=\"$value\""`` puts a value into a variable
    rf"(?:[A-Za-z_]\w*|{HOLE})=(?:\"[^\"`()]*\"|'[^'()`]*'|[\w.:/-]*)"
)


class Settings:
    """Looks at the commands of one segment."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table

    def is_set_up(self, call: Call) -> bool:
        """``eval "$(ssh-agent -s)"`` and its like."""
        for word in call.words:
            for piece in word.pieces:
                if not isinstance(piece, Substitution):
                    continue
                firsts = [pipeline.commands[0] for pipeline in piece.script.pipelines if pipeline.commands]
                names = {self._site.scope.text(first.words[0]).rpartition("/")[2] for first in firsts if first.words}
                if names and names <= set(self._table["safe_eval"]) - {"cat", "perl", "npm", "pip"}:
                    return not any(self._prints_of_anybody(first) for first in firsts if first.words)
        return False

    def _prints_of_anybody(self, command: Command) -> bool:
        """``gh gist view id``: the words of somebody, not the settings of the program."""
        name, *words = [self._site.scope.text(word) for word in command.words]
        return prints_of_anybody(name.rpartition("/")[2], [word for word in words if not word.startswith("-")])

    def is_printed(self, call: Call, labels: frozenset[str]) -> bool:
        """``eval "$(program auth --env)"``: one program asked for its settings, by the usual words for that."""
        piece = call.words[0].only if len(call.words) == 1 else None
        return isinstance(piece, Substitution) and self.prints(piece.script, labels)

    def is_weak(self, call: Call, text: str) -> bool:
        """True for an evaluated `text` whose unknown parts are values, or arguments of a program it begins with."""
        if is_weakness(text) or is_argument(text) or _ASSIGNS.fullmatch(text) is not None:
            return True
        piece = call.words[0].only if len(call.words) == 1 else None
        return isinstance(piece, Variable) and piece.name in self._site.scope.own and is_own_command(text)

    def prints(self, script: Script, labels: frozenset[str]) -> bool:
        commands = [command for pipeline in script.pipelines for command in pipeline.commands]
        if len(commands) == 1 and len(commands[0].words) == 1 and not labels:
            asked = [(name, self._site.scope.text(value)) for name, value, _ in commands[0].assignments]
            if is_completion(self._site.scope.text(commands[0].words[0]), asked):
                return True
        if labels or any(len(pipeline.commands) != 1 for pipeline in script.pipelines):
            return False
        first, *others = ([self._site.scope.text(word) for word in each.commands[0].words] for each in script.pipelines)
        if any(words not in (["true"], [":"]) for words in others):
            return False
        return is_start_up_line(first) or (not others and (is_setting(first) or is_own(first)))

    def prints_dotenv(self, script: Script) -> bool:
        if len(script.pipelines) != 1 or any(each.redirects or each.body for each in script.pipelines[0].commands):
            return False
        commands = [[self._site.scope.text(word) for word in each.words] for each in script.pipelines[0].commands]
        return prints_dotenv(commands) and self._site.functions.keys().isdisjoint(words[0] for words in commands)

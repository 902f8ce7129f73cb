"""Which functions of a script do more than print: only those are worth judging again with their arguments."""

from __future__ import annotations

from collections.abc import Iterator

from skillkeep.auditor.engines.shell.lookup import WRITING, lookup
from skillkeep.auditor.engines.shell.model import Command, Script, Substitution, Variable

__all__ = ["Acting", "only_looks"]

_LOOKING = frozenset({"true", "false", ":", "continue", "break", "du", "wc", "exit", "return"})


class Acting:
    """Looks a function's body over once. `functions` fills while the script is judged."""

    def __init__(self, functions: dict[str, Script]) -> None:
        self._names = lookup().acting
        self._functions = functions
        self._known: dict[str, bool] = {}

    def acts(self, name: str) -> bool:
        """True when the function, or one that it calls, runs a command whose arguments matter."""
        if (known := self._known.get(name)) is not None:
            return known
        self._known[name] = False  # while looking, so that recursion ends
        self._known[name] = any(map(self._matters, _commands(self._functions[name])))
        return self._known[name]

    def _matters(self, command: Command) -> bool:
        if not command.words:
            return False
        name = command.words[0].literal
        if name in WRITING:
            return bool(command.redirects)
        return name is None or name in self._names or (name in self._functions and self.acts(name))


def only_looks(script: Script) -> bool:
    """True when every command of `script`, also in its words, names files without giving their content away."""
    looking = lookup().path_only | _LOOKING
    for command in _commands(script):
        name = command.words[0].literal if command.words else None
        if command.redirects and any(operator.startswith("<") for operator, _ in command.redirects):
            return False
        if name not in looking and (command.words or command.heredoc is not None):
            return False
        if any(isinstance(piece, Variable) for _, value, _ in command.assignments for piece in value.pieces):
            return False  # the name of a file is kept for later
        inner = (piece.script for word in command.words for piece in word.pieces if isinstance(piece, Substitution))
        if not all(map(only_looks, inner)):
            return False
    return True


def _commands(script: Script) -> Iterator[Command]:
    queue = [script]
    while queue:
        for pipeline in queue.pop().pipelines:
            for command in pipeline.commands:
                yield command
                if command.body is not None:
                    queue.append(command.body)

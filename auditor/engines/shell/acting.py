"""Which functions of a script do more than print: only those are worth judging again with their arguments."""

from __future__ import annotations

from collections.abc import Iterator

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.lookup import WRITING, lookup
from skillkeep.auditor.engines.shell.model import Command, Script, Substitution, Variable, Word

__all__ = ["Acting", "only_looks"]

_TESTING = frozenset({"[", "[[", "test", "stat"})
_SEARCHING = frozenset({"grep", "egrep", "fgrep"})
_PASSING = frozenset({"tee", "head", "tail", "wc", "sort", "uniq"})
_MOVING = frozenset({"cd", "pushd"})
_FROM_FILE = compiled(r"-[A-Za-z]*[ef]|--(?:file|regexp)")
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


def only_looks(script: Script, name: str, kept: bool = False) -> bool:
    """True when every command of `script`, also in its words, names the file ``$name`` without giving it away.

    What is `kept` in a variable is not its name either. To look for a text that is in ``$name`` opens no such file.
    """
    commands = list(_commands(script))
    moved = any(_program(command) in _MOVING for command in commands)
    return all(_looks(command, name, kept=kept, moved=moved) for command in commands)


def _looks(command: Command, name: str, *, kept: bool, moved: bool) -> bool:
    program = _program(command)
    if any(operator.startswith("<") for operator, _ in command.redirects):
        return False
    if command.words or command.heredoc is not None:
        looking = program in lookup().path_only | _LOOKING
        if not looking and (moved or command.heredoc is not None or not _filters(command, program, name)):
            return False
        if looking and kept and program not in _TESTING and any(_names(word, name) for word in command.words):
            return False
        if program == "printf" and any(word.literal == "-v" for word in command.words):
            return False
    if any(isinstance(piece, Variable) for _, value, _ in command.assignments for piece in value.pieces):
        return False  # the name of a file is kept for later
    said = (piece for word in command.words for piece in word.pieces if isinstance(piece, Substitution))
    held = (piece for _, value, _ in command.assignments for piece in value.pieces if isinstance(piece, Substitution))
    return all(only_looks(each.script, name, kept) for each in said) and all(
        only_looks(each.script, name, kept=True) for each in held
    )


def _filters(command: Command, program: str | None, name: str) -> bool:
    """``grep -r "$name" folder``, and what passes on the lines that it is fed."""
    operands = [word for word in command.words[1:] if not (word.literal or "").startswith("-")]
    if program in _PASSING:
        return (program == "tee" and not any(_names(word, name) for word in operands)) or not operands
    options = [word.literal or "" for word in command.words[1:] if word not in operands]
    if program not in _SEARCHING or any(map(_FROM_FILE.match, options)):
        return False
    return not any(_names(word, name) for word in operands[1:])


def _names(word: Word, name: str) -> bool:
    """True when ``$name`` is in the word, also in a command within it."""
    return any(
        piece.name == name
        or (piece.default is not None and _names(piece.default, name))
        or any(_names(operand, name) for operand in piece.operands)
        if isinstance(piece, Variable)
        else isinstance(piece, Substitution)
        and any(_names(inner, name) for command in _commands(piece.script) for inner in command.words)
        for piece in word.pieces
    )


def _program(command: Command) -> str | None:
    return command.words[0].literal if command.words else None


def _commands(script: Script) -> Iterator[Command]:
    queue = [script]
    while queue:
        for pipeline in queue.pop().pipelines:
            for command in pipeline.commands:
                yield command
                if command.body is not None:
                    queue.append(command.body)

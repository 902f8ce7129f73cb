"""Collects the parser's words into commands and pipelines; knows the reserved words."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.engines.shell.model import Command, Loop, Pipeline, Script, Word

__all__ = ["Builder"]

_LEADING: Final = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "time", "coproc", "{", "}"})
_ENDING: Final = frozenset({"fi", "done", "esac", "then", "else", "do", "{", "}", "in"})
_DECLARING: Final = frozenset({"export", "local", "declare", "typeset", "readonly", "env", "ENV", "ARG", "sudo"})


class Builder:
    """The script read so far, with the pipeline and the command that are still open."""

    def __init__(self) -> None:
        self.script = Script()
        self.pipeline = Pipeline()
        self.command = Command(0)
        self.cases = 0

    @property
    def in_test(self) -> bool:
        """Inside ``[[ … ]]``, where operators are plain characters."""
        words = self.command.words
        return bool(words) and words[0].literal == "[[" and words[-1].literal != "]]"

    @property
    def may_assign(self) -> bool:
        """True before the first word of a command, and after words that declare variables."""
        first = self.command.words[0].literal if self.command.words else None
        return first is None or first in _DECLARING

    def open(self, at: int) -> Command:
        """The command being read."""
        if self.command.empty:
            self.command.start = at
        return self.command

    def add(self, word: Word) -> None:
        """Add a word; reserved words before a command vanish."""
        text = word.literal if not word.quoted else None
        if not self.command.words and not self.command.assignments:
            if text in _LEADING:
                return
            if text == "case":
                self.cases += 1
            elif text == "esac":
                self.cases = max(self.cases - 1, 0)
        self.command.words.append(word)

    def drop_descriptor(self) -> None:
        """``2>``: the number before a redirection is no argument."""
        if self.command.words and (self.command.words[-1].literal or "").isdigit():
            self.command.words.pop()

    def function(self) -> None:
        """``name()``: what was read is a function's name."""
        name = self.command.words[-1].literal
        if name:
            self.script.functions.add(name)
        self.command = Command(0)

    def drop(self) -> None:
        """A pattern of ``case``: no command."""
        self.pipeline = Pipeline()
        self.command = Command(0)

    def end_command(self) -> None:
        """A ``|``."""
        command, self.command = self.command, Command(0)
        first = command.words[0].literal if command.words and not command.words[0].quoted else None
        if first in {"for", "select"} and len(command.words) > 1:
            name = command.words[1].literal or ""
            command.loop = Loop(name, command.words[3:])
            command.words = []
        elif first == "function" and len(command.words) > 1:
            self.script.functions.add(command.words[1].literal or "")
            return
        elif first == "case" or (first in _ENDING and len(command.words) == 1 and not command.redirects):
            return
        if not command.empty:
            self.pipeline.commands.append(command)

    def end_pipeline(self) -> None:
        """A separator: what follows is another pipeline."""
        self.end_command()
        if self.pipeline.commands:
            self.script.pipelines.append(self.pipeline)
            self.pipeline = Pipeline()

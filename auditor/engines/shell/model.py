"""The parts a shell script falls into: words made of pieces, commands, pipelines."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Command", "Loop", "Pipeline", "Script", "Substitution", "Variable", "Word"]


@dataclass(slots=True)
class Variable:
    """``$name`` or ``${name…}``. `default`: of ``${name:-default}``; else `operator` changes the value by `operands`.

    An operator that is not followed is ``?``. `assigns`: the default is kept in the variable (``:=``).
    """

    name: str
    operator: str = ""
    operands: tuple[Word, ...] = ()
    default: Word | None = None
    assigns: bool = False


@dataclass(slots=True)
class Substitution:
    """``$(…)``, backticks, ``<(…)`` or ``>(…)``. `process`: becomes a file name. `into`: is fed by the command."""

    script: Script
    process: bool = False
    into: bool = False


@dataclass(slots=True)
class Word:
    """One word between `start` and `end` (offsets in the segment). A piece that is a `str` is literal.

    `literal` is the text when every piece is literal, else None.
    """

    start: int
    end: int = 0
    pieces: list[str | Variable | Substitution] = field(default_factory=list)
    quoted: bool = False
    literal: str | None = None

    @property
    def only(self) -> Variable | Substitution | None:
        """The one piece that makes up the whole word, unless it is literal."""
        if len(self.pieces) == 1 and not isinstance(self.pieces[0], str):
            return self.pieces[0]
        return None


@dataclass(slots=True)
class Command:
    """A simple command: assignments before it, words, redirections, and the text of a here-document.

    Or a compound one, whose parts are its `body`; `function` names the function that the body belongs to.
    """

    start: int
    end: int = 0
    words: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, Word, bool]] = field(default_factory=list)  # name, value, appended
    redirects: list[tuple[str, Word]] = field(default_factory=list)
    heredoc: Word | None = None
    loop: Loop | None = None
    body: Script | None = None
    function: str = ""


@dataclass(slots=True)
class Loop:
    """``for name in values``."""

    name: str
    values: list[Word]


@dataclass(slots=True)
class Pipeline:
    """Commands joined by ``|``."""

    commands: list[Command] = field(default_factory=list)


@dataclass(slots=True)
class Script:
    """Pipelines in order; what joins them (``;``, ``&&``, blocks, conditions) does not matter here."""

    pipelines: list[Pipeline] = field(default_factory=list)

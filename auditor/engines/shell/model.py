"""The parts a shell script falls into: words made of pieces, commands, pipelines."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Command", "Loop", "Pipeline", "Script", "Substitution", "Variable", "Word"]


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name`` or ``${name…}``. `changed`: an operator may change the value. `default`: of ``${name:-default}``."""

    name: str
    changed: bool = False
    default: Word | None = None


@dataclass(frozen=True, slots=True)
class Substitution:
    """``$(…)``, backticks or ``<(…)``. `process` for the last kind, which becomes a file name."""

    script: Script
    process: bool = False


@dataclass(slots=True)
class Word:
    """One word between `start` and `end` (offsets in the segment). A piece that is a `str` is literal."""

    start: int
    end: int = 0
    pieces: list[str | Variable | Substitution] = field(default_factory=list)
    quoted: bool = False

    @property
    def literal(self) -> str | None:
        """The text when every piece is literal."""
        if all(isinstance(piece, str) for piece in self.pieces):
            return "".join(self.pieces)  # type: ignore[arg-type]
        return None

    @property
    def only(self) -> Variable | Substitution | None:
        """The one piece that makes up the whole word, unless it is literal."""
        if len(self.pieces) == 1 and not isinstance(self.pieces[0], str):
            return self.pieces[0]
        return None


@dataclass(slots=True)
class Command:
    """A simple command: assignments before it, words, redirections, and the text of a here-document."""

    start: int
    end: int = 0
    words: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, Word, bool]] = field(default_factory=list)  # name, value, appended
    redirects: list[tuple[str, Word]] = field(default_factory=list)
    heredoc: Word | None = None
    loop: Loop | None = None

    @property
    def empty(self) -> bool:
        """True when nothing was read into it."""
        return not (self.words or self.assignments or self.redirects or self.loop)


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
    """Pipelines in order; what joins them (``;``, ``&&``, blocks, functions) does not matter here."""

    pipelines: list[Pipeline] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)

"""Where the judges of one shell segment stand: the way to report, and what each command is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Segment
from skillkeep.auditor.engines.shell.evaluate import HOLE, Scope
from skillkeep.auditor.engines.shell.files import Files
from skillkeep.auditor.engines.shell.made import Made
from skillkeep.auditor.engines.shell.model import Command, Script, Substitution, Word
from skillkeep.auditor.interface import Location, Severity

__all__ = ["FED_PUBLIC_KEY", "Call", "ShellSite"]

FED_PUBLIC_KEY = "ssh, given the user's public key"  # how a text was reached that reads such a key from its input

_LONGEST_EXCERPT = 300
_FOLDER_OF = compiled(r"\$\(dirname[ \t]{1,4}([^\s()]{1,200})/[^\s()/]{1,80}\)")
_LONGEST_NAME = 1000
_VARIABLE = compiled(r"\$(\w+)")
_QUOTING = compiled(r"[\"'{}]")


@dataclass(frozen=True)
class Call:
    """A command as it will run: program name without folder and prefixes, arguments as texts and as words.

    `program` is the word that names the program.
    """

    name: str
    arguments: tuple[str, ...]
    words: tuple[Word, ...]
    command: Command
    prefixes: tuple[str, ...] = ()
    program: Word | None = None

    def has(self, *options: str) -> bool:
        """True when one of the options is among the arguments."""
        return any(argument in options for argument in self.arguments)

    def after(self, option: str) -> int | None:
        """Index of the argument that follows `option`."""
        for index, argument in enumerate(self.arguments[:-1]):
            if argument == option:
                return index + 1
        return None

    @property
    def operands(self) -> list[str]:
        """Arguments that are no options."""
        return [argument for argument in self.arguments if not argument.startswith("-") or argument == "-"]


@dataclass(eq=False)
class ShellSite:
    """One parsed segment."""

    segment: Segment
    emit: Emitter
    scope: Scope = field(default_factory=Scope)
    printed_by: dict[str, frozenset[str]] = field(default_factory=dict)  # function -> labels of what it prints
    files: Files = field(default_factory=Files)
    requests: list[tuple[int, int, tuple[str, ...]]] = field(default_factory=list)  # span and what is asked for
    only: frozenset[str] = frozenset()  # when set, the rules that count here, and no capabilities
    held: frozenset[str] = frozenset()  # variables that hold secrets of a build service
    narrowed: bool = False  # the pipeline prints, of what it reads, the lines of named settings only
    clearing: bool = False  # the pipeline takes jobs out of the user's schedule and puts none in
    bare_interpreter: bool = False  # a shell without arguments, as in a function that others are piped into
    programs: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    reported: set[tuple[str, int, str]] = field(default_factory=set)
    defining: str = ""  # the function whose body is judged before anybody has called it
    dispatches: bool = False  # the script's caller, or what it reads, names the command, which may be a function
    doubts: dict[str, list[Callable[[], None]]] = field(default_factory=dict)  # of such bodies, by function
    names: dict[str, str] = field(default_factory=dict)  # of files, by the variables that hold them
    made: Made = field(init=False)

    def __post_init__(self) -> None:
        self.made = Made(self.files, self.derive)
        self.scope.content = self._content

    def _content(self, text: str, word: Word) -> str | None:
        """What the script has put into a file."""
        return self.made.text(self.name(text, word))

    @property
    def functions(self) -> dict[str, Script]:
        """The functions of the script, by name."""
        return self.scope.functions

    def name(self, text: str, word: Word) -> str:
        """What a file is called: its text, or the variable it is in when that is not known."""
        if HOLE not in text:
            return text
        said = _QUOTING.sub("", self.segment.text[word.start : word.end]) or text
        said = _VARIABLE.sub(lambda found: self.names.get(found[1], found[0]), said)[:_LONGEST_NAME]
        return _FOLDER_OF.sub(r"\1", said) if "dirname" in said else said

    def keep_name(self, variable: str, word: Word) -> None:
        """``tool="$folder/tool"``: what is called ``$tool`` later is called ``$folder/tool`` as well."""
        self.names.pop(variable, None)
        text = self.scope.text(word)
        if HOLE in text and "/" in text and not any(isinstance(piece, Substitution) for piece in word.pieces):
            self.names[variable] = self.name(text, word)

    def at(self, start: int, end: int) -> Location:
        """The place of a span of the segment."""
        return self.segment.locate(start, end)

    def report(
        self,
        rule: str,
        thing: Command | Word,
        message: str,
        *,
        subject: str = "",
        severity: Severity | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        """Report `rule` at a command or word, once."""
        if (key := (rule, thing.start, subject)) in self.reported or (self.only and rule not in self.only):
            return
        self.reported.add(key)
        excerpt = self.segment.text[thing.start : min(thing.end, thing.start + _LONGEST_EXCERPT)]
        place = self.at(thing.start, thing.end)
        emit = partial(self.emit.finding, segment=self.segment, subject=subject, severity=severity, hosts=hosts)
        emit(rule, place, excerpt, message)

    def doubt(self, rule: str, thing: Command | Word, message: str, severity: Severity | None) -> None:
        """Report `rule` about a text that is not known; of a function's own body when no caller tells what it is."""
        report = partial(self.report, rule, thing, message, severity=severity)
        if self.defining:
            self.doubts.setdefault(self.defining, []).append(report)
        else:
            report()

    def named_by(self, variable: str, *, known: bool) -> None:
        """A variable names the command; in a function's own body that is judged by what its callers give it."""
        if self.defining:
            self.doubts.setdefault(self.defining, [])
        elif not known and self.scope.is_given(variable):
            self.dispatches = True

    def capability(self, kind: str, value: str, thing: Command | Word) -> None:
        """The script wants `value`."""
        if not self.only:
            self.emit.capability(kind, value, self.at(thing.start, thing.end))

    def derive(self, text: str, context: Context | None, thing: Command | Word, via: str) -> None:
        """Have `text` audited as what it is; unknown parts become a variable or a name that says so."""
        if HOLE in text:
            text = text.replace(HOLE, "${NOT_KNOWN}" if context is Context.SHELL else "NOT_KNOWN")
        self.emit.derive(text, context, self.at(thing.start, thing.end), via, self.segment)

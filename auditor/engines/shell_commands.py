"""The shell engine: parses every shell segment and has its commands judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.shell.files import Files
from skillkeep.auditor.engines.shell.judge import Judge, Told
from skillkeep.auditor.engines.shell.reading import TooDeepError, UnparsedError, read_shell
from skillkeep.auditor.engines.shell.recipes import given_names, held_secrets, recipes
from skillkeep.auditor.engines.shell.site import ShellSite
from skillkeep.auditor.engines.tables import secrets, table
from skillkeep.auditor.interface import Location

__all__ = ["ENGINE", "ShellEngine"]

_ELSEWHERE: Final = frozenset(
    {
        "shell-download-execution",
        "shell-decoded-execution",
        "shell-reverse-shell",
        "shell-destructive",
        "code-environment-sent",
        "code-credential-sent",
        "code-credential-file",
        "code-credential-store",
    }
)
_SOURCES: Final = compiled(r"(?m)(?:^|[;&|(]|\b(?:then|do|else))[ \t]*(?:source|\.)[ \t]+\S")
_WRITTEN: Final = compiled(  # the arguments of a call are all written down
    r"(?:[ \t]+(?:\"[^\"$`\\]*\"|'[^']*'|[\w./:=,@%+-]+))*[ \t]*(?:[\n;&|)#]|\d?>|\Z)"
)
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_BOMB: Final = compiled(r"([\w:.]{1,20})\s{0,4}\(\)\s{0,4}\{[^}]{0,80}?\1\s{0,4}\|\s{0,4}\1\s{0,4}&")
_SEARCH: Final = compiled(
    r"[ \t]*[ef]?grep(?:[ \t]+-[\w-]+)*[ \t]+(?:\"[^\"$`]*\"|'[^']*')(?:[ \t]+[\w./*=\"'~-]+)*[ \t]*"
)
_BOMB_NAME: Final = 24
_MOST_NAMED: Final = 5000


class ShellEngine(Engine):
    """Shell by its words."""

    name: ClassVar[str] = "shell"
    order: ClassVar[int] = 12

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge every shell segment of the file."""
        for segment in file.of(Context.SHELL):
            self._segment(segment, emit)
        held: dict[str, str] | None = None
        for segment in recipes(file):
            held = held_secrets(file) if held is None else held
            self._segment(segment, emit, given_names(file), held)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """What functions do with their arguments that other scripts of the tree call, too."""
        told: list[Told] = emit.notes.get("told", [])
        scripts = [each for file in tree.files for each in file.of(Context.SHELL)] if told else []
        sourcing = [each for each in scripts if _SOURCES.search(each.text)]
        for path, name, reports in told:
            named = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
            others = [each.text for each in sourcing if each.path != path]
            if any(not _WRITTEN.match(text, call.end()) for text in others for call in named.finditer(text)):
                for report in reports:
                    report()

    def _segment(
        self, segment: Segment, emit: Emitter, given: frozenset[str] | None = None, held: Mapping[str, str] = _NONE
    ) -> None:
        """Judge one segment; `given` are the variables of a build service, whose machine is not the user's.

        `held` names the service's secret behind a variable.
        """
        try:
            reading = read_shell(segment.text, segment.path)
        except (TooDeepError, UnparsedError) as error:
            emit.incomplete(segment.path, str(error) or "its substitutions are nested too deep to be judged")
            return
        site = ShellSite(segment, emit)
        if segment.anchor is not None:
            site.files.known(_filled(emit, segment.anchor))
        if given is not None:
            site.only = _ELSEWHERE
            site.scope.own |= given
            taken = {name: secret for name, secret in held.items() if secrets().variable(secret)}
            site.held = frozenset(taken)
            for name, secret in taken.items():
                site.scope.labels[name] = frozenset({f"secret:{secret}"})
        Judge(site, table("shell")).whole(reading.script)
        if site.files.any:
            emit.notes.setdefault("filled", []).append((_span(segment), site.files))
        _bombs(segment, emit)
        if site.scope.exhausted:
            emit.incomplete(segment.path, "its words are too costly to be worked out")
        elif given is not None:
            return
        elif reading.whole:
            emit.understood(segment)
        elif reading.lost and not segment.provenance and segment.path.endswith((".sh", ".bash", ".zsh")):
            emit.incomplete(segment.path, "a quote or bracket is never closed, so only a part was understood")


def _span(segment: Segment) -> Location:
    return segment.locate(0, len(segment.text))


def _filled(emit: Emitter, at: Location) -> Iterator[Files]:
    """The files that the script has filled out of which a text comes that stands `at` a place of it."""
    for span, files in emit.notes.get("filled", ()):
        if span.path == at.path and span.line <= at.line <= max(span.end_line or span.line, span.line):
            yield files


def _bombs(segment: Segment, emit: Emitter) -> None:
    at = segment.text.find("()")
    for _ in range(_MOST_NAMED):
        if at < 0:
            return
        bomb = _BOMB.search(segment.text, max(at - _BOMB_NAME, 0), at + 200)
        if bomb and not _is_searched_for(segment.text, bomb.start()):
            place = segment.locate(bomb.start(), bomb.end())
            emit.finding("shell-destructive", place, bomb[0], "a fork bomb", segment=segment)
            return
        at = segment.text.find("()", at + 2)


def _is_searched_for(text: str, at: int) -> bool:
    """True in the pattern of a command that is nothing but `grep`."""
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    return _SEARCH.fullmatch(line) is not None


ENGINE = ShellEngine()

"""What the pages and scripts of a tool start files with: ``python3 notes.txt`` runs it as Python, whatever it is.

A name, a ``#!`` line and a content are all chosen by the author; which program a file is handed to is what counts in
the end. Files are known by the last part of their paths, since folders are changed and variables stand for them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.disguised import begins_as, reads_as
from skillkeep.auditor.engines.interface import CODE, Context, Segment, SourceFile
from skillkeep.auditor.languages import command_lines
from skillkeep.auditor.patterns import Pattern

__all__ = ["Started"]

_PROGRAMS: Final[dict[str, Context]] = {
    "python": Context.PYTHON, "pypy": Context.PYTHON, "py": Context.PYTHON, "sys.executable": Context.PYTHON,
    "runpy.run_path": Context.PYTHON, "SourceFileLoader": Context.PYTHON, "execfile": Context.PYTHON,
    "node": Context.TYPESCRIPT, "nodejs": Context.TYPESCRIPT, "deno": Context.TYPESCRIPT, "bun": Context.TYPESCRIPT,
    "tsx": Context.TYPESCRIPT, "ts-node": Context.TYPESCRIPT, "process.execPath": Context.TYPESCRIPT,
    "require": Context.TYPESCRIPT, "fork": Context.TYPESCRIPT,
    "bash": Context.SHELL, "sh": Context.SHELL, "zsh": Context.SHELL, "dash": Context.SHELL, "ksh": Context.SHELL,
    "source": Context.SHELL, ".": Context.SHELL, "chmod": Context.SHELL, "make": Context.SHELL,
    "pwsh": Context.POWERSHELL, "powershell": Context.POWERSHELL, "ruby": Context.RUBY, "jruby": Context.RUBY,
}  # fmt: skip
_NAMED: Final = "|".join(re.escape(name) for name in sorted(_PROGRAMS, key=len, reverse=True))
_START: Final = (
    rf"(?:^|[^\w.-])(?:{_NAMED})[\d.]*(?:\.exe)?(?:[\"'\x60,\])]*[ \t]+|[\"'\x60]?[(,]+[ \t]*)[\"'\x60<$@~./\\\w({{%+-]"
)
_INTO: Final = rf"\|[ \t]*(?:sudo[ \t]+)?(?:{_NAMED})[\d.]*\b"
_PROGRAM: Final = compiled(rf"(?<!\w)(?:{_NAMED})")
_MADE_PROGRAM: Final = compiled(r"[ \t]+(?:-R[ \t]+)?(?:[ugoa]*\+[rwst]*x|[0-7]*[1357][0-7]*[ \t])")
_PATH: Final = compiled(r"[ \t]+[\"']?(?:\$|[\w.~-]*/)")  # ``. ./settings``, and no end of a sentence
_SUBSTITUTED: Final = compiled(r"\$\((?:[^()\n]|\([^()\n]*\))*\)")  # ``"$(dirname "$0")/settings"``
_VARIABLE: Final = compiled(r"\$\{?([A-Za-z_]\w{0,60})\}?")
_WORD: Final = compiled(r"[^\s\"'`,;|&()<>\[\]]+|[;|&\n]")
_REACH: Final = 300  # bytes of a line behind the program's name
_MOST_WORDS: Final = 12
_MOST_VARIABLES: Final = 50
_ENDS: Final = frozenset({";", "|", "&", "\n"})
_GIVEN: Final = frozenset({"-c", "-e", "-m", "-p", "--eval", "--print", "-Command", "-EncodedCommand", "-lc", "-ec"})
_VERBS: Final = frozenset({"run", "exec", "watch", "test", "serve"})
_IN_CODE: Final = frozenset({"sys.executable", "process.execPath", "SourceFileLoader"})
_NO_SCRIPTS: Final = (".env", "activate")


@dataclass
class Started:
    """The names of files that are handed to a program, each with the languages of these programs."""

    languages: dict[str, set[Context]] = field(default_factory=lambda: defaultdict(set))

    def note(self, text: str) -> None:
        """Take what `text` starts."""
        data = text.encode("utf-8", "replace")
        for start, _ in _start().spans(data, len(data)):
            for name, context in _handed(data[start : start + _REACH].decode(errors="replace")):
                self.languages[name].add(context)
        for start, end in _into().spans(data, len(data)):
            line = data[max(data.rfind(b"\n", 0, start) + 1, start - _REACH) : end].decode(errors="replace")
            for name, context in _piped(line):
                self.languages[name].add(context)
        for name, value in _held([name for name in self.languages if _VARIABLE.fullmatch(name)], text):
            self.languages[value] |= self.languages[name]

    def more(self, file: SourceFile) -> SourceFile | None:
        """`file` in the languages that it is started in and was not cut as, or None."""
        wanted = self.languages.get(file.path.rpartition("/")[2])
        if not wanted or not file.is_text:
            return None
        known = {each.context for each in file.own(*CODE) if not each.provenance}
        missing = wanted - known - ({Context.TYPESCRIPT} if Context.JAVASCRIPT in known else set())
        if not missing:
            return None
        text = file.text or ""
        cut = (_cut(file.path, context, text, known) for context in sorted(missing))
        segments = tuple(each for each in cut if each is not None)
        return SourceFile(file.path, file.data, text, file.executable, segments) if segments else None


def _cut(path: str, context: Context, text: str, known: set[Context]) -> Segment | None:
    """The text in one more language, when it can be a program in it.

    Of a program in another language, and of prose, a shell reads what are commands by themselves: the rest errs.
    """
    if context in {Context.SHELL, Context.POWERSHELL}:
        other = any(reads_as(each, text) for each in known - {Context.SHELL, Context.POWERSHELL})
        if other or (not known and not begins_as(context, text)):
            text = command_lines(text) if context is Context.SHELL else ""
    elif not reads_as(context, text):
        return None
    return Segment(path, context, text) if text.strip() else None


def _handed(line: str) -> Iterator[tuple[str, Context]]:
    """The file that the program at the start of `line` runs: the first word that belongs to no option."""
    found = _PROGRAM.match(line) or _PROGRAM.match(line, 1)
    if found is None:
        return
    program, behind_option = found[0], False
    context = _PROGRAMS[program]
    behind = _SUBSTITUTED.sub("_", line[found.end() :])
    if program == "." and not _PATH.match(behind):
        return
    if program == "chmod" and not _MADE_PROGRAM.match(behind):
        return
    for number, word in enumerate(_WORD.findall(behind.split("\n")[0])):
        if number == 0 and (word[0].isdigit() or word == ".exe"):
            continue
        if number > _MOST_WORDS or word in _ENDS or word in _GIVEN:
            return
        if word.startswith(("-", "+")) and len(word) > 1:
            behind_option = True
            continue
        name = re.split(r"[/\\]", word.rstrip(".:"))[-1]
        if name and not (context is Context.SHELL and (name.startswith(_NO_SCRIPTS) or name.endswith(_NO_SCRIPTS))):
            yield name, context
        if not (behind_option or word in _VERBS or program in _IN_CODE or (program == "chmod" and number == 0)):
            return
        behind_option = False


def _held(names: list[str], text: str) -> Iterator[tuple[str, str]]:
    """The files that variables hold somewhere in `text`: ``CONF="$HERE/settings"; source "$CONF"``."""
    variables = {name.strip("${}"): name for name in names[:_MOST_VARIABLES]}
    if not variables:
        return
    values = rf"\b({'|'.join(variables)})=([^\s;&|\"]{{1,200}}|\"[^\"\n]{{1,200}}\")"
    for variable, value in re.findall(values, _SUBSTITUTED.sub("_", text)):
        if last := re.split(r"[/\\]", value.strip("\"'{}"))[-1]:
            yield variables[variable], last


def _piped(line: str) -> Iterator[tuple[str, Context]]:
    """Files that stand before a pipe into a program: ``cat notes.txt | python3``."""
    before, _, behind = line.rpartition("|")
    found = _PROGRAM.search(behind)
    words = _WORD.findall(before)
    for word in words[-3:] if found else ():
        if found and word not in _ENDS and not word.startswith("-"):
            yield re.split(r"[/\\]", word)[-1], _PROGRAMS[found[0]]


@cache
def _start() -> Pattern:
    return Pattern(_START)


@cache
def _into() -> Pattern:
    return Pattern(_INTO)

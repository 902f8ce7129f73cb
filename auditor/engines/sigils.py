"""Perl and PHP that run what a stranger chooses: the body or a header of a request, what a socket or a server answers.

No parser of ours reads these languages. Their variables carry a sign, so that a statement's names can be told apart
from its other words: what is assigned from a source, or from what came from one, is followed by name through the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.sigil_text import plain, without
from skillkeep.auditor.engines.tables import table

__all__ = ["ENGINE", "SigilEngine"]

_RULES: Final = {"request": "text-request-execution", "network": "text-downloaded-execution"}
_LONGEST: Final = 400_000
_LONGEST_STATEMENT: Final = 4_000
_VARIABLE: Final = compiled(r"[$@%](\w+)")
_PLACE: Final = (
    r"\$\w+(?:->\w+|(?:->)?\[[^\]\n]{0,200}\])*|[@%]\w+|(?:my|our|local)\s*\([^)]*\)|list\s*\([^)]*\)|\[[^\]]*\]"
)
_ASSIGNED: Final = compiled(rf"(?P<to>{_PLACE})\s*(?:\.|\?\?|\|\||//|\+)?=(?![=~>])(?P<value>.*)", re.DOTALL)
_LOOP: Final = compiled(
    r"\b(?:foreach|for)\s*(?:my\s*)?(?P<to>\$\w+)?\s*\((?P<of>.*?)(?:\bas\b(?P<as>.*))?\Z", re.DOTALL
)
_READS: Final = compiled(r"\bwhile\s*\(?\s*<\s*\$?(?P<of>\w*)\s*>")
_FILLS: Final = compiled(
    r"(?:\b(?:sysread|recv|read|socket_recv|parse_str|preg_match(?:_all)?\s*\([^,;]*,)[\s(]*(?P<of>[^,;]*),\s*"
    r"|(?P<on>\$\w+)->(?:recv|read|sysread)\s*\(\s*)(?:my\s*)?(?P<to>\$\w+)"
)
_MATCHES: Final = compiled(r"\$(?P<of>\w+)\s*=~")
_CHOICE: Final = compiled(r"^[^?]*\?(?![?:>-])", re.DOTALL)
_STATEMENT: Final = compiled(r"[^;{}]+|[;{}]")
_FUNCTION: Final = compiled(r"\bfunction\s+&?(?P<name>\w+)\s*\((?P<given>[^)]*)")
_CALL: Final = compiled(r"\b(?P<name>[A-Za-z_]\w*)\s*\((?P<given>[^();]*)")
_CHOSEN: Final = compiled(r"[@\s(\"]*(?:\w+\s*\(\s*)*\$")  # no fixed text stands before what is chosen
_PROGRAM: Final = compiled(r"[\s(]*(?P<mark>['\"])(?P<name>[^'\"$@]*)(?P=mark)\s*,")
_SHELLS: Final = compiled(r"(?:^|/)(?:(?:ba|da|z|k)?sh|perl|python3?|ruby|php|cmd(?:\.exe)?|powershell)$")
_MATCHED: Final = ("_", "1", "2", "3", "4")  # what a loop over lines and a match set


@dataclass(frozen=True)
class _Sink:
    pattern: re.Pattern[str]
    original: re.Pattern[str] | None  # what else the statement must hold, with its texts
    does: str
    kinds: frozenset[str]
    chosen: bool  # a fixed text at its beginning leaves nothing to choose
    called: bool  # a list of what it may be leaves nothing to choose
    first: bool  # a program at the beginning of a list is what is run


class _Language:
    """What `rules/tables/sigils.yaml` tells of one language."""

    def __init__(self, name: str, told: Mapping[str, Any]) -> None:
        self.php = name == "php"
        self._files, self._begins = compiled(told["files"], re.IGNORECASE), compiled(told["begins"])
        self.sources: dict[str, re.Pattern[str]] = {
            kind: compiled("|".join(each)) for kind, each in told["sources"].items()
        }
        self.neutral = compiled(rf"(?<![\w$>:])(?:{'|'.join(told['neutral'].split())})\s*\(")
        self.casts = compiled(told["casts"])
        self.checked: str = told["checked"]
        self.sinks = [_sink(each) for each in told["sinks"]]

    def is_of(self, file: SourceFile, text: str) -> bool:
        """Whether the file is in this language and has a source; a page that shows some of it is not."""
        begins, named = self._begins.search(text), self._files.search(file.known_as)
        is_code = (begins and not file.of(Context.INSTRUCTION)) or (named and (begins or not self.php))
        return bool(is_code) and any(each.search(text) for each in self.sources.values())


def _sink(told: Mapping[str, Any]) -> _Sink:
    kinds = frozenset({"request"} if told.get("request") else _RULES)
    original = compiled(told["original"]) if "original" in told else None
    called = told.get("called", False)
    chosen = called or told.get("chosen", False)
    return _Sink(compiled(told["pattern"]), original, told["does"], kinds, chosen, called, told.get("first", False))


@cache
def _languages() -> tuple[_Language, ...]:
    return tuple(_Language(name, told) for name, told in table("sigils").items())


class SigilEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "sigils"
    order: ClassVar[int] = 32

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Follow what strangers choose through a file of one of these languages."""
        if file.text is None or "$" not in file.text:
            return
        for language in _languages():
            if not language.is_of(file, file.text):
                continue
            if len(file.text) > _LONGEST:
                emit.incomplete(file.path, f"more than {_LONGEST} characters of Perl or PHP")
            else:
                segment = Segment(file.path, Context.TEXT, file.text, anchor=file.place)
                _Reading(language, segment, emit).judge()


class _Reading:
    """One file, read twice: what is handed to a function is known the second time."""

    def __init__(self, language: _Language, segment: Segment, emit: Emitter) -> None:
        self._language, self._segment, self._emit = language, segment, emit
        self._code = plain(segment.text, php=language.php)
        self._named: dict[str, str] = {}  # variables that hold what a stranger chooses, and where that comes from
        self._fixed: set[str] = set()  # of these, those that begin with a text of the program
        self._handed: dict[tuple[str, int], str] = {}
        self._told: set[int] = set()

    def judge(self) -> None:
        """Report each place where what is chosen is run."""
        for last in (False, True):
            self._named = {name: kind for name, kind in self._named.items() if name not in _MATCHED}
            depth, outer = 0, list[tuple[int, dict[str, str]]]()
            for found in _STATEMENT.finditer(self._code):
                statement = found[0]
                if statement == "}" and outer and depth - 1 == outer[-1][0]:
                    self._named = outer.pop()[1]
                if self._language.php and (function := _FUNCTION.search(statement)):
                    outer.append((depth, self._named))
                    self._named = self._parameters(function)
                depth += (statement == "{") - (statement == "}")
                if 1 < len(statement) < _LONGEST_STATEMENT:
                    self._follow(statement)
                    if last:
                        self._run(statement, found.start())

    def _parameters(self, function: re.Match[str]) -> dict[str, str]:
        names = _VARIABLE.findall(function["given"])
        kinds = ((name, self._handed.get((function["name"], at))) for at, name in enumerate(names))
        return {name: kind for name, kind in kinds if kind}

    def _kind(self, code: str, *, choice: bool = True) -> str:
        """Where what `code` answers comes from, when a stranger can choose it; else an empty text."""
        code = self._language.casts.sub(" ", without(code, self._language.neutral))
        if choice and self._language.php:
            code = _CHOICE.sub(" ", code.replace("??", "  "))
        for kind, pattern in self._language.sources.items():
            if pattern.search(code):
                return kind
        known = (self._named.get(each[1], "") for each in _VARIABLE.finditer(code))
        return next((each for each in known if each), "")

    def _follow(self, statement: str) -> None:
        if loop := _LOOP.search(statement):
            into = loop["as"] or loop["to"] or "$_"
            self._set(into, self._kind(loop["of"], choice=False))
        if reads := _READS.search(statement):
            self._match(self._named.get(reads["of"], ""))
        elif matches := _MATCHES.search(statement):
            self._match(self._named.get(matches["of"], ""), _MATCHED[1:])
        if (fills := _FILLS.search(statement)) and (kind := self._kind(fills["of"] or fills["on"], choice=False)):
            self._set(fills["to"], kind)
        for call in _CALL.finditer(statement):
            for at, given in enumerate(call["given"].split(",")):
                if kind := self._kind(given):
                    self._handed[call["name"], at] = kind
        if assigned := _ASSIGNED.search(statement):
            kind = self._kind(assigned["value"])
            if kind or not loop:
                self._set(assigned["to"], kind, fixed=not _CHOSEN.match(_CHOICE.sub("", assigned["value"])))

    def _match(self, kind: str, names: tuple[str, ...] = _MATCHED) -> None:
        for name in names:
            self._set(f"${name}", kind)

    def _set(self, into: str, kind: str, *, fixed: bool = False) -> None:
        for name in _VARIABLE.findall(into):
            if kind:
                self._named[name] = kind
                (self._fixed.add if fixed else self._fixed.discard)(name)
            elif name in _MATCHED:
                self._named.pop(name, None)

    def _run(self, statement: str, start: int) -> None:
        original = self._segment.text[start : start + len(statement)]
        for sink in self._language.sinks:
            if sink.original is not None and not sink.original.search(original):
                continue
            for found in sink.pattern.finditer(statement):
                given = [each for each in found.groups() if each is not None]
                kinds = [self._kind(each, choice=not sink.called) for each in given]
                if (
                    given
                    and all(kind in sink.kinds for kind in kinds)
                    and self._is_chosen(sink, given[0], original[max(found.start("what"), 0) :])
                ):
                    self._report(sink, kinds[0], start + found.start(), start + found.end())

    def _is_chosen(self, sink: _Sink, given: str, original: str) -> bool:
        """Whether what is run can be any, as far as the file tells."""
        names = _VARIABLE.findall(given)[:1]
        if sink.first and (program := _PROGRAM.match(original)):
            return bool(_SHELLS.search(program["name"]))
        if not sink.chosen:
            return True
        if not _CHOSEN.match(given) or any(name in self._fixed for name in names):
            return False
        checks = [re.compile(self._language.checked.replace("NAME", rf"\${name}")) for name in names]
        return not (sink.called and any(each.search(self._segment.text) for each in checks))

    def _report(self, sink: _Sink, kind: str, start: int, end: int) -> None:
        if start in self._told:
            return
        self._told.add(start)
        start += len(self._segment.text[start:end]) - len(self._segment.text[start:end].lstrip())
        shown = self._segment.text[start:end].split("\n")[0]
        message = sink.does % ("a request" if kind == "request" else "another machine's answer")
        self._emit.finding(_RULES[kind], self._segment.locate(start, end), shown, message, segment=self._segment)


ENGINE = SigilEngine()

"""What something of one kind becomes, followed by name to where it ends, in programs of any language.

A name belongs to its function. What a function answers, and what its callers give it, is followed as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.given import body_below

__all__ = ["Asked", "followed"]

_ASSIGNED: Final = compiled(
    r"^[ \t]*(?:(?:let|mut|var|val|const|final|my|our|local|auto|static)[ \t]+){0,3}"
    r"(?:[A-Z][\w.:]{0,40}(?:<[^=;()]{1,80}>)?(?:\[\])?[ \t]+)?"
    r"(?P<to>[$@%(]?[\w.]{1,60}(?:[ \t]*,[ \t]*[$@%]?\w{1,40}){0,3}\)?)"
    r"(?:\[[^\]\n]{0,60}\])?(?:[ \t]*:[ \t]*[^=\n]{1,80})?[ \t]*(?:[.+|?]{0,2}=(?![=>])|:=)(?P<value>.*)",
    re.DOTALL,
)
_OPENED: Final = compiled(
    r"^[ \t]*(?:async[ \t]+)?(?:with|using|try)\b(?P<what>[^\n]{1,300}?)[ \t]as[ \t]+\(?(?P<to>\w{1,40})"
)
_LOOP: Final = compiled(
    r"\bfor(?:each)?\b[ \t]*(?P<head>[^{\n]{1,200}?)(?:\b(?:in|range|as|of)\b|[ \t]:[ \t]|\()(?P<over>[^\n]{1,300})"
)
_MOST_AS: Final = compiled(
    r"\bforeach[ \t]*\((?P<over>[^\n]{1,200}?)\bas\b(?P<head>[^)\n]{1,100})"
)  # PHP's other order
_PUT_INTO: Final = compiled(
    r"(?:\bpush[ \t(]+|\bwrite(?:ln)?!\([ \t]*&?(?:mut )?|\bfmt\.Fprint(?:f"
    r"|ln)?\([ \t]*&?)[$@]?(?P<into>\w{1,40})[ \t]*,(?P<what>.*)"
    r"|(?<![\w.])\$?(?P<on>\w{1,40})(?:\.|->)(?:insert|push(?:_str|_back)?|append\w{0,6}|put|add|set|extend"
    r"|write(?:String|Line)?"
    r"|Add|Append\w{0,8}|Set|WriteString|appendLine|concat)\((?P<given>.*)",
    re.DOTALL,
)
_FUNCTION: Final = compiled(
    r"^[ \t]*(?:(?:pub(?:\([a-z]{1,8}\))?|async|unsafe|public|private|protected|internal|static|final|override"
    r"|suspend|export)[ \t]+){0,5}"
    r"(?:(?:fn|func|fun|def|sub|function|defp)[ \t]+(?:\([^)\n]{0,60}\)[ \t]*)?"
    r"|[A-Za-z_][\w<>,\[\].? ]{0,60}?[ \t]+(?=\w{1,40}[ \t]*\([^;\n]{0,200}\)[^;\n=]{0,60}$))"
    r"(?P<name>[A-Za-z_]\w{0,60})[ \t]*(?:<[^>\n]{0,60}>)?[ \t]*(?:\((?P<given>[^)\n]{0,240})\))?",
    re.MULTILINE,
)
_NAME: Final = compiled(r"[A-Za-z_]\w{0,60}")
_CALL: Final = compiled(r"\b(?P<name>[A-Za-z_]\w{0,60})\((?P<given>[^;]{1,400})")
_ONE: Final = r"\b%s(?:\.get(?:OrDefault|Or)?\(|\.remove\(|[ \t]*[\[{])[ \t]*&?[\"'][^\"'\n]{1,80}[\"']"
_RETURNS: Final = compiled(r"\breturn\b")
_GOES_ON: Final = compiled(r"[ \t]*(?:\?\.|\.(?![.\d])|->|&&|\|\||\+[ \t])")
_COMMENT: Final = compiled(r"^[ \t]*(?:#(?!\[)|//|\*[ \t/])[^\n]*", re.MULTILINE)
_KEYWORDS: Final = frozenset({
    "if", "for", "while", "switch", "match", "catch", "return", "else", "let", "mut", "var", "val", "const", "final",
    "my", "in", "range", "as", "of", "keys", "new", "String", "string", "Map", "Entry", "DictionaryEntry", "each",
})  # fmt: skip
_MOST_LINES: Final = 30  # of one statement
_MOST: Final = 4_000  # statements
_SHORT: Final = 200  # what closes a function
_PASSES: Final = 3


@dataclass(frozen=True)
class Asked:
    """What is followed (`reads`) to where it `ends`; what matches `aside` goes elsewhere, and `is_none` excuses a read.

    With `whole`, one member by its name is none of it; without `given`, what a function is given is not followed there.
    """

    reads: re.Pattern[str]
    ends: re.Pattern[str]
    aside: re.Pattern[str]
    whole: bool = False
    is_none: Callable[[str], bool] | None = None
    given: bool = True

    def has(self, code: str, home: _Function, own: dict[str, _Function]) -> bool:
        """True where `code` holds it: read there, by a name, or answered by a function of the file."""
        if self.reads.search(code):
            return self.is_none is None or not self.is_none(code)
        for name in set(_NAME.findall(code)):
            if home.holds(name):
                left = re.sub(_ONE % name, " ", code) if self.whole else code
                if re.search(rf"\b{name}\b", left):
                    return True
            if name in own and own[name].answers and re.search(rf"\b{name}\(", code):
                return True
        return False


@dataclass
class _Function:
    name: str
    given: tuple[str, ...]
    start: int
    end: int
    named: set[str] = field(default_factory=set)  # what holds it there
    outer: _Function | None = None
    answers: bool = False

    def holds(self, name: str) -> bool:
        """True for a name of it, or of the file where it gives that name to nothing else."""
        if name in self.named:
            return True
        return self.outer is not None and name not in self.given and name in self.outer.named


@dataclass(frozen=True)
class _Statement:
    start: int
    text: str
    home: _Function
    last: bool  # the last of its function: what it says is answered in some languages


def followed(text: str, asked: Asked) -> Iterator[tuple[int, int, str]]:
    """Where it ends, from and to, and the statement around it."""
    text = _COMMENT.sub(lambda found: " " * len(found[0]), text)
    top = _Function("", (), 0, len(text))
    functions = [top, *_functions(text, top)]
    statements = list(islice(_statements(text, functions), _MOST))
    own = {each.name: each for each in functions[1:]}
    for _ in range(_PASSES):
        for each in statements:
            _follow(each, own, asked)
    for each in statements:
        end = asked.ends.search(each.text)
        if end and asked.has(asked.aside.sub(" ", each.text), each.home, own):
            yield each.start + end.start(), each.start + end.end(), each.text


def _functions(text: str, top: _Function) -> Iterator[_Function]:
    for found in islice(_FUNCTION.finditer(text), 200):
        if found["name"] not in _KEYWORDS:
            given = tuple(_NAME.findall(found["given"] or ""))
            body = body_below(text, found.start(), found.end())
            yield _Function(found["name"], given, found.start(), found.start() + len(body), outer=top)


def _statements(text: str, functions: list[_Function]) -> Iterator[_Statement]:
    """The lines of `text`, those that go on joined: within parentheses, and before a member of what stands above."""
    lines, at, number = text.split("\n"), 0, 0
    while number < len(lines):
        start, joined = at, lines[number]
        depth = _depth(joined)
        at += len(joined) + 1
        number += 1
        for _ in range(_MOST_LINES):
            if number >= len(lines) or not (depth > 0 or _GOES_ON.match(lines[number])):
                break
            joined += "\n" + lines[number]
            depth += _depth(lines[number])
            at += len(lines[number]) + 1
            number += 1
        if joined.strip():
            around = (each for each in functions if each.start <= start < each.end)
            home = max(around, key=lambda each: (each.start, -each.end))
            last = home.end - at < _SHORT and not text[at : home.end].strip(" \t\n}")
            yield _Statement(start, joined, home, last)


def _depth(line: str) -> int:
    return line.count("(") + line.count("[") - line.count(")") - line.count("]")


def _follow(statement: _Statement, own: dict[str, _Function], asked: Asked) -> None:
    home, code = statement.home, asked.aside.sub(" ", statement.text)
    for pattern in (_MOST_AS, _LOOP):
        if (loop := pattern.search(code)) and asked.has(loop["over"], home, own):
            home.named.update(name for name in _NAME.findall(loop["head"]) if name not in _KEYWORDS)
            break
    for put in _PUT_INTO.finditer(code):
        if asked.has(put["what"] or put["given"] or "", home, own):
            home.named.add(put["into"] or put["on"])
    for call in _CALL.finditer(code) if asked.given else ():
        called = own.get(call["name"])
        if called and called is not home and asked.has(call["given"], home, own):
            called.named.update(called.given)
    if asked.ends.search(code):
        return  # what is answered is another thing than what it was asked with
    for opened in _OPENED.finditer(code):
        if asked.has(opened["what"], home, own):
            home.named.add(opened["to"])
    assigned = _ASSIGNED.match(code)
    if assigned and asked.has(assigned["value"], home, own):
        home.named.update(_NAME.findall(assigned["to"].rpartition(".")[2]))
    if (statement.last or _RETURNS.search(code)) and asked.has(code, home, own):
        home.answers = True

"""Acts of code in any language, by their spelling: sends, reads locally, starts, writes (rules/tables/acts.yaml).

An act alone says nothing; the judges of this package combine acts with what the language engines resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.asked_payments import is_asked_payment
from skillkeep.auditor.engines.behaviour.homes import home_uses
from skillkeep.auditor.engines.interface import CONTINUED, Context, Segment, SourceFile
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.patterns import Hit, PatternSet, SievedSet

__all__ = ["CODE", "Act", "Acts", "code_of"]

CODE: Final = (
    Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT, Context.SHELL, Context.POWERSHELL, Context.RUBY,
)  # fmt: skip
_COMMENT: Final = compiled(r"\n[ \t]*(?:#(?!!)|//|\*[ \t/])[^\n]*")
_OTHER: Final = compiled(
    r"(?i)\.(?:go|rs|php|pl|pm|lua|java|kts?|swift|cs|c|cc|cpp|mm?|applescript|vbs|hta|bat|cmd|reg|jl|ex|exs|scala|dart|groovy|gradle"
    r"|g?awk|tcl|exp|nims?|nimble|nu|sbt|sc|ahk|bas|au3|csx|wsf|jse|vbe|zig|hs|clj|cr|r|vb|ml|fsx?|erl|d|v|pas|coffee|gd"
    r"|el|raku|sol|gs|cmake|bzl|star|vim|tf|nix)$|(?:^|/)(?:[\w.-]*dockerfile[\w.-]*|containerfile|makefile|justfile|earthfile"
    r"|jenkinsfile(?:\.[\w-]+)?|cmakelists\.txt|meson\.build|(?:build|module|workspace)\.bazel|workspace|tiltfile|snakefile)$"
)
_WRITTEN: Final = compiled(  # code that a tool fills in and puts into somebody's project
    r"(?i)\.(?:[cm]?[jt]sx?|py|rb|go|rs|php|java|kts?|cs|swift|sh|ps1|lua|pl|ex|dart|scala)"
    r"\.(?:tpl|tmpl|template|tt|j2|jinja2?|hbs|mustache|ejs|erb|eex|liquid|in|dist|stub|txt)$"
)
_MOST: Final = 200
_QUOTED: Final = re.compile(rb"""\\.|"(?:\\.|[^"\\])*"|'[^']*'""")
_FILTERED: Final = re.compile(rb"\|[ \t]*(?:cut|tr|paste|sort|uniq|column|base64)\b[^|;&\n$`()<>]*\Z")
_OPTION: Final = re.compile(
    rb"[^\n]*?[ \t'\",](?:-[a-zA-Z]{0,6}[dFT]|--data[\w-]*|--form|--upload-file|--json)[ \t'\",=@]"
)
_DEFINES: Final = re.compile(rb"[ \t]*(?:(?:export|public|private|protected|static|async|function)[ \t]+)*")
_BODY: Final = re.compile(rb"[^()\n]{0,200}\)[ \t]*(?::[^\n;={}()]{1,80})?\{[ \t]*$", re.MULTILINE)
_LABEL: Final = re.compile(  # ``"Model: $MODEL | Language: $LANGUAGE"``: what is used, and nothing that is said to it
    rb"(?i)model:[ \t]*[$%#]?\{?\w{0,20}model(?:_?(?:name|id))?\}?"
    rb"(?:[ \t]*[|,;/-][ \t]*\w{1,20}[ \t]*[:=][ \t]*[$%#]?\{?\w{1,40}\}?)*[ \t]*[\"'`]"
)
_SEARCHED: Final = re.compile(  # up to a place in a pattern that is asked for at once
    rb"""(?<![\w.])re\.(?:search|match|fullmatch|findall|finditer)\([ \t]*r?(?:"[^"\n]*|'[^'\n]*)\Z"""
)
_SPELLED: Final = rb"""\"[^"\\\n]*"|'[^'\\\n]*'"""
_WRITING: Final = re.compile(  # ``open(path, "wb")`` as it is written: such a file is filled and never read
    rb"""\bopen\((?!\s*\*)(?:[^()\[\]{},"'\n]|\((?:[^()"'\n]|%b)*\)|\[(?:[^\[\]"'\n]|%b)*\]|%b)*"""
    rb""",[ \t]*(?:mode[ \t]*=[ \t]*)?["'][wxa][bt]?["'][ \t]*(?=[,)])""" % (_SPELLED, _SPELLED, _SPELLED)
)
_OPENS: Final = re.compile(rb"\bopen\(")
_OTHER_OPEN: Final = re.compile(  # a name of the program's own
    rb"\b(?:def|as)[ \t]+open\b|\bopen[ \t]*(?::?=|,[^()\n]*=)(?!=)|\bimport\b[^\n]*(?:\bopen\b|[(*])"
)
_REMOVES: Final = ("delete", "encrypt")  # beside these, homes under other names are looked for
_HOMES: Final = frozenset({"home", "home_gone"})
_TAMPERED: Final = (("patch",), ("patch", "secret"), ("patch", "login"))  # what the engine asks for besides the chains


@dataclass(frozen=True, order=True)
class Act:
    """One act: where it stands in its file (a line, 1-based), what it is, and how it is spelled."""

    path: str
    line: int
    kind: str
    text: str


def code_of(file: SourceFile) -> tuple[Segment, ...]:
    """The file's own code, in any language: no examples of documentation."""
    if file.text is not None and _OTHER.search(file.known_as):
        return (Segment(file.path, Context.TEXT, file.text, anchor=file.place),)
    own = file.own(*CODE)
    if not own and file.text is not None and _WRITTEN.search(file.known_as):
        return (Segment(file.path, Context.TEXT, file.text, anchor=file.place),)
    return own


class Acts:
    """The acts of one segment outside of whole-line comments, each kind looked for when it is asked for."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._kinds: dict[str, set[Act]] = {}
        self._near: dict[str, list[int]] = {}
        kinds, patterns = _compiled()
        for index in patterns.candidates(self._data):
            self._near.setdefault(kinds[index], []).append(index)

    @property
    def possible(self) -> frozenset[str]:
        """The kinds that may be found; no other one will be."""
        removed = not self._near.keys().isdisjoint(_REMOVES)
        return frozenset(self._near) | (_HOMES if removed else frozenset())

    def of(self, kind: str) -> set[Act]:
        """Every act of one kind."""
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = self._found(kind)
        return known

    def found(self) -> list[Act]:
        """All that was found so far, sorted by line."""
        return sorted(act for acts in self._kinds.values() for act in acts)

    def all(self) -> list[Act]:
        """Every act of every kind, sorted by line."""
        return self.those(self.possible)

    def those(self, kinds: Iterable[str]) -> list[Act]:
        """Sorted by line: every act of `kinds`, and what else was found so far."""
        for kind in kinds:
            self.of(kind)
        return self.found()

    def chained(self) -> list[Act]:
        """Sorted by line: every act of the chains of which nothing is missing in this segment, and some others."""
        possible = self.possible
        for chain in _chains():
            if possible.issuperset(chain):
                all(map(self.of, chain))
        return self.found()

    def _found(self, kind: str) -> set[Act]:
        patterns = _compiled()[1]
        hits = [hit for index in self._near.get(kind, ()) for hit in patterns.find(index, self._data, _MOST)]
        found = {self._act(kind, hit.start, hit.end) for hit in hits if self._is_act(kind, hit)}
        if kind in _HOMES and any(map(self.of, _REMOVES)):
            found |= {self._act(*use) for use in self._home_uses if use[0] == kind}
        return found

    def _is_act(self, kind: str, hit: Hit) -> bool:
        """False where the words say so and the code does not."""
        if kind == "allowance":
            return not is_asked_payment(self._data, hit.start)
        if kind == "account" and self._is_method(hit):
            return False
        if kind == "addressed" and _LABEL.match(self._data, max(hit.end - 6, 0)):
            return False
        if kind == "local" and self._is_only_written(hit):
            return False
        return self._is_sent(hit) and not (kind == "send" and self._is_looked_for(hit))

    def _is_only_written(self, hit: Hit) -> bool:
        """True for ``with open(path, "w") as out:``, when nothing else is opened in what was found."""
        found = self._data[hit.start : hit.end]
        if self._segment.context is not Context.PYTHON or not found.startswith(b"open("):
            return False
        plain = self._data[hit.start - 1 : hit.start] != b"." and _OTHER_OPEN.search(self._data) is None
        return plain and len(_OPENS.findall(found)) == len(_WRITING.findall(found))

    def _is_method(self, hit: Hit) -> bool:
        """True where a client in JavaScript defines a method of that name; whoever calls it does the act."""
        if self._segment.context not in {Context.JAVASCRIPT, Context.TYPESCRIPT}:
            return False
        line = self._data[self._data.rfind(b"\n", 0, hit.start) + 1 : hit.start]
        return _DEFINES.fullmatch(line) is not None and _BODY.match(self._data, hit.end) is not None

    def _is_looked_for(self, hit: Hit) -> bool:
        """True for a command in a pattern of ``re.search``: it is found in a text, and run by nobody."""
        if self._segment.context is not Context.PYTHON or self._data[hit.start : hit.start + 4] != b"git ":
            return False
        line = self._data[self._data.rfind(b"\n", 0, hit.start) + 1 : hit.start]
        return _SEARCHED.search(line) is not None and b".pattern" not in self._data

    def _is_sent(self, hit: Hit) -> bool:
        """False for ``curl … | cut -d, -f2``: the option is the filter's, and no other one follows on the line."""
        if self._data[hit.start : hit.start + 4].lower() != b"curl":
            return True
        end: int | None = hit.end
        while end is not None and _FILTERED.search(_QUOTED.sub(b"_", self._data[hit.start : end])):
            more = _OPTION.match(self._data, end - 1)
            end = more.end() if more is not None else None
        return end is not None

    @cached_property
    def _home_uses(self) -> list[tuple[str, int, int]]:
        return list(home_uses(self._data))

    @cached_property
    def _data(self) -> bytes:
        text = _COMMENT.sub(lambda found: "\n" + " " * (len(found[0]) - 1), f"\n{self._segment.text}")
        mark = CONTINUED.get(self._segment.context, CONTINUED[Context.SHELL])
        return text[1:].replace(mark, "  ").encode("utf-8", "replace")  # one command in several lines

    def _act(self, kind: str, at: int, end: int) -> Act:
        data, segment = self._data, self._segment
        start = at if segment.text.isascii() else len(data[:at].decode("utf-8", "replace"))
        shown = data[at:end].decode("utf-8", "replace")
        return Act(segment.path, segment.locate(start, start + 1).line, kind, shown[:200])


@cache
def _compiled() -> tuple[tuple[str, ...], PatternSet]:
    acts = table("acts")["acts"]
    kinds = tuple(kind for kind, patterns in acts.items() for _ in patterns)
    return kinds, SievedSet([pattern for patterns in acts.values() for pattern in patterns])


@cache
def _chains() -> tuple[tuple[str, ...], ...]:
    """The kinds that are asked for together, in each set those first whose patterns are the shortest."""
    acts = table("acts")
    near = [frozenset(chain["acts"]) for chain in acts["chains"] if not chain.get("across")]
    far = [frozenset((kind,)) for chain in acts["chains"] if chain.get("across") for kind in chain["acts"]]
    together = [*near, *dict.fromkeys(far), *(frozenset(kinds) for kinds in _TAMPERED)]
    lengths = {kind: sum(map(len, patterns)) for kind, patterns in acts["acts"].items()}
    return tuple(tuple(sorted(kinds, key=lambda kind: (lengths.get(kind, 0), kind))) for kinds in together)

"""Acts of code in any language, by their spelling: sends, reads locally, starts, writes (rules/tables/acts.yaml).

An act alone says nothing; the judges of this package combine acts with what the language engines resolved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from skillkeep.auditor.engines.behaviour.homes import home_uses
from skillkeep.auditor.engines.interface import Context, Segment, SourceFile
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.patterns import PatternSet

__all__ = ["CODE", "Act", "acts_of", "code_of"]

CODE: Final = (
    Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT, Context.SHELL, Context.POWERSHELL, Context.RUBY,
)  # fmt: skip
_COMMENT: Final = re.compile(r"^[ \t]*(?:#(?!!)|//|\*[ \t/]).*$", re.MULTILINE)
_OTHER: Final = re.compile(
    r"(?i)\.(?:go|rs|php|pl|pm|lua|java|kts?|swift|cs|c|cc|cpp|mm?|applescript|vbs|hta|bat|cmd|reg|jl|ex|exs|scala|dart|groovy|gradle"
    r"|awk|tcl|nim|zig|hs|clj|cr)$|(?:^|/)(?:[\w.-]*dockerfile[\w.-]*|containerfile|makefile|justfile)$"
)
_MOST: Final = 200


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
    return tuple(each for each in file.of(*CODE) if not any(step.startswith("fence") for step in each.provenance))


def acts_of(segment: Segment) -> list[Act]:
    """Every act in `segment`, outside of whole-line comments, sorted by line."""
    kinds, patterns = _compiled()
    data = segment.text.encode("utf-8", "replace")
    near = patterns.candidates(data)
    if not near:
        return []
    text = _COMMENT.sub(lambda found: " " * len(found[0]), segment.text)
    data = text.encode("utf-8", "replace")
    wide = len(data) != len(text)

    def act(kind: str, at: int, end: int) -> Act:
        start = len(data[:at].decode("utf-8", "replace")) if wide else at
        shown = data[at:end].decode("utf-8", "replace")
        return Act(segment.path, segment.locate(start, start + 1).line, kind, shown[:200])

    found = {act(kinds[index], hit.start, hit.end) for index in near for hit in patterns.find(index, data, _MOST)}
    if any(each.kind in {"delete", "encrypt"} for each in found):
        found |= {act(*use) for use in home_uses(data)}
    return sorted(found)


@cache
def _compiled() -> tuple[tuple[str, ...], PatternSet]:
    acts = table("acts")["acts"]
    kinds = tuple(kind for kind, patterns in acts.items() for _ in patterns)
    return kinds, PatternSet([pattern for patterns in acts.values() for pattern in patterns])

"""The regex rules and capability patterns, applied to each segment in its context."""

from __future__ import annotations

import re

from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.patterns import Hit
from skillkeep.auditor.rulebook import CapabilityRule, Rule, Rulebook, default_rulebook

__all__ = ["ENGINE", "PatternEngine"]

_HASH_COMMENT = re.compile(r"^[ \t]*#(?!!).*$", re.MULTILINE)
_SLASH_COMMENT = re.compile(r"^[ \t]*(?://|\*(?![/\w])).*$", re.MULTILINE)
_COMMENTS = {
    Context.PYTHON: _HASH_COMMENT,
    Context.SHELL: _HASH_COMMENT,
    Context.POWERSHELL: _HASH_COMMENT,
    Context.RUBY: _HASH_COMMENT,
    Context.JAVASCRIPT: _SLASH_COMMENT,
    Context.TYPESCRIPT: _SLASH_COMMENT,
}
_CONTINUED = {Context.SHELL: "\\\n", Context.POWERSHELL: "`\n"}
_MOST_HITS = 25


class PatternEngine(Engine):
    """See the module."""

    name = "patterns"
    order = 50

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge each segment; an oversize file costs time in proportion to its size, never more."""
        rulebook = default_rulebook()
        for segment in file.segments:
            joined = _joined(segment)
            _scan(rulebook, segment, joined, True, emit)
            _scan(rulebook, segment, _without_comments(segment.context, joined), False, emit)


def _scan(rulebook: Rulebook, segment: Segment, text: str, comments: bool, emit: Emitter) -> None:
    compiled = rulebook.compiled(segment.context, comments=comments)
    data = text.encode()
    for index in compiled.patterns.candidates(data):
        rule = compiled.owners[index]
        if isinstance(rule, Rule) and rule.fallback and emit.was_understood(segment):
            continue
        for hit in compiled.patterns.find(index, data, _MOST_HITS):
            _report(rulebook, rule, segment, data, hit, emit)


def _report(
    rulebook: Rulebook, rule: Rule | CapabilityRule, segment: Segment, data: bytes, hit: Hit, emit: Emitter
) -> None:
    matched = data[hit.start : hit.end]
    if isinstance(rule, Rule) and rulebook.excused(rule, matched):
        return
    start = _characters(segment, data, hit.start)
    at = segment.locate(start, start + len(matched.decode(errors="replace")))
    value = _group(data, hit, "value")
    if isinstance(rule, CapabilityRule):
        emit.capability(rule.kind, value, at)
        return
    if rule.capability and value:
        emit.capability(rule.capability, value, at)
    excerpt = matched.decode(errors="replace").strip()
    emit.finding(rule.id, at, excerpt, segment=segment, subject=_group(data, hit, "subject"))


def _group(data: bytes, hit: Hit, name: str) -> str:
    if name not in hit.groups:
        return ""
    start, end = hit.groups[name]
    return data[start:end].decode(errors="replace")


def _characters(segment: Segment, data: bytes, offset: int) -> int:
    return offset if len(data) == len(segment.text) else len(data[:offset].decode(errors="replace"))


def _joined(segment: Segment) -> str:
    """The text with continued lines joined; offsets stay."""
    mark = _CONTINUED.get(segment.context)
    return segment.text.replace(mark, "  ") if mark else segment.text


def _without_comments(context: Context, text: str) -> str:
    """The text with whole-line comments blanked; offsets stay."""
    pattern = _COMMENTS.get(context)
    return pattern.sub(lambda match: " " * len(match.group().encode()), text) if pattern else text


ENGINE = PatternEngine()

"""The regex rules and capability patterns, applied to each segment in its context."""

from __future__ import annotations

import re

from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.patterns import Hit
from skillkeep.auditor.rulebook import CapabilityRule, Owner, RulePatterns, default_rulebook

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
        """Judge each segment. A fence counts as parsed when one of its full readings was."""
        parsed = {(each.first_line, len(each.text)) for each in file.segments if emit.was_understood(each)}
        for segment in file.segments:
            fenced = segment.context is Context.FENCED and (segment.first_line, len(segment.text)) in parsed
            _scan(segment, fenced or emit.was_understood(segment), emit)


def _scan(segment: Segment, parsed: bool, emit: Emitter) -> None:
    compiled = default_rulebook().compiled
    text = _joined(segment)
    whole = text.encode()
    bare: bytes | None = None
    for index in compiled.patterns.candidates(whole):
        rule = compiled.owners[index]
        if segment.context not in rule.contexts or (rule.fallback and parsed):
            continue
        if not rule.comments and bare is None:
            bare = _without_comments(segment.context, text).encode()
        data = whole if rule.comments or bare is None else bare
        for hit in compiled.patterns.find(index, data, _MOST_HITS):
            _report(rule, segment, data, hit, emit)


def _report(rule: Owner, segment: Segment, data: bytes, hit: Hit, emit: Emitter) -> None:
    if default_rulebook().excused(rule, data[hit.start : hit.end]):
        return
    shown_start, shown_end = hit.groups.get("at", (hit.start, hit.end))
    shown = data[shown_start:shown_end].decode(errors="replace")
    start = _characters(segment, data, shown_start)
    at = segment.locate(start, start + len(shown))
    value = _group(data, hit, "value")
    kind = rule.kind if isinstance(rule, CapabilityRule) else rule.capability
    if kind and value:
        emit.capability(kind, value, at)
    if not isinstance(rule, CapabilityRule):
        severity = rule.severity if isinstance(rule, RulePatterns) else None
        subject = _group(data, hit, "subject")
        emit.finding(rule.reports, at, shown.strip(), segment=segment, subject=subject, severity=severity)


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

"""The regex rules and capability patterns, applied to each segment in its context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.examples import example_severity
from skillkeep.auditor.engines.forbidden import is_forbidden
from skillkeep.auditor.engines.installers import is_installer, piped_address
from skillkeep.auditor.engines.interface import CONTINUED, Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.sample_data import is_sample
from skillkeep.auditor.engines.specimens import is_listed_as_denied, is_specimen
from skillkeep.auditor.engines.table_rows import is_shown_row
from skillkeep.auditor.engines.told_of import is_alternative, is_named_phrase, is_told_of, kept_for
from skillkeep.auditor.interface import Severity
from skillkeep.auditor.patterns import Hit
from skillkeep.auditor.rulebook import CapabilityRule, Owner, RulePatterns, default_rulebook
from skillkeep.auditor.syntax.comments import bare

__all__ = ["ENGINE", "PatternEngine"]

_HASH_COMMENT = re.compile(rb"^[ \t]*#(?!!).*$", re.MULTILINE)
_SLASH_COMMENT = re.compile(rb"^[ \t]*(?://|\*(?![/\w])).*$", re.MULTILINE)
_COMMENTS = {
    Context.PYTHON: _HASH_COMMENT,
    Context.SHELL: _HASH_COMMENT,
    Context.POWERSHELL: _HASH_COMMENT,
    Context.RUBY: _HASH_COMMENT,
    Context.JAVASCRIPT: _SLASH_COMMENT,
    Context.TYPESCRIPT: _SLASH_COMMENT,
}
_MOST_HITS = 25
_DOWNLOADED = "shell-download-execution"
_READ = "prose-read-secrets"
_OTHER_LANGUAGES = frozenset(
    "fence:" + tag
    for tag in (
        "c", "c++", "cpp", "cs", "csharp", "css", "dart", "go", "golang", "html", "java", "javascript", "js", "json",
        "jsx", "kotlin", "mjs", "php", "rb", "ruby", "rust", "scala", "sql", "svelte", "swift", "ts", "tsx",
        "typescript", "vue", "xml",
    )
)  # fmt: skip
_GIVEN = compiled(r"\W?[\w.]+[ \t]*\([ \t]*(?P<mark>[\"'])(?P<text>[^\"'\\$`{}\n]*)(?P=mark)[ \t]*[,)]")
_SEARCHING = frozenset({Context.CONFIG, Context.SHELL, Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT})
_SPOKEN = frozenset({"prose-override", "hijack-new-goal", "hijack-covert"})
_COMMANDS = frozenset({"shell-download-execution", "shell-reverse-shell", "shell-decoded-execution"})
_SPECIMENS = frozenset({"prose-override", "prose-read-secrets"})
_RUN_AS = {
    "python-eval": Context.PYTHON,
    "javascript-eval": Context.JAVASCRIPT,
    "python-os-command": Context.SHELL,
    "javascript-shell-command": Context.SHELL,
}


class PatternEngine(Engine):
    """See the module."""

    name = "patterns"
    order = 50

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge the segments context by context. A fence counts as parsed when one of its full readings was."""
        parsed = {(each.first_line, len(each.text)) for each in file.segments if emit.was_understood(each)}
        groups: dict[Context, list[_Part]] = {}
        for number, segment in enumerate(file.segments):
            fenced = segment.context is Context.FENCED and (segment.first_line, len(segment.text)) in parsed
            understood = fenced or emit.was_understood(segment)
            parts = groups.setdefault(segment.context, [])
            parts.append(_Part(number, segment, understood, page=file.text or ""))
            if (other := bare(segment)) is not segment:
                parts.append(_Part(number, other, understood, uncommented=True))
        found = [hit for context, parts in groups.items() for hit in _found(context, parts)]
        known = set[tuple[int, int, int]]()
        for hit in sorted(found, key=lambda each: (each.part.uncommented, each.part.number, each.entry)):
            if hit.part.uncommented and hit.place in known:
                continue
            known.add(hit.place)
            _report(hit, emit)


@dataclass(frozen=True)
class _Part:
    number: int
    segment: Segment
    parsed: bool
    uncommented: bool = False
    """Whether its segment is another's, without the comments beside code."""
    page: str = ""
    """The whole file."""

    @cached_property
    def whole(self) -> bytes:
        if self.segment.context is Context.CONFIG and "\\n" in self.segment.text:
            return self.segment.text.replace("\\n", "  ").encode()  # a line of a text in JSON begins there
        mark = CONTINUED.get(self.segment.context)
        return (self.segment.text.replace(mark, "  ") if mark else self.segment.text).encode()

    @cached_property
    def bare(self) -> bytes:
        return _without_comments(self.segment.context, self.whole)


@dataclass(frozen=True)
class _Found:
    entry: int
    part: _Part
    rule: Owner
    data: bytes
    hit: Hit

    @property
    def place(self) -> tuple[int, int, int]:
        """Its pattern, its segment, and its line in that."""
        return self.entry, self.part.number, self.data.count(b"\n", 0, self.hit.start)


def _found(context: Context, parts: list[_Part]) -> Iterator[_Found]:
    """Matches in all parts of one context. A pattern is looked for in all of them at once; most are nowhere."""
    compiled = default_rulebook().compiled
    open_parts = [part for part in parts if not part.parsed]
    whole = _Joined(parts, bare=False)
    bare = _Joined(parts, bare=True)
    for entry, index in compiled.candidates(context, whole.data):
        rule = compiled.owners[entry]
        wanted = open_parts if rule.fallback else parts
        text = whole if rule.comments else bare
        if not wanted or (len(parts) > 1 and not compiled.patterns.occurs(index, text.data)):
            continue
        for part in wanted:
            if rule.comments and part.uncommented:
                continue
            if rule.fallback and context is Context.PYTHON and _OTHER_LANGUAGES.intersection(part.segment.provenance):
                continue  # that the words of another language are no Python is no reason to read them as such
            data = part.whole if rule.comments else part.bare
            for hit in compiled.patterns.find(index, data, _MOST_HITS):
                yield _Found(entry, part, rule, data, hit)


class _Joined:
    """The texts of several parts with line feeds between them; a match in one of them is a match in `data`."""

    def __init__(self, parts: list[_Part], *, bare: bool) -> None:
        self._parts = parts
        self._bare = bare

    @cached_property
    def data(self) -> bytes:
        """Made when first asked for."""
        texts = [part.bare if self._bare else part.whole for part in self._parts]
        return texts[0] if len(texts) == 1 else b"\n".join(texts)


def _report(found: _Found, emit: Emitter) -> None:
    rule, segment, data, hit = found.rule, found.part.segment, found.data, found.hit
    if default_rulebook().excused(rule, data[hit.start : hit.end]):
        return
    shown_start, shown_end = hit.groups.get("at", (hit.start, hit.end))
    shown = data[shown_start:shown_end].decode(errors="replace")
    start = _characters(segment, data, shown_start)
    if (rule.orders or _speaks(rule)) and _is_no_order(rule, segment, data, hit):
        return
    at = segment.locate(start, start + len(shown))
    value = _group(data, hit, "value")
    kind = rule.kind if isinstance(rule, CapabilityRule) else rule.capability
    if kind and value:
        emit.capability(kind, value, at)
    if not isinstance(rule, CapabilityRule):
        severity = rule.severity if isinstance(rule, RulePatterns) else None
        address = piped_address(shown) if rule.reports == _DOWNLOADED else ""
        is_shown = segment.context is Context.INSTRUCTION and is_shown_row(segment.text, start)
        if is_shown or is_listed_as_denied(segment, start) or (address and is_installer(address)):
            severity = Severity.WARN
        if rule.reports in _SPECIMENS and is_specimen(segment, found.part.page, start, shown):
            severity = Severity.WARN
        if rule.reports in _COMMANDS and is_sample(segment, start):
            severity = Severity.WARN
        if rule.fallback and rule.reports in _RUN_AS:
            if (given := _GIVEN.match(shown)) is not None:
                emit.derive(given["text"], _RUN_AS[rule.reports], at, rule.reports, segment)
                return
            severity = severity or example_severity(segment, shown)
        subject = _group(data, hit, "subject") or address
        if rule.reports == _READ:
            subject = kept_for(segment.text, start + len(shown))
        emit.finding(rule.reports, at, shown.strip(), segment=segment, subject=subject, severity=severity)


def _speaks(rule: Owner) -> bool:
    """True for a rule whose words alone are the finding, wherever they stand."""
    return not isinstance(rule, CapabilityRule) and rule.reports in _SPOKEN


def _is_no_order(rule: Owner, segment: Segment, data: bytes, hit: Hit) -> bool:
    """True where the words around a match say that nobody is to do what it says."""
    matched = data[hit.start : hit.end].decode(errors="replace")
    start = _characters(segment, data, hit.start)
    if rule.orders and (is_forbidden(segment.text, start, matched) or is_told_of(segment.text, start, matched)):
        return True
    if _speaks(rule) and is_named_phrase(segment.text, start, matched):
        return True
    return rule.orders and segment.context in _SEARCHING and is_alternative(segment.text, start, matched)


def _group(data: bytes, hit: Hit, name: str) -> str:
    if name not in hit.groups:
        return ""
    start, end = hit.groups[name]
    return data[start:end].decode(errors="replace")


def _characters(segment: Segment, data: bytes, offset: int) -> int:
    """The offset in the text of an offset in `data`, in which comments may be blank and so have more characters."""
    if len(data) == len(segment.text):
        return offset
    return len(segment.text.encode()[:offset].decode(errors="replace"))


def _without_comments(context: Context, text: bytes) -> bytes:
    """The text with whole-line comments blanked; offsets stay."""
    pattern = _COMMENTS.get(context)
    if pattern is None:
        return text
    return pattern.sub(lambda match: b" " * len(match.group()), text)


ENGINE = PatternEngine()

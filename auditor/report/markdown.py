"""A report for a pull request or a wiki. A tool's text stands in code spans, or with every markup character encoded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.interface import Capability, Finding, LedgerEntry, Report, Severity, Verdict
from skillkeep.auditor.references import address_of, references_of
from skillkeep.auditor.report.interface import Audited, Format, Style, joined_path
from skillkeep.auditor.report.text import rubric_line, summary_line
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.text import escape, shorten

__all__ = ["FORMAT"]

_SIGNS = {Verdict.FAIL: "❌", Verdict.WARN: "⚠️", Verdict.PASS: "✅"}
_NAMES = {Severity.FAIL: "FAIL", Severity.WARN: "WARN", Severity.INFO: "note"}
_MARKUP = compiled(r"[\\`*_{}\[\]()<>#+!|~@&:$]|\bwww\.")
_MOST_PLACES = 10
_MOST_LISTED = 50


def _render(audited: Sequence[Audited], style: Style) -> str:
    return "\n\n".join("\n\n".join(part for part in _report(each, style) if part) for each in audited)


def _report(each: Audited, style: Style) -> Iterator[str]:
    report = each.report
    yield f"# {_SIGNS[report.verdict]} {report.verdict.value}: {_code(each.label)}"
    yield _words(summary_line(report).partition("  ")[2])
    told = [*report.notes, *filter(None, [rubric_line(report)])]
    yield "\n".join(f"> {_words(shorten(note, 300))}  " for note in told)
    ordered = sorted(report.findings, key=lambda f: (-f.severity.rank, f.rule, f.location))
    for (severity, _), group in groupby(ordered, key=lambda f: (f.severity, f.rule)):
        yield _rule_part(each, severity, list(group), style)
    yield _wants(report.capabilities)
    yield _unread(report.ledger)
    yield _made_by(report)


def _rule_part(each: Audited, severity: Severity, group: list[Finding], style: Style) -> str:
    first = group[0]
    lines = [f"## {_NAMES[severity]}: {_words(first.title)}", "", f"Rule {_code(first.rule)}", ""]
    rule = default_rulebook().rules.get(first.rule)
    if rule:
        lines += [f"{_words(' '.join(rule.why.split()))}", ""]
    shown = group if style.all_places else group[:_MOST_PLACES]
    for finding in shown:
        lines += _place(each, finding)
    if len(group) > len(shown):
        lines.append(f"- and {len(group) - len(shown)} more")
    if rule:
        links = ", ".join(_link(name) for name in references_of(rule))
        lines += ["", f"**Fix:** {_words(' '.join(rule.fix.split()))}", "", f"See {links}"]
    return "\n".join(lines)


def _place(each: Audited, finding: Finding) -> Iterator[str]:
    place = finding.location
    where = joined_path(each, place) or "the whole tool"
    line = f"{where}:{place.line}" if place.line else where
    told = f": {_words(shorten(finding.message, 300))}" if finding.message not in {"", finding.title} else ""
    yield f"- {_code(line)}{told}"
    if finding.excerpt.strip():
        yield f"  {_code(shorten(finding.excerpt.strip(), 200))}"
    if said := finding.suppression:
        reason = _words(shorten(said.reason, 200))
        yield f"  *suppressed by {_words(said.owner)} until {_words(said.expires)}:* {reason}"


def _wants(capabilities: Sequence[Capability]) -> str:
    if not capabilities:
        return ""
    lines = ["## What the code wants", "", "The sandbox gives none of it unless you grant it.", ""]
    for item in sorted(capabilities, key=lambda c: (c.kind, c.value))[:_MOST_LISTED]:
        value = "(chosen at run time)" if item.value == "*" else _code(shorten(item.value, 80))
        where = f"{item.evidence.path}:{item.evidence.line}" if item.evidence.line else item.evidence.path
        lines.append(f"- {_words(item.kind)} {value} at {_code(where)}{', declared' if item.declared else ''}")
    if len(capabilities) > _MOST_LISTED:
        lines.append(f"- and {len(capabilities) - _MOST_LISTED} more")
    return "\n".join(lines)


def _unread(ledger: Sequence[LedgerEntry]) -> str:
    entries = sorted((e for e in ledger if e.state != "read"), key=lambda e: (e.state != "failed", e.path))
    if not entries:
        return ""
    lines = ["## What was not read", ""]
    for entry in entries[:_MOST_LISTED]:
        where = _code(entry.path or "the whole tool")
        lines.append(f"- {where}: {_words(entry.engine)} {_words(entry.state)}, {_words(shorten(entry.reason, 160))}")
    if len(entries) > _MOST_LISTED:
        lines.append(f"- and {len(entries) - _MOST_LISTED} more")
    return "\n".join(lines)


def _made_by(report: Report) -> str:
    runs = ", ".join(f"{_words(run.name)} {_words(run.state)} ({run.seconds:.2f} s)" for run in report.engines)
    return f"---\n\nDigest {_code(report.digest or 'none')}, ruleset {_code(report.ruleset)}. Engines: {runs}."


def _code(text: str) -> str:
    """A code span that the text cannot leave: fenced by more backticks than it has in a row (CommonMark 6.1)."""
    shown = escape(text)
    fence = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    pad = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) or not shown.strip() else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _words(text: str) -> str:
    """Text without markup, mentions, links or line breaks: what could begin any is a character reference."""
    return _MARKUP.sub(lambda found: "".join(f"&#{ord(char)};" for char in found.group()), escape(text))


def _link(reference: str) -> str:
    address = address_of(reference)
    return f"[{_words(reference)}]({address})" if address else _words(reference)


FORMAT = Format("markdown", "for a pull request or a page", _render)

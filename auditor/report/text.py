"""A report for people: verdict first, findings worst first, then what the code wants and what was not read.

Everything that came from the tool is escaped here. Colours are asked for by a function that the caller hands in,
so that a file or a pipe never holds any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.interface import Capability, Finding, LedgerEntry, Report, Severity, Verdict
from skillkeep.auditor.report.interface import Audited, Format, Paint, Style, plain
from skillkeep.auditor.report.source import Reader, marked_line, no_source
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.text import escape, printable_path, shorten

__all__ = ["FORMAT", "Paint", "TextOptions", "plain", "render_findings", "render_text", "rubric_line", "summary_line"]

_COLOURS = {Severity.FAIL: "red", Severity.WARN: "yellow", Severity.INFO: "blue"}
_LABELS = {Severity.FAIL: "FAIL", Severity.WARN: "WARN", Severity.INFO: "note"}
_VERDICT_COLOURS = {Verdict.FAIL: "red", Verdict.WARN: "yellow", Verdict.PASS: "green"}
_MOST_PLACES = 5
_MOST_LEDGER = 12
_MOST_VALUES = 12


@dataclass(frozen=True)
class TextOptions:
    """How to show: `paint` colours a text, `read` gives a file's lines, `all_places` shows every place of a rule."""

    paint: Paint = plain
    read: Reader = no_source
    all_places: bool = False


def render_text(report: Report, options: TextOptions = TextOptions()) -> str:
    """The whole report as text, without a newline at its end."""
    parts = [
        render_findings(report.findings, options),
        _capabilities(report.capabilities, options.paint),
        _unread(report, options.paint),
        _engines(report),
        rubric_line(report),
        _notes(report, options.paint),
        summary_line(report, options.paint),
    ]
    return "\n\n".join(part for part in parts if part)


def _render(audited: Sequence[Audited], style: Style) -> str:
    texts = []
    for each in audited:
        head = [style.paint(f"== {escape(each.label)}", "bold")] if len(audited) > 1 else []
        texts.append(
            "\n\n".join([*head, render_text(each.report, TextOptions(style.paint, each.read, style.all_places))])
        )
    if len(audited) > 1:
        rows = [f"{summary_line(each.report, style.paint)}  {escape(each.label)}" for each in audited]
        texts.append("\n".join([style.paint("== all", "bold"), *rows]))
    return "\n\n".join(texts)


FORMAT = Format("text", "for people at a terminal", _render)


def render_findings(findings: Sequence[Finding], options: TextOptions = TextOptions()) -> str:
    """Findings grouped by rule, worst first; each place with its line and carets."""
    ordered = sorted(findings, key=lambda f: (-f.severity.rank, f.rule, f.location))
    groups = groupby(ordered, key=lambda f: (f.severity, f.rule))
    return "\n\n".join("\n".join(_group(list(group), options)) for _, group in groups)


def summary_line(report: Report, paint: Paint = plain) -> str:
    """One line: the verdict, how many findings of each severity, files and seconds."""
    open_ones = [f for f in report.findings if f.suppression is None]
    counts = {severity: sum(f.severity is severity for f in open_ones) for severity in Severity}
    said = [
        f"{counts[severity]} {word if counts[severity] != 1 else one}"
        for severity, one, word in (
            (Severity.FAIL, "blocking finding", "blocking findings"),
            (Severity.WARN, "warning", "warnings"),
            (Severity.INFO, "note", "notes"),
        )
        if counts[severity]
    ]
    if suppressed := len(report.findings) - len(open_ones):
        said.append(f"{suppressed} suppressed")
    verdict = paint(report.verdict.value, _VERDICT_COLOURS[report.verdict])
    files = f"{report.files} file{'' if report.files == 1 else 's'}"
    return f"{verdict}  {', '.join(said) or 'nothing found'} in {files} ({report.seconds:.1f} s)"


def _group(group: list[Finding], options: TextOptions) -> Iterator[str]:
    first = group[0]
    label = options.paint(_LABELS[first.severity], _COLOURS[first.severity])
    yield f"{label}  {options.paint(escape(first.title), 'bold')}  [{escape(first.rule)}]"
    shown = group if options.all_places else group[:_MOST_PLACES]
    for finding in shown:
        yield from _place(finding, options)
    if len(group) > len(shown):
        yield f"      and {len(group) - len(shown)} more; --verbose shows all"
    if fix := _fix(first.rule):
        yield f"      {options.paint('fix:', 'dim')} {fix}"


def _place(finding: Finding, options: TextOptions) -> Iterator[str]:
    place = finding.location
    where = printable_path(place.path) if place.path else "the whole tool"
    if place.line:
        where += f":{place.line}:{place.column}" if place.column else f":{place.line}"
    through = f"  (inside {escape(' > '.join(finding.provenance))})" if finding.provenance else ""
    yield f"      {options.paint(where, 'blue')}{options.paint(through, 'dim')}"
    if place.line and (finding.excerpt or place.column):
        line, carets = marked_line(finding, options.read(place.path))
        number = str(place.line)
        yield f"      {number:>5} | {line}"
        yield f"      {'':>5} | {options.paint(carets, _COLOURS[finding.severity])}"
    if finding.message and finding.message != finding.title:
        yield f"            {shorten(finding.message, 300)}"
    if said := finding.suppression:
        whose = f"{escape(said.owner)} until {escape(said.expires)}: {shorten(said.reason, 200)}"
        yield f"            {options.paint('suppressed by', 'dim')} {whose}"


def _fix(rule: str) -> str:
    try:
        return default_rulebook().rule(rule).fix
    except AuditError:
        return ""


def _capabilities(capabilities: Sequence[Capability], paint: Paint) -> str:
    if not capabilities:
        return ""
    lines = [paint("What the code wants", "bold") + " (the sandbox gives none of it unless you grant it)"]
    ordered = sorted(capabilities, key=lambda c: (c.kind, c.value))
    for kind, group in groupby(ordered, key=lambda c: c.kind):
        values = list(group)
        shown = [_value(item) for item in values[:_MOST_VALUES]]
        more = f", and {len(values) - len(shown)} more" if len(values) > len(shown) else ""
        lines.append(f"      {escape(kind):<8} {', '.join(shown)}{more}")
    return "\n".join(lines)


def _value(item: Capability) -> str:
    shown = "(chosen at run time)" if item.value == "*" else shorten(item.value, 60)
    where = printable_path(item.evidence.path) + (f":{item.evidence.line}" if item.evidence.line else "")
    return f"{shown} ({where}{', declared' if item.declared else ''})"


def _unread(report: Report, paint: Paint) -> str:
    entries = [entry for entry in report.ledger if entry.state != "read"]
    if not entries:
        return ""
    entries.sort(key=lambda entry: (entry.state != "failed", entry.path))
    lines = [paint("What was not read", "bold")]
    lines += [_ledger_line(entry) for entry in entries[:_MOST_LEDGER]]
    if len(entries) > _MOST_LEDGER:
        lines.append(f"      and {len(entries) - _MOST_LEDGER} more; --json lists all")
    return "\n".join(lines)


def _ledger_line(entry: LedgerEntry) -> str:
    where = printable_path(entry.path) if entry.path else "the whole tool"
    return f"      {where}: {escape(entry.engine)} {escape(entry.state)}, {shorten(entry.reason or 'no reason', 160)}"


def _engines(report: Report) -> str:
    missing = [run for run in report.engines if run.state in {"absent", "failed"}]
    return "\n".join(f"{escape(run.name)} {run.state}: {shorten(run.reason, 160)}" for run in missing)


def _notes(report: Report, paint: Paint) -> str:
    return "\n".join(f"{paint('note:', 'dim')} {shorten(note, 300)}" for note in report.notes)


def rubric_line(report: Report) -> str:
    """What the language model was asked and said, or why it was not; empty when nobody wanted it."""
    run = report.rubric
    if run.state == "off":
        return ""
    if run.state == "skipped":
        why = f"{run.reason}: {run.detail}" if run.detail else run.reason
        return f"rubric skipped: {shorten(why, 160)}; the verdict is the static one"
    dropped = f"{run.discarded} without evidence, {run.outvoted} outvoted"
    return (
        f"rubric by {shorten(run.reviewer, 60)}: {run.kept} findings added, {dropped}, {run.prompt_tokens} tokens read"
    )

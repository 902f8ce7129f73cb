"""Workflow commands of GitHub Actions: each finding becomes an annotation at its line, worst first.

Syntax: docs.github.com, "Workflow commands"; the escapes are those of ``@actions/core`` (``%``, CR, LF, and in
properties ``:`` and ``,``). Every line begins with a command of ours, so nothing of a tool can begin one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillkeep.auditor.interface import Finding, Severity
from skillkeep.auditor.report.interface import Audited, Format, Style, joined_path
from skillkeep.auditor.report.text import rubric_line, summary_line
from skillkeep.text import escape, shorten

__all__ = ["FORMAT"]

_COMMANDS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.INFO: "notice"}


def _render(audited: Sequence[Audited], _style: Style) -> str:
    pairs = [(each, finding) for each in audited for finding in each.report.findings]
    pairs.sort(key=lambda pair: -pair[1].severity.rank)
    lines = [_annotation(each, finding) for each, finding in pairs]
    for each in audited:
        lines += _unread(each)
        summary = f"{escape(each.label)}: {summary_line(each.report)}"
        lines.append(f"::notice title=Skillkeep::{_data(summary)}")
        lines += [f"::notice title=Skillkeep::{_data(shorten(note, 300))}" for note in each.report.notes]
        if told := rubric_line(each.report):
            level = "warning" if each.report.rubric.state == "skipped" else "notice"
            lines.append(f"::{level} title=Skillkeep::{_data(told)}")
    return "\n".join(lines)


def _annotation(each: Audited, finding: Finding) -> str:
    place = finding.location
    command = "notice" if finding.suppression else _COMMANDS[finding.severity]
    properties = {"file": escape(joined_path(each, place)) or "."}
    if place.line:
        properties |= {"line": str(place.line), "endLine": str(max(place.end_line, place.line))}
        if place.end_line == place.line and 0 < place.column <= place.end_column:
            properties |= {"col": str(place.column), "endColumn": str(place.end_column)}
    properties["title"] = f"{escape(finding.title)} [{escape(finding.rule)}]"
    told = shorten(finding.message or finding.title, 300)
    if finding.suppression:
        told = f"suppressed by {shorten(finding.suppression.owner, 60)}: {told}"
    joined = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{command} {joined}::{_data(told)}"


def _unread(each: Audited) -> Iterator[str]:
    for entry in each.report.ledger:
        if entry.state == "failed":
            where = _property(escape(joined_path(each, entry.path)) or ".")
            told = f"{escape(entry.engine)}: {shorten(entry.reason, 160)}"
            yield f"::warning file={where},title=Not read::{_data(told)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMAT = Format("github", "annotations of a GitHub workflow", _render)

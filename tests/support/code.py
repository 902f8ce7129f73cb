"""Audits small trees with the engines that read code, and only those."""

from __future__ import annotations

from collections.abc import Mapping

from support.audited import audited

from skillkeep.auditor.interface import AuditOptions, Finding, Report, Severity

CODE_ENGINES = frozenset({"python", "javascript", "shell", "powershell", "ruby", "decoders", "code"})


def audit_code(files: Mapping[str, str | bytes], more: frozenset[str] = frozenset()) -> Report:
    """The report of the code engines, and of `more`, about `files`."""
    return audited(files, AuditOptions(engines=CODE_ENGINES | more, bandit=False, semgrep=False))


def found_in(source: str, name: str) -> dict[str, Finding]:
    """The last finding of each rule about one file."""
    return {finding.rule: finding for finding in audit_code({name: source}).findings}


def alarms(report: Report) -> list[tuple[str, str]]:
    """Rule and excerpt of everything above a note."""
    return [(f.rule, f.excerpt) for f in report.findings if f.severity is not Severity.INFO]

"""SARIF 2.1.0 (OASIS) as code hosts read it: one run, rules with help, fingerprints that survive shifted lines.

GitHub takes ``security-severity``, ``partialFingerprints`` and paths relative to the repository; several audited
paths go into one run, because it refuses several runs of one tool.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from skillkeep.auditor.interface import Confidence, Finding, Location, Severity
from skillkeep.auditor.references import address_of, references_of
from skillkeep.auditor.report.interface import Audited, Format, Style, joined_path
from skillkeep.auditor.report.text import rubric_line
from skillkeep.auditor.rulebook import Rule, default_rulebook
from skillkeep.text import escape, shorten
from skillkeep.version import __version__

__all__ = ["FORMAT", "sarif_document"]

_LEVELS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.INFO: "note"}
_SCORES = {Severity.FAIL: 9.5, Severity.WARN: 6.5, Severity.INFO: 2.0}
_LESS = {Confidence.HIGH: 0.0, Confidence.MEDIUM: 1.0, Confidence.LOW: 1.5}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_document(audited: Sequence[Audited]) -> dict[str, Any]:
    """The whole log as JSON-able data. Columns count Unicode code points, as a `Location` does."""
    findings = [(each, finding) for each in audited for finding in each.report.findings]
    rules = _rules(finding for _, finding in findings)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    paths = {path: n for n, path in enumerate(dict.fromkeys(joined_path(e, f.location) for e, f in findings))}
    seen: Counter[tuple[str, str]] = Counter()
    run = {
        "tool": {
            "driver": {"name": "Skillkeep", "semanticVersion": __version__, "version": __version__, "rules": rules}
        },
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {"uri": _uri(path)}} for path in paths],
        "results": [_result(each, finding, index, paths, seen) for each, finding in findings],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notifications(audited)}],
        "properties": {"audited": [_summary(each) for each in audited]},
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    used = {finding.rule: finding for finding in findings}
    known = default_rulebook().rules
    return [_descriptor(known[name]) if name in known else _bare(used[name]) for name in sorted(used)]


def _descriptor(rule: Rule) -> dict[str, Any]:
    references = references_of(rule)
    addresses = [address for name in references if (address := address_of(name))]
    why, fix = " ".join(rule.why.split()), " ".join(rule.fix.split())
    see = "\n".join(f"- {name} {address_of(name)}".rstrip() for name in references)
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": why},
        "help": {
            "text": f"{why}\n\nFix: {fix}\n\n{see}",
            "markdown": f"{why}\n\n**Fix:** {fix}\n\n{see}",
        },
        **({"helpUri": addresses[0]} if addresses else {}),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "security-severity": f"{_SCORES[rule.severity] - _LESS[rule.confidence]:.1f}",
            "precision": {"high": "very-high", "medium": "high", "low": "medium"}[rule.confidence.value],
            "tags": ["security", rule.category, *(_tag(name) for name in references)],
        },
    }


def _tag(reference: str) -> str:
    name = reference.lower().replace(" ", "-").replace("&", "")
    return f"external/cwe/{name}" if name.startswith("cwe-") else name


def _bare(finding: Finding) -> dict[str, Any]:
    """A rule that this version no longer has, in a report of an earlier one."""
    return {"id": escape(finding.rule), "shortDescription": {"text": escape(finding.title)}}


def _result(
    each: Audited, finding: Finding, index: dict[str, int], paths: dict[str, int], seen: Counter[tuple[str, str]]
) -> dict[str, Any]:
    path = joined_path(each, finding.location)
    seen[path, finding.fingerprint] += 1
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(path), "index": paths[path]}}
    if region := _region(finding.location, finding.excerpt):
        physical["region"] = region
    told = finding.title if finding.message in {"", finding.title} else f"{finding.title}: {finding.message}"
    result: dict[str, Any] = {
        "ruleId": escape(finding.rule),
        "ruleIndex": index[escape(finding.rule)],
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(shorten(told, 1000))},
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {
            "skillkeep/v1": escape(finding.fingerprint),
            "primaryLocationLineHash": f"{escape(finding.fingerprint)}:{seen[path, finding.fingerprint]}",
        },
        "properties": {
            "confidence": finding.confidence.value,
            "engine": escape(finding.engine),
            "provenance": [escape(step) for step in finding.provenance],
        },
    }
    if said := finding.suppression:
        whose = f"{escape(said.owner)}, until {escape(said.expires)}: {escape(said.reason)}"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": whose}]
    return result


def _region(place: Location, excerpt: str) -> dict[str, Any]:
    if place.line < 1:
        return {}
    region: dict[str, Any] = {"startLine": place.line}
    if place.end_line >= place.line:
        region["endLine"] = place.end_line
    if place.column > 0:
        region["startColumn"] = place.column
        if place.end_column > 0 and (place.end_line > place.line or place.end_column >= place.column):
            region["endColumn"] = place.end_column
    if excerpt:
        region["snippet"] = {"text": escape(excerpt, keep_newlines=True)}
    return region


def _notifications(audited: Sequence[Audited]) -> list[dict[str, Any]]:
    notes = []
    for each in audited:
        notes += [
            {
                "level": "warning" if entry.state == "failed" else "note",
                "message": {"text": _message(f"{entry.engine} {entry.state}: {shorten(entry.reason, 300)}")},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(joined_path(each, entry.path))}}}],
            }
            for entry in each.report.ledger
            if entry.state != "read"
        ]
        notes += [{"level": "note", "message": {"text": _message(shorten(note, 300))}} for note in each.report.notes]
        if told := rubric_line(each.report):
            level = "warning" if each.report.rubric.state == "skipped" else "note"
            notes.append({"level": level, "message": {"text": _message(told)}})
    return notes


def _summary(each: Audited) -> dict[str, Any]:
    report = each.report
    return {"path": escape(each.label), "verdict": report.verdict.value, "digest": report.digest,
            "ruleset": report.ruleset}  # fmt: skip


def _message(text: str) -> str:
    """Plain text of a message; what would be an embedded link (SARIF 3.11.6) has its brackets escaped."""
    shown = escape(text)
    return shown.replace("[", "\\[").replace("]", "\\]") if "](" in shown else shown


def _uri(path: str) -> str:
    """A relative URI reference (RFC 3986): the path's bytes percent-encoded, a colon too, so that none is a scheme."""
    return quote(path.encode("utf-8", "surrogateescape"), safe="/").lstrip("/") or "."


def _render(audited: Sequence[Audited], _style: Style) -> str:
    return json.dumps(sarif_document(audited), ensure_ascii=True, indent=2, allow_nan=False)


FORMAT = Format("sarif", "SARIF 2.1.0, for code hosts and editors", _render, verdict_exits=False)

"""An outcome as text that a person reads in ten seconds. Everything a tool wrote is escaped here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillkeep.cli.output import paint
from skillkeep.ingest.gate import Reason, Status
from skillkeep.ingest.outcome import Change, Outcome
from skillkeep.text import escape, printable_path, shorten

__all__ = ["outcome_text", "tally"]

_COLOURS = {
    Status.VAULTED: "green",
    Status.ALREADY_APPROVED: "green",
    Status.AWAITING_CONFIRMATION: "yellow",
    Status.OUTDATED: "yellow",
    Status.REJECTED: "red",
}
_WHY = {
    Reason.APPROVED_BEFORE: "these bytes were approved before",
    Reason.OWN_TOOL: "your own tool, approved without an audit",
    Reason.FAILED_AUDIT: "nothing overrides a FAIL; have the source fixed",
    Reason.NOT_CONFIRMED: "read the findings, then confirm",
    Reason.FINDINGS_NOT_SEEN: "there are warnings: read them, then confirm",
    Reason.CHANGED_SINCE_REVIEW: "the source changed since it was reviewed: look again, then confirm",
    Reason.OTHER_DIGEST_EXPECTED: "the source does not hold the bytes you expected: look again, then confirm",
    Reason.CONFIRMED: "confirmed",
}
_SHOWN_FINDINGS = 20
_SHOWN_FILES = 12


def outcome_text(outcome: Outcome) -> str:
    """Several lines, the most important first, the next command last."""
    return "\n".join(_lines(outcome))


def _lines(outcome: Outcome) -> Iterator[str]:
    place = f" at {printable_path(outcome.path)}" if outcome.path else ""
    title = f"{escape(outcome.name)} ({escape(outcome.kind)}{place})"
    if outcome.error is not None:
        yield f"{paint('refused', 'red')}  {title}"
        yield f"  error    {outcome.error.code}: {escape(outcome.error.message)}"
        if "path" in outcome.error.context:
            yield f"  file     {printable_path(str(outcome.error.context['path']))}"
        yield f"  hint     {escape(outcome.error.hint)}"
        return
    assert outcome.status is not None
    assert outcome.reason is not None
    yield f"{paint(str(outcome.status), _COLOURS[outcome.status])}  {title}: {_why(outcome)}"
    if outcome.description:
        yield f"  says     {shorten(outcome.description, 100)}"
    yield f"  source   {escape(outcome.source)}" + (f" at {outcome.commit[:12]}" if outcome.commit else "")
    yield f"  tier     {outcome.tier}: {escape(outcome.tier_reason)}; {outcome.reputation}"
    yield f"  digest   {outcome.digest}"
    yield f"  verdict  {_verdict(outcome)}"
    yield from _findings(outcome.findings)
    if outcome.rubric:
        yield f"  rubric   {_rubric(outcome.rubric)}"
    if outcome.change is not None:
        yield from _change(outcome.change)
    if outcome.capabilities:
        yield f"  wants    {_wants(outcome.capabilities)}"
    if outcome.grants:
        yield f"  granted  {escape(', '.join(outcome.grants))}"
    if outcome.grantable:
        yield f"  grants   nothing by itself; add what it may have: {_grant_options(outcome.grantable)}"
    if outcome.next:
        yield f"  next     {paint(escape(outcome.next), 'bold')}"


def _why(outcome: Outcome) -> str:
    assert outcome.reason is not None
    nothing_to_read = outcome.reason is Reason.NOT_CONFIRMED and outcome.verdict == "PASS"
    return "look at it, then confirm" if nothing_to_read else _WHY[outcome.reason]


def _verdict(outcome: Outcome) -> str:
    colour = {"PASS": "green", "WARN": "yellow", "FAIL": "red"}.get(outcome.verdict)
    word = paint(outcome.verdict, colour) if colour else "no audit (tier 1)"
    counts = tally(outcome.findings)
    return f"{word} ({counts})" if counts else word


def _rubric(run: Mapping[str, Any]) -> str:
    if run["state"] == "skipped":
        why = f"{run['reason']}: {run['detail']}" if run["detail"] else str(run["reason"])
        return f"skipped, {shorten(why, 80)}; the verdict is the static one"
    return f"{shorten(str(run['reviewer']), 60)} added {run['kept']}, {run['discarded']} without evidence"


def tally(findings: Sequence[Mapping[str, Any]]) -> str:
    """How many findings of each severity, such as ``1 fail, 2 warn``; empty when there is none."""
    levels = [str(finding.get("severity")) for finding in findings]
    return ", ".join(f"{levels.count(level)} {level}" for level in ("fail", "warn", "info") if level in levels)


def _findings(findings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    grave = [finding for finding in findings if finding.get("severity") in {"fail", "warn"}]
    for finding in grave[:_SHOWN_FINDINGS]:
        severity = str(finding["severity"])
        location = finding["location"]
        where = printable_path(location["path"]) if location["path"] else "(the whole tool)"
        where += f":{location['line']}" if location["line"] else ""
        word = paint(severity.upper(), "red" if severity == "fail" else "yellow")
        yield f"    {word}  {where}  {escape(str(finding['title']))} [{escape(str(finding['rule']))}]"
        told = finding["excerpt"] or finding["message"]
        if told:
            yield f"          {shorten(' '.join(str(told).split()), 110)}"
    if len(grave) > _SHOWN_FINDINGS:
        yield f"    … and {len(grave) - _SHOWN_FINDINGS} more; --json shows all"


def _change(change: Change) -> Iterator[str]:
    files = change.files
    marks = [("+", path) for path in files.added] + [("-", path) for path in files.removed]
    marks += [("~", path) for path in files.changed] + [("x", path) for path in files.mode_changed]
    yield f"  changed  {len(marks)} files against {change.against[:19]}…"
    for mark, path in marks[:_SHOWN_FILES]:
        yield f"    {mark} {printable_path(path)}"
    if len(marks) > _SHOWN_FILES:
        yield f"    … and {len(marks) - _SHOWN_FILES} more"
    if change.newly_wants:
        yield f"    newly wants {escape(', '.join(change.newly_wants))}"


def _wants(capabilities: Sequence[Mapping[str, Any]]) -> str:
    kinds: dict[str, list[str]] = {}
    for item in capabilities:
        values = kinds.setdefault(str(item.get("kind")), [])
        if (value := shorten(str(item.get("value")), 40)) not in values:
            values.append(value)
    return "; ".join(
        f"{kind} {', '.join(values[:6])}{' …' if len(values) > 6 else ''}" for kind, values in kinds.items()
    )


def _grant_options(grants: Sequence[str]) -> str:
    return escape(" ".join(f"--grant {grant}" for grant in grants[:6])) + (" …" if len(grants) > 6 else "")

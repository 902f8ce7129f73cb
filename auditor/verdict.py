"""From what engines reported to an answer: what is declared, what is the same, what is worst."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.interface import Capability, Finding, Severity, Verdict, fingerprint_of
from skillkeep.auditor.rulebook import Rulebook

__all__ = ["settle", "settle_capabilities", "verdict_of"]

_VERDICTS = {Severity.INFO: Verdict.PASS, Severity.WARN: Verdict.WARN, Severity.FAIL: Verdict.FAIL}


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """The worst finding wins; no finding is PASS."""
    worst = max((finding.severity for finding in findings), key=lambda severity: severity.rank, default=Severity.INFO)
    return _VERDICTS[worst]


def settle(raws: Sequence[Raw], declared: frozenset[str], rulebook: Rulebook) -> tuple[Finding, ...]:
    """Findings in order of path and line, each rule once a line, credential variables judged by what is declared."""
    kept: dict[tuple[str, str, int], Finding] = {}
    for raw in raws:
        finding = _as_declared(raw, declared, rulebook)
        key = (finding.rule, finding.location.path, finding.location.line)
        if finding.location.line == 0:
            key = (finding.rule, finding.location.path + "\0" + finding.message, 0)
        before = kept.get(key)
        if before is None or finding.severity.rank > before.severity.rank:
            kept[key] = finding
    return tuple(sorted(kept.values(), key=lambda f: (-f.severity.rank, f.location, f.rule)))


def settle_capabilities(found: Iterable[Capability], declared: frozenset[str]) -> tuple[Capability, ...]:
    """One capability a kind and value, with its first evidence; `declared` is set from the tool's own words."""
    kept: dict[tuple[str, str], Capability] = {}
    for item in sorted(found, key=lambda c: (c.kind, c.value, c.evidence)):
        kept.setdefault((item.kind, item.value), replace(item, declared=item.declared or item.value in declared))
    return tuple(kept.values())


def _as_declared(raw: Raw, declared: frozenset[str], rulebook: Rulebook) -> Finding:
    finding = raw.finding
    other = rulebook.rule(finding.rule).when_declared
    if not (other and raw.subject and raw.subject in declared):
        return finding
    rule = rulebook.rule(other)
    return replace(
        finding,
        rule=rule.id,
        title=rule.title,
        severity=rule.severity,
        confidence=rule.confidence,
        category=rule.category,
        message=rule.title,
        fingerprint=fingerprint_of(rule.id, finding.location.path, finding.excerpt),
    )

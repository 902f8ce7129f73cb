"""From what engines reported to an answer: what is declared, what is the same, what is worst."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.interface import Capability, Finding, Severity, Verdict, fingerprint_of
from skillkeep.auditor.rulebook import Rulebook

__all__ = ["listed", "own_services", "settle", "settle_capabilities", "verdict_of"]

_VERDICTS = {Severity.INFO: Verdict.PASS, Severity.WARN: Verdict.WARN, Severity.FAIL: Verdict.FAIL}
_MOST_LISTED = 100
_SENT = "code-credential-sent"
_GENERIC = frozenset({"api", "auth", "access", "app", "the", "user", "service", "client", "secret", "token", "key"})


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """The worst finding wins; no finding is PASS."""
    worst = max((finding.severity for finding in findings), key=lambda severity: severity.rank, default=Severity.INFO)
    return _VERDICTS[worst]


def settle(raws: Sequence[Raw], declared: frozenset[str], rulebook: Rulebook) -> tuple[Finding, ...]:
    """Findings in order of severity and place, each rule once a line, secrets judged by what is declared."""
    kept: dict[tuple[str, str, int, str], Finding] = {}
    for raw in raws:
        finding = _in_context(raw, declared, rulebook)
        place = finding.location
        key = (finding.rule, place.path, place.line, finding.message if place.line == 0 else "")
        before = kept.get(key)
        if before is None or finding.severity.rank > before.severity.rank:
            kept[key] = finding
    return tuple(sorted(kept.values(), key=lambda f: (-f.severity.rank, f.location, f.rule)))


def listed(findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], dict[str, int]]:
    """At most 100 findings of each rule and severity, and how many of each rule are left out."""
    counts: Counter[tuple[str, Severity]] = Counter()
    kept = []
    for finding in findings:
        counts[finding.rule, finding.severity] += 1
        if counts[finding.rule, finding.severity] <= _MOST_LISTED:
            kept.append(finding)
    left: Counter[str] = Counter()
    for (rule, _severity), count in counts.items():
        left[rule] += max(0, count - _MOST_LISTED)
    return tuple(kept), {rule: count for rule, count in left.items() if count}


def settle_capabilities(found: Iterable[Capability], declared: frozenset[str]) -> tuple[Capability, ...]:
    """One capability a kind and value, with its first evidence; `declared` is set from the tool's own words."""
    kept: dict[tuple[str, str], Capability] = {}
    for item in sorted(found, key=lambda c: (c.kind, c.value, c.evidence)):
        kept.setdefault((item.kind, item.value), replace(item, declared=item.declared or item.value in declared))
    return tuple(kept.values())


def own_services(raws: Sequence[Raw], capabilities: Iterable[Capability]) -> frozenset[str]:
    """Variables that are only ever sent to the service they are named after (OPENAI_API_KEY to api.openai.com)."""
    hosts: dict[tuple[str, int], set[str]] = defaultdict(set)
    for item in capabilities:
        if item.kind == "network":
            hosts[item.evidence.path, item.evidence.line].add(item.value)
    good: set[str] = set()
    bad: set[str] = set()
    for raw in raws:
        if raw.finding.rule == _SENT and raw.subject:
            reached = hosts.get((raw.finding.location.path, raw.finding.location.line), set())
            own = bool(reached) and all(_names(raw.subject, host) for host in reached)
            (good if own else bad).add(raw.subject)
    return frozenset(good - bad)


def _names(variable: str, host: str) -> bool:
    """True when the registered name of `host` is the first word of `variable`."""
    labels = host.lower().rstrip(".").split(".")
    word = variable.lower().split("_")[0]
    if len(labels) < 2 or word in _GENERIC or len(word) < 3:
        return False
    country = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in {"co", "com", "net", "org", "ac"}
    return labels[-3 if country else -2].replace("-", "") == word


def _in_context(raw: Raw, declared: frozenset[str], rulebook: Rulebook) -> Finding:
    finding = raw.finding
    rule = rulebook.rule(finding.rule)
    if rule.when_declared and raw.subject in declared:
        return _instead(finding, rule.when_declared, rulebook)
    if rule.when_fenced and any(step.startswith("fence") for step in finding.provenance):
        return _instead(finding, rule.when_fenced, rulebook)
    return finding


def _instead(finding: Finding, other: str, rulebook: Rulebook) -> Finding:
    rule = rulebook.rule(other)
    return replace(
        finding,
        rule=rule.id,
        title=rule.title,
        severity=rule.severity,
        confidence=rule.confidence,
        category=rule.category,
        fingerprint=fingerprint_of(rule.id, finding.location.path, finding.excerpt),
    )

"""From what engines reported to an answer: what is declared, what is the same, what is worst."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.described import DESCRIBED
from skillkeep.auditor.engines.tables import secrets, table
from skillkeep.auditor.interface import Capability, Finding, Severity, Verdict, fingerprint_of
from skillkeep.auditor.own_keys import is_valuable
from skillkeep.auditor.pages import is_data, is_instructing, is_of_reference, is_told_by_name
from skillkeep.auditor.rulebook import Rulebook
from skillkeep.auditor.services import hosts_by_place, is_setting_of, services
from skillkeep.auditor.tried_texts import tried_texts

__all__ = ["implied", "listed", "own_services", "settle", "settle_capabilities", "verdict_of"]

_VERDICTS = {Severity.INFO: Verdict.PASS, Severity.WARN: Verdict.WARN, Severity.FAIL: Verdict.FAIL}
_MOST_LISTED = 100
_MOST_NEAR = 20
_SENT = "code-credential-sent"
_DOCUMENTS = (".docx", ".odt", ".rtf", ".pdf", ".pptx", ".xlsx")  # templates and letters, which speak to somebody else
_LEARNED = frozenset({"intent-learned", "intent-certain"})
_SECRET_RULES = frozenset({_SENT, "code-credential-env", "code-credential-store"})
_LOGIN = compiled(r"(?i)(?:\s-H|--header|\s-u|--user|authorization|bearer|\bx-[\w-]+|api-?key|-token\b)[^\n]{0,80}$")
_HEADERS = compiled(r"\bheaders\b|\bauth\s*=|Authorization|\bcookies\s*=")
_CARGO = compiled(r"\b(?:data|json|params|files|content)\s*=|\bbody\s*:")


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """The worst finding wins; no finding is PASS."""
    worst = max((finding.severity for finding in findings), key=lambda severity: severity.rank, default=Severity.INFO)
    return _VERDICTS[worst]


def settle(
    raws: Sequence[Raw],
    declared: frozenset[str],
    rulebook: Rulebook,
    looked_up: Callable[[], frozenset[str]] = frozenset,
    text_of: Callable[[str], str] = lambda _path: "",
) -> tuple[Finding, ...]:
    """Findings in order of severity and place, each rule once a line, secrets judged by what is declared.

    `looked_up` tells the pages that nobody is told to carry out (`pages`). It is asked only where that decides.
    `text_of` gives the text of a file, which a test may hand to a guard (`tried_texts`).
    """
    kept: dict[tuple[str, str, int, str], Finding] = {}
    for raw in raws:
        finding = _in_context(raw, declared, rulebook)
        place = finding.location
        key = (finding.rule, place.path, place.line, finding.message if place.line == 0 else "")
        before = kept.get(key)
        if before is None or finding.severity.rank > before.severity.rank:
            kept[key] = finding
    tried = tried_texts(list(kept.values()), text_of)
    judged = [replace(each, severity=Severity.WARN) if each in tried else each for each in kept.values()]
    found = _corroborated(judged, cache(looked_up))
    return tuple(sorted(found, key=lambda f: (-f.severity.rank, f.location, f.rule)))


def _corroborated(found: list[Finding], looked_up: Callable[[], frozenset[str]]) -> list[Finding]:
    """Findings that say little by themselves are warnings while nothing else blocks, or nothing at that place."""
    words = table("verdict")
    places: dict[tuple[str, int], set[str]] = defaultdict(set)
    for each in found:
        if each.severity is Severity.FAIL and each.rule not in words["weak_in_pages"]:  # the same words, read again
            places[each.location.path, each.location.line].add(each.rule)
    suffixes = tuple(words["code_suffixes"])
    judged = [
        replace(each, severity=Severity.WARN)
        if each.engine == "intent" and each.severity is Severity.FAIL and each.location.path.endswith(suffixes)
        and DESCRIBED not in each.provenance and len(places[each.location.path, each.location.line]) < 2
        else each
        for each in found
    ]  # fmt: skip
    blocking = [each for each in judged if each.severity is Severity.FAIL]
    if any(not _is_weak(each, looked_up) for each in blocking) or _meet(blocking, words["near"]):
        return judged
    if _doubted(judged, blocking, words["doubted_within"]):
        return judged
    return [replace(each, severity=min(each.severity, Severity.WARN, key=lambda s: s.rank)) for each in judged]


def _is_weak(found: Finding, looked_up: Callable[[], frozenset[str]]) -> bool:
    """True for a finding that does not block alone: of a rule of that kind, or what pages of reference show."""
    if found.rule in table("verdict")["weak_alone"]:
        return True
    path, (shown, never_shown, in_data) = found.location.path, _in_pages()
    if found.rule in table("verdict")["certain"]:
        return path.lower().endswith(_DOCUMENTS) and path in looked_up()
    if found.engine == "intent" and is_of_reference(path):
        return True
    if found.rule in table("verdict")["weak_in_pages"] and not is_told_by_name(path):
        return True
    shows = in_data if is_data(path) else shown
    return bool(shows.search(found.rule)) and not never_shown.search(found.rule) and path in looked_up()


@cache
def _in_pages() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = table("verdict")
    return compiled(words["found_in_pages"]), compiled(words["not_shown"]), compiled(words["found_in_data"])


def _meet(found: Sequence[Finding], near: int) -> bool:
    """True when two rules found something in one file within `near` lines."""
    places = sorted((each.location.path, each.location.line, each.rule) for each in found)
    return any(
        path == other_path and other_line - line <= near and rule != other
        for number, (path, line, rule) in enumerate(places)
        for other_path, other_line, other in places[number + 1 : number + 1 + _MOST_NEAR]
    )


def _doubted(judged: Sequence[Finding], blocking: Sequence[Finding], near: int) -> bool:
    """True when the model of words doubts a passage within `near` lines of a weak finding, on a page that instructs."""
    weak = [
        each.location
        for each in blocking
        if each.rule in table("verdict")["weak_alone"] and is_instructing(each.location.path)
    ]
    doubts = [each.location for each in judged if each.rule in _LEARNED] if weak else []
    return any(at.path == other.path and abs(at.line - other.line) <= near for at in weak for other in doubts)


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
        if (item.kind, item.value) not in kept:
            told = item.declared or item.value not in declared
            kept[item.kind, item.value] = item if told else replace(item, declared=True)
    return tuple(kept.values())


def own_services(
    raws: Sequence[Raw], capabilities: Iterable[Capability], texts: Callable[[], Iterable[str]] = tuple
) -> frozenset[str]:
    """Variables that are only ever sent to the service they are named after (OPENAI_API_KEY to api.openai.com).

    ``$OPENAI_BASE_URL`` among the hosts is a place of the user's own, unless one of `texts`, which are those of the
    tool, sets it.
    """
    good: set[str] = set()
    bad: set[str] = set()
    for subject, reached in _sent(raws, capabilities):
        own = bool(reached) and all(
            is_setting_of(subject, host[1:], texts()) if host[0] == "$" else services().owns(subject, host)
            for host in sorted(reached, reverse=True)
        )
        (good if own else bad).add(subject)
    return frozenset(good - bad)


def implied(
    raws: Sequence[Raw], capabilities: Iterable[Capability], named: frozenset[str], declared: frozenset[str]
) -> frozenset[str]:
    """Variables of a service that the tool says it works with (`named`), or whose key it declares by another name.

    A key that many tools share is implied only by what the tool says it *is* (its own name and description) or by words
    that ask for that very key, and not when it goes to a host of somebody else.
    """
    known = services()
    found = set()
    secret = [name for name in declared if secrets().variable(name)]
    for name in {raw.subject for raw in raws if raw.subject and raw.finding.rule in _SECRET_RULES}:
        words = known.words(name)
        said = (*words[:1], "".join(words), *(known.spelled_out.get(word, word) for word in words[:1]))
        marks = {f"{mark}{word}" for mark in "=+" for word in said}
        marks |= set() if known.is_shared(name) else {mark[1:] for mark in marks if mark[0] == "="}
        told = any(known.is_same(name, other) or _is_told_by(name, other) for other in secret)
        if told or (words and not named.isdisjoint(marks)):
            found.add(name)
    strays = {
        subject
        for subject, reached in _sent(raws, capabilities)
        if known.is_shared(subject) and any("*" not in host and not known.owns(subject, host) for host in reached)
    }
    return frozenset(found - strays)


def _is_told_by(name: str, declared: str) -> bool:
    """True for what a declared name tells of, too: ``PRIVATE_KEY`` is there to be ``WALLET_PRIVATE_KEY``, and
    ``ACME_ACCESS_KEY`` belongs to ``ACME_SECRET_KEY``, which gives more."""
    known = services()
    words = known.words(name)
    if not words:
        return declared.upper().endswith(f"_{name.upper()}")
    same = words == known.words(declared) and not known.is_shared(name)
    return same and (is_valuable(declared) or not is_valuable(name))


def _sent(raws: Sequence[Raw], capabilities: Iterable[Capability]) -> list[tuple[str, set[str]]]:
    """Each variable that flows into a connection, with its hosts, or those of that line."""
    hosts = hosts_by_place(capabilities)
    return [
        (raw.subject, set(raw.hosts or ()) or hosts.get((raw.finding.location.path, raw.finding.location.line), set()))
        for raw in raws
        if raw.finding.rule == _SENT and raw.subject
    ]


def _is_login(raw: Raw) -> bool:
    """True for a key of no other tool that an example puts where a login goes: a header, never the data.

    A name that says nothing but ``TOKEN`` or ``NEW_PASSWORD`` is nobody's: the reader of the example fills it in.
    """
    name, shown = raw.subject, raw.finding.excerpt
    if not name or services().is_shared(name):
        return False
    if not services().words(name):
        return True
    places = [found.start() for found in re.finditer(rf"\b{re.escape(name)}\b", shown)]
    if places:
        return all(_LOGIN.search(shown[:at]) for at in places)
    return bool(_HEADERS.search(shown)) and not _CARGO.search(shown)


def _in_context(raw: Raw, declared: frozenset[str], rulebook: Rulebook) -> Finding:
    finding = raw.finding
    rule = rulebook.rule(finding.rule)
    if rule.when_declared and raw.subject in declared:
        return _instead(finding, rule.when_declared, rulebook)
    fenced = any(step.startswith("fence") for step in finding.provenance)
    if rule.when_fenced and fenced and (rule.id != _SENT or _is_login(raw)):
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

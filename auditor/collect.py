"""Gathers what engines report: the working side of `Emitter`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from skillkeep.auditor.engines.interface import Context, Segment
from skillkeep.auditor.interface import Capability, Finding, LedgerEntry, Location, Severity, fingerprint_of
from skillkeep.auditor.rulebook import Rulebook

__all__ = ["Bound", "Collector", "Derived", "Raw"]

MAX_DEPTH = 6
MAX_DERIVED = 4_000
MAX_DERIVED_BYTES = 64 << 20
MAX_FINDINGS = 20_000
MAX_CAPABILITIES = 20_000
_EXCERPT = 400


@dataclass(frozen=True)
class Raw:
    """A finding before the verdict looked at it: `subject` is what `when_declared` asks about.

    `hosts` are those that get what is sent, where the engine can tell them from others of the same line.
    """

    finding: Finding
    subject: str
    hosts: frozenset[str] | None = None

    def reached(self, places: Mapping[tuple[str, int], set[str]]) -> set[str]:
        """The hosts that get what is sent: those that are told, else those of its line (`places`), else any."""
        told = {host for host in self.hosts or () if not host.startswith("$")}
        return told or places.get((self.finding.location.path, self.finding.location.line), {"*"})


@dataclass(frozen=True)
class Derived:
    """Text found inside text, waiting to be audited as a file of its own."""

    data: str | bytes
    context: Context | None
    at: Location
    via: tuple[str, ...]
    depth: int
    name: str = ""


@dataclass
class Collector:
    """Everything reported about one tree."""

    rulebook: Rulebook
    raws: list[Raw] = field(default_factory=list)
    capabilities: dict[Capability, None] = field(default_factory=dict)
    ledger: dict[LedgerEntry, None] = field(default_factory=dict)
    queue: list[Derived] = field(default_factory=list)
    parsed: set[int] = field(default_factory=set)
    flooded: bool = False
    capabilities_cut: bool = False
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)  # of each engine
    _derived: int = 0
    _derived_bytes: int = 0
    _seen: set[tuple[str, int, str, Context | None, bool, bytes]] = field(default_factory=set)

    def bound(self, engine: str, depth: int = 0) -> Bound:
        """An `Emitter` for one engine; `depth` is that of the text it reads."""
        return Bound(self, engine, depth)

    def admit(self, raw: Raw) -> None:
        """Keep a finding. None is ever dropped silently: a flood of harmless ones must not hide the one that blocks."""
        if len(self.raws) < MAX_FINDINGS:
            self.raws.append(raw)
            return
        if not self.flooded:
            self.flooded = True
            rule = self.rulebook.rule("audit-flooded")
            place = Location(raw.finding.location.path)
            print_of = fingerprint_of(rule.id, place.path, "")
            self.raws.append(Raw(Finding(rule.id, rule.title, rule.severity, rule.confidence, rule.category, place, "",
                                         rule.title, "audit", (), print_of), ""))  # fmt: skip

    def enqueue(self, derived: Derived) -> bool:
        """Queue derived text once; False when a bound is reached."""
        data = derived.data.encode("utf-8", "surrogatepass") if isinstance(derived.data, str) else derived.data
        is_text = isinstance(derived.data, str)
        place = (derived.at.path, derived.at.line, derived.name)
        key = (*place, derived.context, is_text, blake2b(data).digest())
        if key in self._seen:
            return True
        if derived.depth > MAX_DEPTH or self._derived >= MAX_DERIVED:
            return False
        if self._derived_bytes + len(derived.data) > MAX_DERIVED_BYTES:
            return False
        self._seen.add(key)
        self._derived += 1
        self._derived_bytes += len(derived.data)
        self.queue.append(derived)
        return True


class Bound:
    """The `Emitter` one engine sees."""

    def __init__(self, collector: Collector, engine: str, depth: int) -> None:
        self._all = collector
        self._engine = engine
        self._depth = depth

    @property
    def notes(self) -> dict[str, Any]:
        """See `Emitter.notes`."""
        return self._all.notes.setdefault(self._engine, {})

    def finding(
        self,
        rule: str,
        at: Location,
        excerpt: str,
        message: str = "",
        *,
        segment: Segment | None = None,
        subject: str = "",
        severity: Severity | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        """See `Emitter.finding`."""
        known = self._all.rulebook.rule(rule)
        shown = excerpt if len(excerpt) <= _EXCERPT else excerpt[: _EXCERPT - 1] + "…"
        finding = Finding(
            rule=rule,
            title=known.title,
            severity=severity or known.severity,
            confidence=known.confidence,
            category=known.category,
            location=at,
            excerpt=shown,
            message=message or known.title,
            engine=self._engine,
            provenance=segment.steps(at, excerpt) if segment else (),
            fingerprint=fingerprint_of(rule, at.path, shown),
        )
        self._all.admit(Raw(finding, subject, hosts))

    def capability(self, kind: str, value: str, at: Location) -> None:
        """See `Emitter.capability`."""
        if not value:
            return
        if len(self._all.capabilities) >= MAX_CAPABILITIES:
            self.incomplete(at.path, "more capabilities than can be listed")
            self._all.capabilities_cut = True
            return
        self._all.capabilities[Capability(kind, value[:200], at)] = None

    def derive(
        self,
        text: str | bytes,
        context: Context | None,
        at: Location,
        via: str,
        parent: Segment | None = None,
        name: str = "",
    ) -> None:
        """See `Emitter.derive`."""
        if not text.strip():
            return
        chain = (*(parent.provenance if parent else ()), via)
        if not self._all.enqueue(Derived(text, context, at, chain, self._depth + 1, name)):
            self.incomplete(at.path, f"too much text inside text ({via})")

    def understood(self, segment: Segment) -> None:
        """See `Emitter.understood`."""
        self._all.parsed.add(id(segment))

    def was_understood(self, segment: Segment) -> bool:
        """See `Emitter.was_understood`."""
        return id(segment) in self._all.parsed

    def incomplete(self, path: str, reason: str) -> None:
        """See `Emitter.incomplete`."""
        entry = LedgerEntry(path, self._engine, "failed", reason)
        if entry not in self._all.ledger:
            self._all.ledger[entry] = None
            self.finding("audit-incomplete", Location(path), "", f"{self._engine}: {reason}")

"""What an audit takes and gives: the value types every engine, report format and caller shares. No logic that reads.

Severity, confidence and category are three separate axes. Lines and columns are 1-based and count characters;
line 0 means the whole file, column 0 the whole line. Every text that came from the audited tree is raw here and is
escaped where it is shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.rubric.interface import RubricOptions, RubricRun
from skillkeep.tree import TreeLimits
from skillkeep.typed import typed

if TYPE_CHECKING:
    from skillkeep.settings import AuditorSettings

__all__ = [
    "SCHEMA",
    "AuditOptions",
    "Capability",
    "Confidence",
    "EngineRun",
    "Finding",
    "LedgerEntry",
    "Location",
    "Observation",
    "Report",
    "Severity",
    "Suppression",
    "Verdict",
    "fingerprint_of",
]

SCHEMA = "skillkeep/report-v1"


class Severity(StrEnum):
    """What a finding does to the verdict: FAIL blocks, WARN needs eyes, INFO is worth knowing."""

    INFO = "info"
    WARN = "warn"
    FAIL = "fail"

    @property
    def rank(self) -> int:
        """0, 1, 2 from INFO to FAIL."""
        return _SEVERITY_RANK[self]


class Confidence(StrEnum):
    """How sure the rule is that the finding is what its title says."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Verdict(StrEnum):
    """The worst finding's severity, as an answer."""

    PASS = "PASS"  # noqa: S105 -- a verdict, not a password
    WARN = "WARN"
    FAIL = "FAIL"


_SEVERITY_RANK = {Severity.INFO: 0, Severity.WARN: 1, Severity.FAIL: 2}


@dataclass(frozen=True, order=True)
class Location:
    """A place in the audited tree. `end_column` is exclusive, so an empty span has both columns equal."""

    path: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0


@dataclass(frozen=True)
class Suppression:
    """Who accepted a warning, why, and until when (an ISO date); from a file of the user's, never from the tool."""

    reason: str
    owner: str
    expires: str


@dataclass(frozen=True)
class Finding:
    """One thing a rule saw. `provenance` lists the layers the text came through (``fence:bash``, ``base64``).

    `suppression` is set by `skillkeep.auditor.suppressions` only, after the audit.
    """

    rule: str
    title: str
    severity: Severity
    confidence: Confidence
    category: str
    location: Location
    excerpt: str
    message: str
    engine: str
    provenance: tuple[str, ...] = ()
    fingerprint: str = ""
    suppression: Suppression | None = None


@dataclass(frozen=True)
class Capability:
    """What the code wants. `kind`: ``network`` ``env`` ``binary`` ``write`` ``package`` ``autorun``.

    `value` is a host, a variable name, a program name, a path, a package name or a trigger. `declared` is True
    when the tool's own manifest or documentation names it.
    """

    kind: str
    value: str
    evidence: Location
    declared: bool = False


@dataclass(frozen=True)
class LedgerEntry:
    """What one engine did with one file. `state` is ``read``, ``skipped`` or ``failed``; `reason` says why not read."""

    path: str
    engine: str
    state: str
    reason: str = ""


@dataclass(frozen=True)
class Observation:
    """What fetching saw and could not materialise; `rule` is an id of ``rules/tree.yaml``."""

    rule: str
    path: str
    detail: str = ""


@dataclass(frozen=True)
class EngineRun:
    """One engine's part of an audit. `state` is ``ran``, ``absent`` (not installed), ``off`` or ``failed``."""

    name: str
    state: str
    files: int = 0
    seconds: float = 0.0
    version: str = ""
    reason: str = ""


@dataclass(frozen=True)
class AuditOptions:
    """How far an audit goes. Nothing here comes from the audited tree.

    `engines` None means every engine; names select some. `advisories` is the path of a file of OSV records, or empty.
    Sizes in bytes, times in seconds; `file_seconds` is CPU time, what one engine may spend on one file. `rubric` hands
    in a language model as a second pair of eyes; None leaves it out. The defaults are those of an empty ``[auditor]``.
    With `checkout` the tree is somebody's working copy, whose own ``.git`` is left out and only named.
    """

    engines: frozenset[str] | None = None
    semgrep: bool = True
    bandit: bool = True
    advisories: str = ""
    file_bytes: int = 16 << 20
    total_bytes: int = 256 << 20
    entries: int = 20_000
    depth: int = 64
    file_seconds: float = 10.0
    total_seconds: float = 120.0
    memory_bytes: int = 2 << 30
    rubric: RubricOptions | None = None
    checkout: bool = False

    @property
    def limits(self) -> TreeLimits:
        """The bounds of a view of the tree."""
        return TreeLimits(
            self.entries, self.file_bytes, self.total_bytes, self.depth, self.total_seconds, checkout=self.checkout
        )

    @classmethod
    def of(cls, settings: AuditorSettings) -> AuditOptions:
        """What the ``[auditor]`` section asks for; the caller replaces what its command line or limits change."""
        return cls(
            semgrep=settings.semgrep,
            bandit=settings.bandit,
            advisories=settings.advisories,
            total_seconds=settings.seconds,
            memory_bytes=settings.memory_bytes,
        )


@dataclass(frozen=True)
class Report:
    """The whole answer. `digest` is the manifest's (empty when the tree cannot be hashed), `ruleset` the rules'.

    `notes` say what a reader should know about suppressions: expired, refused, without effect.
    """

    digest: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    capabilities: tuple[Capability, ...]
    ledger: tuple[LedgerEntry, ...]
    ruleset: str
    engines: tuple[EngineRun, ...] = ()
    seconds: float = 0.0
    files: int = 0
    notes: tuple[str, ...] = ()
    rubric: RubricRun = field(default_factory=RubricRun)
    schema: str = field(default=SCHEMA)

    def to_json(self) -> dict[str, Any]:
        """JSON-able data, the same shape as `auditor scan --json` (without its ``ok``)."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """Read back `to_json`. Raises `AuditError` (`bad_report`)."""
        try:
            report = typed(Report, {key: value for key, value in data.items() if key != "ok"})
        except ValueError as error:
            raise _bad_report(str(error)) from error
        if report.schema != SCHEMA:
            raise _bad_report("it has another schema")
        return report


def _bad_report(what: str) -> AuditError:
    return AuditError("bad_report", f"the report cannot be read: {what}", "Audit the tool again with this version.")


def fingerprint_of(rule: str, path: str, excerpt: str) -> str:
    """A short id of a finding that survives line shifts: 16 hex digits over rule, path and matched text."""
    joined = "\0".join((rule, path, " ".join(excerpt.split())))
    return hashlib.sha256(joined.encode("utf-8", "surrogateescape")).hexdigest()[:16]

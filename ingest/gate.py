"""The one place that decides whether a tool is vaulted.

A pure function of what was fetched, found, approved and reviewed before. Its laws, each with a test:

- FAIL is rejected, whatever was asked (law 2).
- Nothing of tier 2 or 3 is vaulted without `confirm`, and a WARN only when its findings were seen.
- A confirmation is for the bytes that were shown: other bytes are shown and asked about again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from skillkeep.auditor.interface import Report, Verdict
from skillkeep.ingest.artifacts import Artifact
from skillkeep.sealed import Sealed, sealer
from skillkeep.vault.interface import Review, Tier, ToolRecord

__all__ = ["Case", "Decision", "Reason", "Status", "decide"]


class Status(StrEnum):
    """What became of a tool."""

    VAULTED = "vaulted"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    REJECTED = "rejected"
    ALREADY_APPROVED = "already_approved"
    OUTDATED = "outdated"


class Reason(StrEnum):
    """Why it became that."""

    APPROVED_BEFORE = "approved_before"
    OWN_TOOL = "own_tool"
    FAILED_AUDIT = "failed_audit"
    NOT_CONFIRMED = "not_confirmed"
    FINDINGS_NOT_SEEN = "findings_not_seen"
    CHANGED_SINCE_REVIEW = "changed_since_review"
    OTHER_DIGEST_EXPECTED = "other_digest_expected"
    CONFIRMED = "confirmed"


@dataclass(frozen=True)
class Case:
    """All that a decision rests on.

    `report` is None where the audit decides nothing (tier 1, approved before). `known` is the standing approval of
    the digest, `named` what the name stands for now, `pending` the review that waits. `expect` is ``sha256:<hex>``.
    `seen` is True when the findings were just shown at a terminal and accepted there.
    """

    artifact: Artifact
    tier: Tier
    report: Report | None
    known: ToolRecord | None = None
    named: ToolRecord | None = None
    pending: Review | None = None
    confirm: bool = False
    expect: str | None = None
    seen: bool = False


@dataclass(frozen=True)
class Decision(Sealed):
    """What the gate said. `verdict` is the audit's, or ``BYPASSED``; `confirmed` says who let it in, if it was."""

    artifact: Artifact
    tier: Tier
    report: Report | None
    status: Status
    reason: Reason
    verdict: str
    confirmed: str = ""


_seal = sealer(Decision)


def decide(case: Case) -> Decision:
    """The decision on one artifact; changes nothing. Raises `ValueError` when an audit is missing that decides."""
    if case.report is None and case.known is None and case.tier is not Tier.LOCAL:
        raise ValueError("the gate decides on tier 2 and 3 only with a report")
    digest = case.artifact.manifest.digest
    if case.report is not None and case.report.verdict is Verdict.FAIL and case.tier is not Tier.LOCAL:
        return _made(case, Status.REJECTED, Reason.FAILED_AUDIT)
    if case.expect is not None and case.expect != digest:
        return _made(case, _waiting(case), Reason.OTHER_DIGEST_EXPECTED)
    if case.known is not None:
        return _made(case, Status.ALREADY_APPROVED, Reason.APPROVED_BEFORE)
    if case.tier is Tier.LOCAL:
        return _made(case, Status.VAULTED, Reason.OWN_TOOL, "tier 1")
    if not case.confirm:
        return _made(case, _waiting(case), Reason.NOT_CONFIRMED)
    if case.expect is not None:
        return _made(case, Status.VAULTED, Reason.CONFIRMED, "--expect")
    if case.pending is not None and case.pending.digest != digest:
        return _made(case, _waiting(case), Reason.CHANGED_SINCE_REVIEW)
    if case.report is not None and case.report.verdict is Verdict.PASS:
        return _made(case, Status.VAULTED, Reason.CONFIRMED, "--confirm")
    if case.seen:
        return _made(case, Status.VAULTED, Reason.CONFIRMED, "terminal")
    if _was_reviewed(case):
        return _made(case, Status.VAULTED, Reason.CONFIRMED, "--confirm")
    return _made(case, _waiting(case), Reason.FINDINGS_NOT_SEEN)


def _was_reviewed(case: Case) -> bool:
    """True when these bytes, at this tier, were shown before with every finding that they have now."""
    if case.pending is None or case.report is None or case.pending.tier != case.tier:
        return False
    shown = {_identity(finding) for finding in case.pending.report.get("findings", ())}
    now = {(finding.rule, finding.fingerprint) for finding in case.report.findings}
    return case.pending.digest == case.artifact.manifest.digest and now <= shown


def _identity(finding: object) -> tuple[str, str]:
    return (str(finding.get("rule")), str(finding.get("fingerprint"))) if isinstance(finding, dict) else ("", "")


def _waiting(case: Case) -> Status:
    return Status.AWAITING_CONFIRMATION if case.named is None else Status.OUTDATED


def _made(case: Case, status: Status, reason: Reason, confirmed: str = "") -> Decision:
    verdict = "BYPASSED" if case.tier is Tier.LOCAL or case.report is None else str(case.report.verdict)
    return _seal(
        artifact=case.artifact,
        tier=case.tier,
        report=case.report,
        status=status,
        reason=reason,
        verdict=verdict,
        confirmed=confirmed,
    )

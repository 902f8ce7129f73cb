"""What a caller gets for each tool: the gate's decision in plain data, and its JSON form (``skillkeep/ingest-v1``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillkeep.errors import Exit, SkillkeepError
from skillkeep.ingest.gate import Reason, Status
from skillkeep.manifest import ManifestDiff

__all__ = ["SCHEMA", "Change", "Outcome", "exit_code", "to_json"]

SCHEMA = "skillkeep/ingest-v1"
_EXITS = {
    Status.VAULTED: Exit.OK,
    Status.ALREADY_APPROVED: Exit.OK,
    Status.AWAITING_CONFIRMATION: Exit.AWAITING,
    Status.OUTDATED: Exit.AWAITING,
    Status.REJECTED: Exit.REJECTED,
}


@dataclass(frozen=True)
class Change:
    """What differs from an earlier digest: files, and what the new version wants that the old one did not."""

    against: str
    files: ManifestDiff
    newly_wants: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """One tool. Either `status` is set, or `error` says why there is none. Texts from the tool are raw.

    `findings` and `capabilities` are JSON data of the report, worst first as the report has them. `next` is the
    command that goes on from here. `grants` are in force or would be; `grantable` could be asked for. `rubric` is the
    report's record of the language model's part, empty when that phase is off.
    """

    name: str
    kind: str
    path: str
    source: str
    ref: str | None = None
    commit: str | None = None
    description: str = ""
    status: Status | None = None
    reason: Reason | None = None
    digest: str = ""
    tier: int = 0
    tier_reason: str = ""
    reputation: str = ""
    verdict: str = ""
    findings: Sequence[Mapping[str, Any]] = ()
    capabilities: Sequence[Mapping[str, Any]] = ()
    rubric: Mapping[str, Any] = field(default_factory=dict)
    change: Change | None = None
    grants: tuple[str, ...] = ()
    grantable: tuple[str, ...] = ()
    next: str | None = None
    error: SkillkeepError | None = field(default=None, compare=False)

    @property
    def exit_code(self) -> Exit:
        """The exit code for this tool alone."""
        if self.status is not None:
            return _EXITS[self.status]
        return self.error.exit_code if self.error else Exit.TOOL_FAILURE

    def to_json(self) -> dict[str, Any]:
        """Plain data; an error takes the place of the decision."""
        common = {"name": self.name, "kind": self.kind, "path": self.path, "source": self.source, "ref": self.ref,
                  "commit": self.commit}  # fmt: skip
        if self.error is not None:
            return {**self.error.to_json(), **common, "status": None}
        return {
            "ok": True,
            **common,
            "description": self.description,
            "status": self.status,
            "reason": self.reason,
            "digest": self.digest,
            "tier": self.tier,
            "tier_reason": self.tier_reason,
            "reputation": self.reputation,
            "verdict": self.verdict,
            "findings": list(self.findings),
            "capabilities": list(self.capabilities),
            "rubric": dict(self.rubric) or None,
            "diff": _diff(self.change),
            "grants": list(self.grants),
            "grantable": list(self.grantable),
            "next": self.next,
        }


def exit_code(outcomes: Sequence[Outcome]) -> Exit:
    """The exit code of a whole call: rejected before any other error, that before waiting, that before success."""
    codes = {outcome.exit_code for outcome in outcomes}
    if Exit.REJECTED in codes:
        return Exit.REJECTED
    failures = codes - {Exit.OK, Exit.AWAITING}
    if failures:
        return min(failures)
    return Exit.AWAITING if Exit.AWAITING in codes else Exit.OK


def to_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """One object: `outcomes`, and for a single tool its fields at the top as well.

    `ok` is True when every tool got a decision; `status` says which one.
    """
    listed = [outcome.to_json() for outcome in outcomes]
    single = listed[0] if len(listed) == 1 else {}
    return {**single, "ok": all(item["ok"] for item in listed), "schema": SCHEMA, "outcomes": listed}


def _diff(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {
        "against": change.against,
        "added": list(change.files.added),
        "removed": list(change.files.removed),
        "changed": list(change.files.changed),
        "mode_changed": list(change.files.mode_changed),
        "newly_wants": list(change.newly_wants),
    }

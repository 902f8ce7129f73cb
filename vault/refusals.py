"""The vault's refusals, each with what to do next; and the law that a FAIL is never admitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skillkeep.near import did_you_mean
from skillkeep.text import escape, printable_path
from skillkeep.vault.errors import VaultError
from skillkeep.vault.interface import Admission, Revocation, Tier, ToolRecord

if TYPE_CHECKING:
    from skillkeep.vault.verification import Difference

__all__ = ["admission_facts", "check_admission", "name_taken", "not_in_history", "not_vaulted", "revoked", "tampered"]

_LISTED = 50


def check_admission(admission: Admission) -> None:
    """Law 2: raise `VaultError` (`verdict_refused`) unless the verdict is PASS or WARN, or BYPASSED at tier 1."""
    allowed = {"PASS", "WARN", "BYPASSED"} if admission.tier is Tier.LOCAL else {"PASS", "WARN"}
    if admission.verdict not in allowed:
        raise VaultError(
            "verdict_refused",
            f"the verdict on '{escape(admission.name)}' is {escape(str(admission.verdict))}",
            "Nothing overrides it. Have the source fixed and ingest it again.",
            name=admission.name,
            digest=admission.digest,
            verdict=str(admission.verdict),
        )


def admission_facts(admission: Admission, *, replaced_damaged: bool) -> dict[str, Any]:
    """What the journal keeps of an admission."""
    return {
        "name": admission.name,
        "digest": admission.digest,
        "tier": int(admission.tier),
        "verdict": admission.verdict,
        "kind": admission.kind,
        "source": admission.source,
        "source_key": admission.source_key,
        "ref": admission.ref,
        "commit": admission.commit,
        "artifact_path": admission.artifact_path,
        "confirmed": admission.confirmed,
        "grants": list(admission.grants),
        "replaced_damaged": replaced_damaged,
    }


def not_vaulted(name: str, known: Sequence[str] = ()) -> VaultError:
    """Nothing approved has this name or digest. Names of `known` that come close are in the hint."""
    meant = did_you_mean(name[:100], known)
    return VaultError(
        "not_vaulted",
        f"'{escape(name[:100])}' is not in the vault",
        f"{meant} See what is: vault list. Vault it first: skill ingest SOURCE.".lstrip(),
        name=name[:200],
    )


def not_in_history(name: str, reason: str) -> VaultError:
    """The wanted version of `name` is not there."""
    return VaultError(
        "not_in_history",
        f"no such version of '{escape(name)}': {reason}",
        f"See its versions and their digests: vault history {escape(name)}",
        name=name,
    )


def name_taken(name: str, owner: str, claimed_by: str) -> VaultError:
    """The name belongs to the source that took it first. `owner` and `claimed_by` are keys of sources."""
    return VaultError(
        "name_taken",
        f"the name '{name}' belongs to {escape(owner)}",
        "Give this tool a name of its own with --name.",
        name=name,
        owner=owner,
        claimed_by=claimed_by,
    )


def revoked(record: ToolRecord, revocation: Revocation) -> VaultError:
    """The record's digest was revoked."""
    return VaultError(
        "revoked",
        f"'{record.name}' was revoked on {revocation.at}: {escape(revocation.reason)}",
        f"Go back to an earlier version (vault rollback {record.name}) or update it from its source.",
        name=record.name,
        digest=record.digest,
        reason=revocation.reason,
    )


def tampered(name: str, differences: Sequence[Difference]) -> VaultError:
    """The object differs from its digest; the context lists the first differences."""
    first = differences[0]
    return VaultError(
        "vault_tampered",
        f"the vaulted copy of '{escape(name)}' is not what was approved: "
        f"{printable_path(first.path) if first.path else 'the object'}: {escape(first.detail)}",
        "It does not run. See all differences: vault verify. Ingest the same version again to replace the copy.",
        name=name,
        differences=[
            {"kind": str(each.kind), "path": escape(each.path), "detail": escape(each.detail)}
            for each in differences[:_LISTED]
        ],
        total=len(differences),
    )

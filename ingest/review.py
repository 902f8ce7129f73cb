"""Gathers what the gate needs to know about a tool, and says its decision in plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from skillkeep.auditor.interface import Report, Verdict
from skillkeep.errors import SkillkeepError
from skillkeep.grants import is_grantable, widest
from skillkeep.ingest.artifacts import Artifact
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.fetching import Fetched
from skillkeep.ingest.gate import Case, Decision, Status
from skillkeep.ingest.giturl import is_commit
from skillkeep.ingest.outcome import Change, Outcome
from skillkeep.ingest.repeat import restore_command, show_command
from skillkeep.ingest.request import Floor, IngestRequest
from skillkeep.ingest.trust import pretending, tier_of
from skillkeep.manifest import Manifest
from skillkeep.text import escape
from skillkeep.vault.errors import VaultError
from skillkeep.vault.interface import Admission, Tier, ToolRecord
from skillkeep.vault.refusals import name_taken
from skillkeep.vault.reputation import Reputation

__all__ = ["Standing", "build_case", "describe", "preapproved"]


@dataclass(frozen=True)
class Standing:
    """What is shown beside the decision.

    `name` is the name the tool gets, `grants` what it may have then, `widening` what was asked for a tool that is
    approved already and that it may not have yet.
    """

    name: str
    fetched: Fetched
    tier_reason: str
    reputation: str
    grants: tuple[str, ...]
    widening: tuple[str, ...]
    change: Change | None


def build_case(
    request: IngestRequest, floor: Floor, fetched: Fetched, artifact: Artifact, name: str
) -> tuple[Case, Standing]:
    """Classify, look up, audit where the audit decides. Raises `SkillkeepError` (`name_taken`, `revoked`, …)."""
    source, digest = fetched.source, artifact.manifest.digest
    tier, why = tier_of(fetched, artifact.observations, request.origin, floor.settings.trust, floor.home)
    if tier < request.least_tier:
        tier, why = request.least_tier, "as it was approved before"
    _check_not_revoked(floor, digest)
    known = floor.vault.lookup(digest, tier)
    named = floor.vault.by_name(name)
    if known is None and named is not None and named.source_key != source.key:
        raise name_taken(name, named.source_key, source.key)
    report = None
    if request.audit or (known is None and tier is not Tier.LOCAL):
        report = _audit(request, floor, fetched, artifact)
    case = Case(
        artifact=artifact,
        tier=tier,
        report=report,
        known=known,
        named=named,
        pending=floor.reviews.pending(source.key, artifact.path),
        confirm=request.confirm,
        expect=request.expect,
    )
    reputation = Reputation(tier, floor.vault.clean_versions(source.key), bool(source.ref and is_commit(source.ref)))
    kept = named.grants if named is not None else ()
    own = known is not None and known.current and known.source_key == source.key
    standing = Standing(
        name=name,
        fetched=fetched,
        tier_reason=why,
        reputation=reputation.describe(),
        grants=widest([*kept, *request.grants]),
        widening=tuple(sorted({*request.grants} - {*known.grants})) if known is not None and own else (),
        change=_change(floor, case),
    )
    return case, standing


def _check_not_revoked(floor: Floor, digest: str) -> None:
    if (revocation := floor.vault.revocation(digest)) is not None:
        raise VaultError(
            "revoked",
            f"these bytes were revoked on {revocation.at}: {escape(revocation.reason)}",
            "Use another version; a revocation is for good.",
            digest=digest,
            reason=revocation.reason,
        )


def _audit(request: IngestRequest, floor: Floor, fetched: Fetched, artifact: Artifact) -> Report:
    """Audit the artifact's folder, and check that the report is about the bytes that were hashed here."""
    from skillkeep.auditor import AuditOptions, audit_tree
    from skillkeep.auditor.cache import ReportCache

    options = replace(
        AuditOptions.of(floor.settings.auditor), depth=2 * floor.settings.limits.depth + 64, rubric=floor.rubric
    )
    imitation = pretending(fetched.source, floor.settings.trust)
    observations = [*artifact.observations, *([imitation] if imitation else [])]
    audit = ReportCache(floor.home.reports / "ingest").audit if request.cache else audit_tree
    report = audit(artifact.root, options, observations, floor.progress)
    unread = not report.digest and report.verdict is Verdict.FAIL  # the audit died before it could hash: refused anyway
    if report.digest != artifact.manifest.digest and not unread:
        raise IngestError(
            "quarantine_changed",
            "the audited files are not the files that were fetched",
            "Something changed the quarantine during the audit. Do not use this source; look for who wrote there.",
            audited=report.digest,
            fetched=artifact.manifest.digest,
        )
    return _without_accepted(report, request, floor, artifact)


def _without_accepted(report: Report, request: IngestRequest, floor: Floor, artifact: Artifact) -> Report:
    """The report with the warnings that the user has accepted for these very bytes marked."""
    from skillkeep.auditor.suppressions import apply_suppressions, load_suppressions

    today = floor.clock.now().date()
    named = request.suppressions is not None
    source = Path(request.source.removeprefix("file://").partition("#")[0])
    accepted = load_suppressions(
        request.suppressions or floor.home.suppressions, today, [artifact.root, source], named=named
    )
    return apply_suppressions(report, accepted, today)


def _change(floor: Floor, case: Case) -> Change | None:
    """Against the review that was asked to be confirmed if it differs, else against the name's current version."""
    digest = case.artifact.manifest.digest
    if case.known is not None:
        return None
    pending, named = case.pending, case.named
    if pending is not None and pending.digest != digest and (case.confirm or named is None):
        old, wanted = Manifest.from_text(pending.manifest), _wants(pending.report.get("capabilities", ()))
        against = pending.digest
    elif named is not None and named.digest != digest:
        try:
            old = floor.vault.manifest(named.digest)
        except SkillkeepError:
            return None
        wanted = _wants((floor.vault.report(named.name, named.digest) or {}).get("capabilities", ()))
        against = named.digest
    else:
        return None
    wants = _wants(_listed(case.report, "capabilities"))
    return Change(against, old.diff(case.artifact.manifest), tuple(sorted(wants - wanted)))


def describe(decision: Decision, case: Case, standing: Standing, command: str) -> Outcome:
    """The outcome to show. For a tool approved before, under the name and with the verdict of that approval."""
    source = standing.fetched.source
    known = case.known if decision.status is Status.ALREADY_APPROVED else None
    waiting = decision.status in {Status.AWAITING_CONFIRMATION, Status.OUTDATED}
    capabilities = _listed(decision.report, "capabilities")
    name = known.name if known else standing.name
    shown = Outcome(
        name=name,
        kind=str(decision.artifact.kind),
        path=decision.artifact.path,
        source=source.text,
        ref=source.ref,
        commit=standing.fetched.commit,
        description=decision.artifact.description,
        status=decision.status,
        reason=decision.reason,
        digest=decision.artifact.manifest.digest,
        tier=int(decision.tier),
        tier_reason=standing.tier_reason,
        reputation=standing.reputation,
        verdict=known.verdict if known and decision.report is None else decision.verdict,
        findings=_listed(decision.report, "findings"),
        capabilities=capabilities,
        rubric=_rubric(decision.report),
        change=standing.change,
        grants=_grants_of(known, case, standing) if known else standing.grants,
        grantable=tuple(_grantable(capabilities, standing.grants)) if waiting else (),
    )
    if decision.status is Status.REJECTED:
        return shown
    if known and not known.current:
        return replace(shown, next=restore_command(name, shown.digest))
    unconfirmed = bool(standing.widening) and not case.confirm
    return replace(shown, next=command if waiting or unconfirmed else show_command(name))


def _grants_of(known: ToolRecord, case: Case, standing: Standing) -> tuple[str, ...]:
    """The grants of a tool approved before: those it has, and with `--confirm` those asked for now."""
    return widest([*known.grants, *standing.widening]) if case.confirm else known.grants


def preapproved(floor: Floor, case: Case, artifact: Artifact, standing: Standing) -> None:
    """For a tool approved before: add confirmed grants, and mend a vaulted copy whose files no longer hold.

    Same bytes, same approval; only what is new is written.
    """
    known = case.known
    if known is None or not known.current:
        return
    grants = _grants_of(known, case, standing)
    try:
        floor.vault.open(known.name)
        if grants == known.grants:
            return
    except VaultError as error:
        if error.code != "vault_tampered":
            raise
    admission = Admission(
        name=known.name,
        digest=known.digest,
        tier=known.tier,
        verdict=known.verdict,
        source=known.source,
        source_key=known.source_key,
        ref=known.ref,
        commit=known.commit,
        artifact_path=known.artifact_path,
        kind=known.kind,
        confirmed=known.confirmed,
        report=floor.vault.report(known.name, known.digest) or {},
        grants=grants,
    )
    floor.vault.admit(admission, artifact.root, floor.progress)


def _listed(report: Report | None, what: str) -> tuple[dict[str, Any], ...]:
    return tuple(report.to_json()[what]) if report is not None else ()


def _rubric(report: Report | None) -> dict[str, Any]:
    return asdict(report.rubric) if report is not None and report.rubric.state != "off" else {}


def _wants(capabilities: Iterable[Mapping[str, Any]]) -> set[str]:
    return {f"{item.get('kind')}:{item.get('value')}" for item in capabilities}


def _grantable(capabilities: Iterable[Mapping[str, Any]], granted: Iterable[str]) -> Iterable[str]:
    """Grants that what the tool wants could be met by, each once."""
    forms = {"network": "net:{}:443", "env": "env:{}", "write": "write:{}"}
    seen = set(granted)
    for item in capabilities:
        form = forms.get(str(item.get("kind")))
        if form is None:
            continue
        grant = form.format(item.get("value"))
        if grant not in seen and is_grantable(grant):
            seen.add(grant)
            yield grant

"""The gate alone: every combination of what was asked, found, approved and reviewed before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from support.hostile import clean_skill, write_files

from skillkeep.auditor.interface import Confidence, Finding, Location, Report, Severity, Verdict
from skillkeep.home import Home
from skillkeep.ingest.artifacts import Artifact, discover
from skillkeep.ingest.fetching import fetch
from skillkeep.ingest.gate import Case, Reason, Status, decide
from skillkeep.ingest.quarantine import Quarantine
from skillkeep.ingest.source import parse_source
from skillkeep.settings import LimitSettings
from skillkeep.vault.interface import Review, Tier, ToolRecord

OTHER = "sha256:" + "0" * 64


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    folder = tmp_path_factory.mktemp("gate")
    source = parse_source(str(write_files(folder / "sample", clean_skill())))
    with Quarantine(Home(folder / "home").ensure()) as quarantine:
        fetched = fetch(source, quarantine, LimitSettings())
        [found] = discover(fetched, quarantine, LimitSettings(), (), everything=False).chosen
        assert isinstance(found, Artifact)
        yield found


def report(verdict: Verdict, *fingerprints: str) -> Report:
    findings = tuple(
        Finding("r", "t", Severity.WARN, Confidence.HIGH, "c", Location("SKILL.md"), "", "", "e", (), each)
        for each in fingerprints
    )
    return Report("", verdict, findings, (), (), "rules")


def review(artifact: Artifact, digest: str | None = None, tier: Tier = Tier.UNKNOWN, *fingerprints: str) -> Review:
    shown = report(Verdict.WARN, *fingerprints).to_json()
    manifest = artifact.manifest
    return Review("key", "", "sample", digest or manifest.digest, tier, "WARN", manifest.to_text(), shown, "", "")


def record(artifact: Artifact, digest: str | None = None) -> ToolRecord:
    return ToolRecord(
        "sample", digest or artifact.manifest.digest, Tier.UNKNOWN, "skill", "PASS", "s", "key", None, None, "", "c",
        (), "", "", True, Path("/"),
    )  # fmt: skip


def test_nothing_lets_a_fail_in(artifact: Artifact) -> None:
    digest = artifact.manifest.digest
    for tier, known, named, pending, confirm, expect, seen in product(
        (Tier.TRUSTED, Tier.UNKNOWN), (None, record(artifact)), (None, record(artifact, OTHER)),
        (None, review(artifact)), (False, True), (None, digest, OTHER), (False, True),
    ):  # fmt: skip
        case = Case(artifact, tier, report(Verdict.FAIL), known, named, pending, confirm, expect, seen)
        assert decide(case).status is Status.REJECTED


def test_nothing_of_another_is_vaulted_without_confirm(artifact: Artifact) -> None:
    digest = artifact.manifest.digest
    for tier, verdict, named, pending, expect, seen in product(
        (Tier.TRUSTED, Tier.UNKNOWN), (Verdict.PASS, Verdict.WARN), (None, record(artifact, OTHER)),
        (None, review(artifact)), (None, digest, OTHER), (False, True),
    ):  # fmt: skip
        case = Case(artifact, tier, report(verdict), None, named, pending, False, expect, seen)
        assert decide(case).status is (Status.OUTDATED if named else Status.AWAITING_CONFIRMATION)


def test_no_combination_vaults_bytes_other_than_the_expected_or_reviewed_ones(artifact: Artifact) -> None:
    for tier, verdict, named, seen in product(
        Tier, (Verdict.PASS, Verdict.WARN), (None, record(artifact, OTHER)), (False, True)
    ):
        expecting = Case(artifact, tier, report(verdict), None, named, None, True, OTHER, seen)
        assert decide(expecting).reason is Reason.OTHER_DIGEST_EXPECTED
        if tier is not Tier.LOCAL:
            pending = review(artifact, OTHER)
            reviewed = Case(artifact, tier, report(verdict), None, named, pending, True, None, seen)
            assert decide(reviewed).reason is Reason.CHANGED_SINCE_REVIEW


def test_a_pass_needs_one_confirmation_and_a_warn_needs_its_findings_seen(artifact: Artifact) -> None:
    base = Case(artifact, Tier.UNKNOWN, report(Verdict.PASS), confirm=True)
    assert decide(base).confirmed == "--confirm"
    warn = replace(base, report=report(Verdict.WARN, "a"))
    assert decide(warn).reason is Reason.FINDINGS_NOT_SEEN
    assert decide(replace(warn, seen=True)).confirmed == "terminal"
    assert decide(replace(warn, expect=artifact.manifest.digest)).confirmed == "--expect"
    seen_before = replace(warn, pending=review(artifact, None, Tier.UNKNOWN, "a"))
    assert decide(seen_before).status is Status.VAULTED


def test_a_review_counts_only_for_the_same_findings_and_tier(artifact: Artifact) -> None:
    warn = Case(artifact, Tier.UNKNOWN, report(Verdict.WARN, "a", "new"), confirm=True)
    assert decide(replace(warn, pending=review(artifact, None, Tier.UNKNOWN, "a"))).reason is Reason.FINDINGS_NOT_SEEN
    shown = review(artifact, None, Tier.TRUSTED, "a", "new")
    assert decide(replace(warn, pending=shown)).reason is Reason.FINDINGS_NOT_SEEN


def test_an_approval_of_the_digest_comes_first(artifact: Artifact) -> None:
    case = Case(artifact, Tier.UNKNOWN, None, known=record(artifact), named=record(artifact, OTHER))
    assert decide(case).status is Status.ALREADY_APPROVED


def test_the_gate_does_not_decide_without_an_audit_that_it_needs(artifact: Artifact) -> None:
    with pytest.raises(ValueError, match="report"):
        decide(Case(artifact, Tier.UNKNOWN, None, confirm=True, expect=artifact.manifest.digest))

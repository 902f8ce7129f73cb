"""Which approval counts for whom: digest and tier first, name second; revocations; pending reviews."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.vaults import make_tool

from skillkeep.errors import Exit, SkillkeepError
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.vault.errors import VaultError
from skillkeep.vault.interface import Review, Tier
from skillkeep.vault.reviews import Reviews
from skillkeep.vault.store import Vault

A, B = {"a": "1"}, {"a": "2"}


@pytest.mark.parametrize(
    ("given", "asked", "counts"),
    [
        (Tier.LOCAL, Tier.LOCAL, True),
        (Tier.LOCAL, Tier.TRUSTED, False),
        (Tier.LOCAL, Tier.UNKNOWN, False),
        (Tier.TRUSTED, Tier.LOCAL, True),
        (Tier.TRUSTED, Tier.TRUSTED, True),
        (Tier.TRUSTED, Tier.UNKNOWN, False),
        (Tier.UNKNOWN, Tier.LOCAL, True),
        (Tier.UNKNOWN, Tier.TRUSTED, True),
        (Tier.UNKNOWN, Tier.UNKNOWN, True),
    ],
)
def test_an_approval_counts_for_its_tier_and_for_more_trusted_ones(
    home: Home, vault: Vault, given: Tier, asked: Tier, counts: bool
) -> None:
    tool = make_tool(home, "demo", A, given)
    found = vault.lookup(tool.digest, asked)
    assert (found is not None) is counts
    assert found is None or (found.name, found.tier) == ("demo", given)


def test_the_bytes_are_found_under_whatever_name_they_have(home: Home, vault: Vault) -> None:
    tool = make_tool(home, "first-name", A)
    found = vault.lookup(tool.digest.upper().replace("SHA256", "sha256"), Tier.UNKNOWN)
    assert found is not None
    assert found.name == "first-name"
    assert vault.by_name("other-name") is None


def test_local_bytes_can_be_vaulted_again_for_a_stranger_under_a_name_of_its_own(home: Home, vault: Vault) -> None:
    make_tool(home, "mine", A, Tier.LOCAL)
    theirs = make_tool(home, "theirs", A, Tier.UNKNOWN)
    assert vault.open("mine").tier is Tier.LOCAL
    assert vault.open("theirs").tier is Tier.UNKNOWN
    found = vault.lookup(theirs.digest, Tier.UNKNOWN)
    assert found is not None
    assert found.name == "theirs"


def test_an_archived_version_is_still_approved_and_says_that_it_is_not_current(home: Home, vault: Vault) -> None:
    old, new = make_tool(home, "demo", A), make_tool(home, "demo", B)
    archived, current = vault.lookup(old.digest, Tier.UNKNOWN), vault.lookup(new.digest, Tier.UNKNOWN)
    assert archived is not None
    assert current is not None
    assert (archived.current, current.current) == (False, True)


@pytest.mark.parametrize("digest", ["", "sha256:", "abc", "sha256:" + "g" * 64, "demo"])
def test_something_that_is_no_digest_is_refused(vault: Vault, digest: str) -> None:
    with pytest.raises(SkillkeepError) as caught:
        vault.lookup(digest, Tier.UNKNOWN)
    assert caught.value.code == "bad_manifest"


def test_a_revoked_tool_does_not_open_and_is_approved_for_nobody(home: Home, vault: Vault) -> None:
    tool = make_tool(home, "demo", A, Tier.UNKNOWN)
    make_tool(home, "twin", A, Tier.TRUSTED)
    blocked = vault.revoke("demo", "advisory 7")
    assert [record.name for record in blocked] == ["demo", "twin"]
    for name in ("demo", "twin"):
        with pytest.raises(VaultError) as caught:
            vault.open(name)
        assert (caught.value.code, caught.value.exit_code) == ("revoked", Exit.REJECTED)
        assert "advisory 7" in caught.value.message
    assert [vault.lookup(tool.digest, tier) for tier in Tier] == [None, None, None]
    line = [line for line in Journal(home.journal).read() if line.event == "vault.revoke"][-1]
    assert (line.facts["digests"], line.facts["reason"]) == ([tool.digest], "advisory 7")


def test_a_revoked_digest_cannot_come_back_under_any_name(home: Home, vault: Vault) -> None:
    make_tool(home, "demo", A)
    vault.revoke("demo", "bad")
    for name in ("demo", "other"):
        with pytest.raises(VaultError) as caught:
            make_tool(home, name, A)
        assert caught.value.code == "revoked"
    assert vault.by_name("other") is None


def test_a_digest_can_be_revoked_before_it_ever_arrives(home: Home, vault: Vault) -> None:
    tool = make_tool(Home(home.root.parent / "other-home"), "demo", A)
    assert vault.revoke(tool.digest, "known malware") == []
    with pytest.raises(VaultError) as caught:
        make_tool(home, "demo", A)
    assert caught.value.code == "revoked"
    revocation = vault.revocation(tool.digest)
    assert revocation is not None
    assert revocation.reason == "known malware"


def test_revoking_a_name_leaves_its_earlier_versions_unless_told(home: Home, vault: Vault) -> None:
    make_tool(home, "demo", A)
    make_tool(home, "demo", B)
    vault.revoke("demo", "bad update")
    assert vault.rollback("demo").manifest.entries[0].size == 1
    vault.open("demo")
    vault.revoke("demo", "all of it", every_version=True)
    with pytest.raises(VaultError) as caught:
        vault.rollback("demo")
    assert caught.value.code == "not_in_history"


def test_the_first_reason_of_a_revocation_stays(home: Home, vault: Vault) -> None:
    tool = make_tool(home, "demo", A)
    vault.revoke("demo", "first")
    vault.revoke(tool.digest, "second")
    revocation = vault.revocation(tool.digest)
    assert revocation is not None
    assert revocation.reason == "first"


def test_revoking_an_unknown_name_says_so(vault: Vault) -> None:
    with pytest.raises(VaultError) as caught:
        vault.revoke("nobody", "x")
    assert caught.value.code == "not_vaulted"


def test_only_clean_versions_that_still_stand_count_for_reputation(home: Home, vault: Vault) -> None:
    key = "https://example.invalid/demo"
    assert vault.clean_versions(key) == 0
    make_tool(home, "demo", A)
    make_tool(home, "demo", B)
    make_tool(home, "demo", A)
    assert vault.clean_versions(key) == 2
    vault.revoke("demo", "bad")
    assert vault.clean_versions(key) == 1


REVIEW = Review(
    source_key="https://example.invalid/x",
    artifact_path="skills/pdf",
    name="pdf",
    digest="sha256:" + "1" * 64,
    tier=Tier.UNKNOWN,
    verdict="WARN",
    manifest="100644 1 " + "2" * 64 + " a\n",
    report={"findings": [{"rule": "r", "excerpt": "\udcff\x1b"}]},
    seen_at="2026-11-21T15:00:00.000Z",
    command="skill ingest https://example.invalid/x --confirm",
)


def test_a_review_is_found_again_exactly_by_another_process_view(home: Home) -> None:
    Reviews(home).record(REVIEW)
    assert Reviews(home).pending(REVIEW.source_key, REVIEW.artifact_path) == REVIEW
    assert Reviews(home).pending(REVIEW.source_key, "skills/other") is None
    assert Reviews(home).pending("https://example.invalid/y", REVIEW.artifact_path) is None


def test_a_newer_review_of_the_same_artifact_replaces_the_older(home: Home) -> None:
    reviews = Reviews(home)
    reviews.record(REVIEW)
    reviews.record(replace(REVIEW, digest="sha256:" + "3" * 64, seen_at="2026-11-21T16:00:00.000Z"))
    reviews.record(replace(REVIEW, artifact_path="", name="root"))
    assert [(each.name, each.digest[-1]) for each in reviews.all()] == [("root", "1"), ("pdf", "3")]


def test_a_cleared_review_is_gone_and_clearing_twice_is_fine(home: Home) -> None:
    reviews = Reviews(home)
    reviews.record(REVIEW)
    reviews.clear(REVIEW.source_key, REVIEW.artifact_path)
    reviews.clear(REVIEW.source_key, REVIEW.artifact_path)
    assert reviews.all() == []

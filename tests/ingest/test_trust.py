"""Tiers of remote sources. The fetch worker is replaced: what it would bring from the network is written here."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.door import rules, take
from support.hostile import clean_skill, write_files

from skillkeep.ingest import fetching
from skillkeep.ingest.request import Floor
from skillkeep.ingest.source import parse_source
from skillkeep.ingest.trust import pretending
from skillkeep.settings import TrustSettings

COMMIT = "a" * 40


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The answer of the fetch worker; a test may change it."""
    answer: dict[str, Any] = {"commit": COMMIT, "proven": True, "observations": []}

    def bring(_: str, order: dict[str, Any], *__: object) -> dict[str, Any]:
        write_files(Path(order["folder"]) / "tree", clean_skill())
        return answer

    monkeypatch.setattr(fetching, "run_confined", bring)
    return answer


@pytest.mark.parametrize(
    ("url", "tier"),
    [
        ("https://github.com/anthropics/skills", 2),
        pytest.param(
            "git@github.com:Anthropics/skills.git",
            2,
            marks=pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed"),
        ),
        ("https://github.com/stranger/anthropics", 3),
        ("https://github.com.example.invalid/anthropics/skills", 3),
        ("https://gitlab.com/anthropics/skills", 3),
        ("https://github.com:8443/anthropics/skills", 3),
        ("https://github.com/anthropics", 3),
    ],
)
def test_trust_is_proven_by_host_and_owner_of_the_url(
    floor: Floor, network: dict[str, Any], url: str, tier: int
) -> None:
    outcome = take(floor, url)
    assert (outcome.tier, outcome.status) == (tier, "awaiting_confirmation")


def test_an_origin_lowers_and_never_raises(floor: Floor, network: dict[str, Any]) -> None:
    assert take(floor, "https://github.com/anthropics/skills", origin="stranger").tier == 3
    assert take(floor, "https://github.com/stranger/skills", origin="anthropics").tier == 3
    assert take(floor, "https://github.com/stranger/skills", origin="github.com/anthropics").tier == 3


def test_a_mirror_is_the_users_word_and_counts_only_when_it_is_named(floor: Floor, network: dict[str, Any]) -> None:
    trust = TrustSettings(mirrors={"git.example.invalid/mirror": "github.com/anthropics"})
    mirrored = replace(floor, settings=replace(floor.settings, trust=trust))
    url = "https://git.example.invalid/mirror/skills"
    assert take(mirrored, url, origin="anthropics").tier == 2
    assert take(mirrored, url).tier == 3
    assert take(mirrored, url, origin="google").tier == 3
    assert take(mirrored, "https://git.example.invalid/other/skills", origin="anthropics").tier == 3


def test_a_commit_nobody_vouches_for_is_not_the_owners(floor: Floor, network: dict[str, Any]) -> None:
    network["proven"] = False
    outcome = take(floor, "https://github.com/anthropics/skills", ref=COMMIT)
    assert outcome.tier == 3
    assert "no branch or tag" in outcome.tier_reason


def test_an_owner_that_imitates_a_trusted_one_is_a_finding(floor: Floor, network: dict[str, Any]) -> None:
    assert "source-lookalike-owner" in rules(take(floor, "https://github.com/anthr0pics/skills"))


@pytest.mark.parametrize(
    ("url", "imitates"),
    [
        ("https://github.com/anthropic5/x", True),
        ("https://github.com/antrhopics/x", True),
        ("https://glthub.com/somebody/x", True),
        ("https://github.com/anthropics/x", False),
        ("https://github.com/somebody/x", False),
        ("https://gitlab.com/somebody/x", False),
        ("https://codeberg.org/somebody/x", False),
    ],
)
def test_owners_and_hosts_are_compared_by_their_looks(url: str, imitates: bool) -> None:
    assert (pretending(parse_source(url), TrustSettings()) is not None) == imitates

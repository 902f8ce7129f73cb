"""Which tier a source gets: only from what fetching proved, and in doubt none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillkeep.home import Home
from skillkeep.settings import TrustSettings
from skillkeep.vault.tiers import SourcePlace, Tier, classify, lowered

OWNERS = TrustSettings().owners


def local(path: Path, home: Home) -> Tier:
    return classify(SourcePlace("folder", path=path), OWNERS, home)


@pytest.fixture
def skill(home: Home) -> Path:
    folder = home.skills / "group" / "mine"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("# mine\n")
    return folder


def test_the_users_own_folders_are_local(home: Home, skill: Path) -> None:
    (home.scripts / "tidy.sh").write_text("#!/bin/sh\n")
    assert local(skill, home) is Tier.LOCAL
    assert local(skill / "SKILL.md", home) is Tier.LOCAL
    assert local(home.scripts / "tidy.sh", home) is Tier.LOCAL
    assert local(home.skills, home) is Tier.LOCAL


def test_a_relative_path_is_judged_by_where_it_leads(home: Home, skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.skills)
    assert local(Path("group/mine"), home) is Tier.LOCAL
    assert local(Path("./group/mine"), home) is Tier.LOCAL
    assert local(Path("../scripts"), home) is Tier.UNKNOWN


def test_a_link_from_the_local_folder_to_elsewhere_is_not_local(home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (home.skills / "link").symlink_to(outside)
    assert local(home.skills / "link", home) is Tier.UNKNOWN
    assert local(home.skills / "link" / "inner", home) is Tier.UNKNOWN


def test_a_link_anywhere_below_the_local_folder_is_not_local_even_when_it_stays_inside(home: Home, skill: Path) -> None:
    (home.skills / "alias").symlink_to("group")
    assert local(home.skills / "alias" / "mine", home) is Tier.UNKNOWN


def test_a_link_from_elsewhere_into_the_local_folder_is_not_local(home: Home, skill: Path, tmp_path: Path) -> None:
    """Whoever owns the link can change it between the question and the fetch."""
    (tmp_path / "link").symlink_to(skill)
    assert local(tmp_path / "link", home) is Tier.UNKNOWN


@pytest.mark.parametrize("name", ["skills-evil", "skillsx", "skill", "SKILLS"])
def test_a_neighbour_with_a_similar_name_is_not_local(home: Home, name: str) -> None:
    folder = home.root / name
    folder.mkdir()
    assert local(folder, home) is Tier.UNKNOWN


def test_a_path_that_climbs_is_not_local(home: Home, skill: Path, tmp_path: Path) -> None:
    (home.skills / "down").symlink_to(tmp_path)
    assert local(home.skills / "group" / ".." / "group", home) is Tier.UNKNOWN
    assert local(home.skills / "down" / ".." / "x", home) is Tier.UNKNOWN
    assert local(Path(f"{home.skills}/../../etc"), home) is Tier.UNKNOWN


def test_what_is_not_there_or_is_no_file_is_not_local(home: Home) -> None:
    os.mkfifo(home.skills / "pipe")
    assert local(home.skills / "missing", home) is Tier.UNKNOWN
    assert local(home.skills / "pipe", home) is Tier.UNKNOWN
    assert local(home.skills / "nul\0byte", home) is Tier.UNKNOWN


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_local_folder_that_others_may_write_to_is_not_local(home: Home, skill: Path, mode: int) -> None:
    home.skills.chmod(mode)
    assert local(skill, home) is (Tier.LOCAL if mode & 0o022 == 0 else Tier.UNKNOWN)
    home.skills.chmod(0o700)
    assert local(skill, home) is Tier.LOCAL


def test_the_local_folder_itself_may_not_be_a_link(home: Home, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    home.skills.rmdir()
    home.skills.symlink_to(tmp_path / "real")
    (tmp_path / "real" / "mine").mkdir()
    assert local(home.skills / "mine", home) is Tier.UNKNOWN


def test_a_home_reached_through_a_link_above_it_still_works(home: Home, skill: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(home.root.parent)
    through = Home(tmp_path / "way" / home.root.name)
    assert local(through.skills / "group" / "mine", through) is Tier.LOCAL
    assert local(skill, through) is Tier.LOCAL


@pytest.mark.parametrize("kind", ["archive", "git", "", "Folder"])
def test_only_a_plain_folder_is_local(home: Home, skill: Path, kind: str) -> None:
    assert classify(SourcePlace(kind, path=skill), OWNERS, home) is Tier.UNKNOWN


@pytest.mark.parametrize(
    ("host", "owner", "tier"),
    [
        ("github.com", "anthropics", Tier.TRUSTED),
        ("GitHub.com", "Anthropics", Tier.TRUSTED),
        ("github.com", "modelcontextprotocol", Tier.TRUSTED),
        ("gitlab.com", "anthropics", Tier.UNKNOWN),
        ("github.com.evil.example", "anthropics", Tier.UNKNOWN),
        ("evil.example", "github.com/anthropics", Tier.UNKNOWN),
        ("github.com/anthropics", "x", Tier.UNKNOWN),
        ("github.com", "anthropics/x", Tier.UNKNOWN),
        ("github.com", "anthropic", Tier.UNKNOWN),
        ("github.com", "anthr0pics", Tier.UNKNOWN),
        ("github.com", "аnthropics", Tier.UNKNOWN),  # the first letter is Cyrillic
        ("github.com", "ﬁgma", Tier.UNKNOWN),
        ("github.com.", "anthropics", Tier.UNKNOWN),
        ("github.com", "anthropics ", Tier.UNKNOWN),
        ("github.com", "", Tier.UNKNOWN),
        ("", "anthropics", Tier.UNKNOWN),
        ("localhost", "google", Tier.UNKNOWN),
        ("127.0.0.1", "google", Tier.UNKNOWN),
    ],
)
def test_an_owner_is_trusted_on_its_own_host_only(home: Home, host: str, owner: str, tier: Tier) -> None:
    assert classify(SourcePlace("git", host, owner), OWNERS, home) is tier


def test_a_configured_owner_may_name_its_host(home: Home) -> None:
    owners = ("gitlab.example.invalid/team", "solo")
    assert classify(SourcePlace("git", "gitlab.example.invalid", "team"), owners, home) is Tier.TRUSTED
    assert classify(SourcePlace("git", "github.com", "team"), owners, home) is Tier.UNKNOWN
    assert classify(SourcePlace("git", "github.com", "solo"), owners, home) is Tier.TRUSTED


@pytest.mark.parametrize("kind", ["archive", "folder"])
def test_only_a_repository_can_be_trusted_by_its_owner(home: Home, kind: str) -> None:
    assert classify(SourcePlace(kind, "github.com", "anthropics"), OWNERS, home) is Tier.UNKNOWN


@pytest.mark.parametrize("tier", list(Tier))
@pytest.mark.parametrize(
    "origin", ["anthropics", "github.com/google", "somebody", "", "gitlab.com/google", "/", "a/b/c"]
)
def test_an_origin_never_raises_trust(tier: Tier, origin: str) -> None:
    assert lowered(tier, origin, OWNERS) >= tier


def test_an_origin_lowers_trust_to_what_it_is_worth() -> None:
    assert lowered(Tier.LOCAL, "anthropics", OWNERS) is Tier.TRUSTED
    assert lowered(Tier.LOCAL, "somebody", OWNERS) is Tier.UNKNOWN
    assert lowered(Tier.TRUSTED, "somebody", OWNERS) is Tier.UNKNOWN
    assert lowered(Tier.TRUSTED, "google", OWNERS) is Tier.TRUSTED

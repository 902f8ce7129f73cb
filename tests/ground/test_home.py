"""The home is private, ours, and no link."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from skillkeep.errors import SkillkeepError
from skillkeep.home import Home


def test_the_environment_decides_where_the_home_is() -> None:
    assert Home.resolve({"SKILLKEEP_HOME": "/x/y"}).root == Path("/x/y")
    assert Home.resolve({"HOME": "/home/me"}).root == Path("/home/me/.skillkeep")
    assert Home.resolve({"SKILLKEEP_HOME": "/x"}, override="/z").root == Path("/z")


def test_a_relative_home_is_refused() -> None:
    with pytest.raises(SkillkeepError) as caught:
        Home.resolve({"SKILLKEEP_HOME": "here"})
    assert caught.value.code == "bad_home"


def test_every_folder_is_made_private(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / "home").ensure()
    for folder in (home.root, home.skills, home.scripts, home.quarantine, home.vault, home.journal, home.runs):
        assert stat.S_IMODE(folder.lstat().st_mode) == 0o700


def test_a_link_or_a_file_or_an_open_folder_in_the_home_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path / "home").ensure()
    home.runs.chmod(0o777)
    with pytest.raises(SkillkeepError, match="others may write"):
        home.ensure()
    home.runs.chmod(0o700)
    home.skills.rmdir()
    home.skills.symlink_to(tmp_path)
    with pytest.raises(SkillkeepError, match="not a folder"):
        home.ensure()
    home.skills.unlink()
    home.skills.write_bytes(b"")
    with pytest.raises(SkillkeepError, match="not a folder"):
        home.ensure()

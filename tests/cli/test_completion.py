"""What the Tab key offers, asked for as a shell asks; it neither makes nor prints anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import run_command


def offered(home: Path, line: str) -> list[str]:
    words = line.split(" ")
    variable = f"_{words[0].upper()}_COMPLETE"
    asked = {variable: "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = run_command(words[0], home=home, env=asked)
    assert done.err == ""
    return done.out.split()


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "vetted_vault" / "objects").mkdir(parents=True)
    for name in ("pdf", "pdf-forms", "csv"):
        (home / "vetted_vault" / name).symlink_to("objects")
    (home / "environments" / "web-1a2b").mkdir(parents=True)
    return home


@pytest.mark.parametrize(
    "line", ["skill run p", "runner run p", "vault show p", "vault history p", "vault verify p", "vault update p"]
)
def test_names_of_tools_are_offered(home: Path, line: str) -> None:
    assert offered(home, line) == ["pdf", "pdf-forms"]


def test_names_of_environments_and_rules_are_offered(home: Path) -> None:
    assert offered(home, "runner env stop w") == ["web-1a2b"]
    assert "python-eval" in offered(home, "auditor explain python-e")


@pytest.mark.parametrize("line", ["runner run p", "vault show p", "runner env stop w"])
def test_where_there_is_no_home_nothing_is_offered_and_none_is_made(tmp_path: Path, line: str) -> None:
    assert offered(tmp_path / "none", line) == []
    assert not (tmp_path / "none").exists()


def test_what_stands_everywhere_is_offered_with_its_values(home: Path) -> None:
    assert offered(home, "vault show --no-c") == ["--no-config"]
    assert sorted(offered(home, "vault show --color a")) == ["always", "auto"]

"""The demo a newcomer runs first does what it says and leaves nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.sources import ROOT


def run_demo(tmp_path: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """`demo/run.py` as `make demo` starts it, with a temporary folder and an empty home of its own."""
    (tmp_path / "tmp").mkdir()
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp"), **extra}
    return subprocess.run(
        [sys.executable, str(ROOT / "demo" / "run.py")], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=240,
    )  # fmt: skip


@pytest.mark.slow
def test_the_demo_ingests_refuses_runs_and_verifies(tmp_path: Path) -> None:
    done = run_demo(tmp_path)
    assert done.returncode == 0, done.stdout
    after_ingest = done.stdout.split("$ vault list", 1)[1]
    listed = after_ingest.split("\n#", 1)[0]
    assert "word-count" in listed
    assert "csv-summary" in listed
    assert "settings-sync" not in listed
    assert "8 rows, 7 columns" in done.stdout
    assert "distinct words" in done.stdout
    assert done.stdout.count("\nconnected\n") == 1
    assert "journal holds" in done.stdout
    assert commands(done.stdout) == commands((ROOT / "README.md").read_text(encoding="utf-8"))


def commands(text: str) -> list[str]:
    """The commands of a transcript, ports apart: README shows a real run of this very demo (`make transcript`)."""
    return [re.sub(r"\b\d{4,5}\b", "PORT", line) for line in text.splitlines() if line.startswith("$ ")]


@pytest.mark.slow
def test_the_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    run_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_demo_takes_a_source_of_the_users(tmp_path: Path) -> None:
    home = tmp_path / "kept"
    home.mkdir(mode=0o700)
    done = run_demo(tmp_path, SOURCE=str(ROOT / "demo" / "skills" / "word-count"), SKILLKEEP_HOME=str(home))
    assert done.returncode == 0, done.stdout
    assert (home / "vetted_vault" / "word-count" / "SKILL.md").is_file()
    assert "skill run" in done.stdout


def test_the_demo_says_so_when_a_source_cannot_be_fetched(tmp_path: Path) -> None:
    done = run_demo(tmp_path, SOURCE=str(tmp_path / "nowhere"), SKILLKEEP_HOME=str(tmp_path / "kept"))
    assert done.returncode == 1
    assert "hint: " in done.stdout
    assert "demo: exit code" in done.stdout

"""`vault update`: the same place of the same source, audited again, never in by itself, never worse than before."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import Done, run_command
from support.sources import ROOT

DEMO = ROOT / "demo" / "skills"
GIT = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, env=GIT, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """A repository with two good skills below `skills/`."""
    folder = tmp_path / "upstream"
    for name in ("word-count", "csv-summary"):
        shutil.copytree(DEMO / name, folder / "skills" / name)
    git(folder, "init", "-q")
    commit(folder)
    return folder


def ingest(home: Path, upstream: Path, *words: str) -> Done:
    return run_command("skill", "ingest", f"file://{upstream}", *words, "--json", home=home)


def update(home: Path, *words: str) -> Done:
    return run_command("vault", "update", "word-count", *words, "--json", home=home)


def current(home: Path) -> str:
    tools = run_command("vault", "show", "word-count", "--json", home=home).json["tools"]
    return str(tools[0]["digest"])


def script(upstream: Path) -> Path:
    return upstream / "skills" / "word-count" / "scripts" / "word_count.py"


def test_nothing_new_is_already_approved(home: Path, upstream: Path) -> None:
    assert ingest(home, upstream, "--all", "--confirm").code == 0
    done = update(home)
    assert (done.code, done.json["status"]) == (0, "already_approved")


def test_a_new_version_is_shown_with_its_files_and_waits(home: Path, upstream: Path) -> None:
    ingest(home, upstream, "--all", "--confirm")
    old = current(home)
    script(upstream).write_text(script(upstream).read_text() + "# improved\n")
    commit(upstream)
    done = update(home)
    assert (done.code, done.json["status"]) == (10, "outdated")
    assert done.json["diff"]["changed"] == ["scripts/word_count.py"]
    assert done.json["diff"]["against"] == old
    assert current(home) == old


def test_a_confirmed_version_takes_the_name_and_the_old_one_can_come_back(home: Path, upstream: Path) -> None:
    ingest(home, upstream, "--select", "word-count", "--confirm")
    old = current(home)
    script(upstream).write_text(script(upstream).read_text() + "# improved\n")
    commit(upstream)
    done = update(home, "--confirm")
    assert (done.code, done.json["status"]) == (0, "vaulted")
    assert current(home) == done.json["digest"] != old
    archived = home / "vetted_vault" / ".archive" / "word-count" / old.removeprefix("sha256:")
    assert (archived / "SKILL.md").is_file()
    assert run_command("vault", "rollback", "word-count", "--json", home=home).json["digest"] == old
    assert current(home) == old
    again = update(home, "--confirm").json
    assert again["status"] == "already_approved"
    assert run_command(*shlex.split(again["next"]), home=home).code == 0
    assert current(home) == again["digest"] == done.json["digest"]


def test_the_command_that_is_shown_vaults_the_update(home: Path, upstream: Path) -> None:
    ingest(home, upstream, "--all", "--confirm")
    script(upstream).write_text(script(upstream).read_text() + "# improved\n")
    commit(upstream)
    shown = update(home).json
    done = run_command(*shlex.split(shown["next"]), "--json", home=home)
    assert (done.code, done.json["status"], done.json["digest"]) == (0, "vaulted", shown["digest"])
    assert current(home) == shown["digest"]


def test_a_version_that_turned_bad_is_refused_and_the_old_one_still_runs(home: Path, upstream: Path) -> None:
    ingest(home, upstream, "--all", "--confirm")
    old = current(home)
    shutil.copy(DEMO / "settings-sync" / "scripts" / "sync.py", script(upstream))
    commit(upstream)
    done = update(home, "--confirm")
    assert (done.code, done.json["status"]) == (20, "rejected")
    assert current(home) == old
    ran = run_command("skill", "run", "word-count", "word_count.py", home=home, stdin=b"one")
    assert ran.code == 0


def test_a_tool_taken_by_path_is_updated_at_that_path(home: Path, upstream: Path) -> None:
    assert ingest(home, upstream, "--path", "skills/word-count", "--confirm").code == 0
    assert update(home).json["status"] == "already_approved"


def test_another_tool_that_takes_the_name_upstream_is_not_taken_for_it(home: Path, upstream: Path) -> None:
    ingest(home, upstream, "--select", "word-count", "--confirm")
    old = current(home)
    moved = upstream / "skills" / "aaa"
    shutil.copytree(DEMO / "csv-summary", moved)
    manifest = moved / "SKILL.md"
    manifest.write_text(manifest.read_text().replace("name: csv-summary", "name: word-count"))
    commit(upstream)
    done = update(home, "--confirm")
    assert done.json["path"] == "skills/word-count"
    assert current(home) == old


def test_a_tool_that_is_gone_upstream_stays_as_it_is(home: Path, upstream: Path) -> None:
    ingest(home, upstream, "--all", "--confirm")
    old = current(home)
    shutil.rmtree(upstream / "skills" / "word-count")
    commit(upstream)
    done = update(home, "--confirm")
    assert done.code != 0
    assert done.json["error_code"] == "unknown_artifact"
    assert current(home) == old


def test_what_is_not_in_the_vault_cannot_be_updated(home: Path) -> None:
    done = update(home)
    assert done.json["error_code"] == "not_vaulted"

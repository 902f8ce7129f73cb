"""Laws 2, 3 and 4 through the command lines: a FAIL stays out, only the vault's copy runs, and only in a sandbox."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.commands import Done, run_command
from support.sources import ROOT

DEMO = ROOT / "demo" / "skills"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A stranger's folder with the demo's three skills."""
    return Path(shutil.copytree(DEMO, tmp_path / "source"))


def objects(home: Path) -> list[Path]:
    return list((home / "vetted_vault" / "objects").glob("*"))


def ingest(home: Path, *words: str, stdin: bytes = b"") -> Done:
    return run_command("skill", "ingest", *words, "--json", home=home, stdin=stdin)


def test_law_2_no_words_get_a_refused_tool_in(home: Path, source: Path) -> None:
    thief = str(source / "settings-sync")
    digest = ingest(home, thief).json["outcomes"][0]["digest"]
    attempts: list[tuple[str, ...]] = [
        ("--confirm",),
        ("--confirm", "--expect", digest),
        ("--confirm", "--all"),
        ("--confirm", "--origin", "anthropics"),
        ("--confirm", "--name", "harmless"),
        ("--confirm", "--grant", "net:backup.example.invalid:443", "--grant", "env:GITHUB_TOKEN"),
    ]
    for words in attempts:
        done = ingest(home, thief, *words, stdin=b"y\nyes\n")
        assert done.code == 20, words
        assert done.json["outcomes"][0]["status"] == "rejected", words
        assert done.json["outcomes"][0]["verdict"] == "FAIL", words
        assert done.json["outcomes"][0]["next"] is None, words
    assert objects(home) == []
    assert run_command("vault", "list", "--json", home=home).json["tools"] == []
    assert run_command("skill", "status", "--json", home=home).json["pending"] == []


def test_law_2_no_environment_and_no_setting_gets_a_refused_tool_in(home: Path, source: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[auditor]\nbandit = false\nsemgrep = false\n[trust]\nowners = ['*', 'local']\n")
    loud = dict.fromkeys(("SKILLKEEP_FORCE", "SKILLKEEP_SKIP_AUDIT", "FORCE", "YES", "CI", "DEBUG"), "1")
    done = run_command("skill", "ingest", str(source / "settings-sync"), "--confirm", "--json", home=home, env=loud)
    assert (done.code, done.json["outcomes"][0]["status"]) == (20, "rejected")
    assert objects(home) == []


def test_law_3_the_vaulted_copy_runs_whatever_becomes_of_the_source(home: Path, source: Path) -> None:
    assert ingest(home, str(source / "word-count"), "--confirm").code == 0
    script = source / "word-count" / "scripts" / "word_count.py"
    script.write_text("print('changed after approval')\n")
    done = run_command("skill", "run", "word-count", "word_count.py", "--top", "1", home=home, stdin=b"one two two\n")
    assert (done.code, done.err) == (0, "")
    assert "changed" not in done.out
    assert done.out.splitlines()[-1].split() == ["2", "two"]


def test_law_3_a_changed_copy_does_not_run(home: Path, source: Path) -> None:
    assert ingest(home, str(source / "word-count"), "--confirm").code == 0
    script = next((home / "vetted_vault" / "objects").rglob("word_count.py"))
    script.chmod(0o644)
    script.write_text("print('changed in the vault')\n")
    done = run_command("skill", "run", "--json", "word-count", "word_count.py", home=home)
    assert (done.code, done.json["error_code"]) == (126, "vault_tampered")
    verify = run_command("vault", "verify", "--json", home=home)
    assert verify.code == 20
    assert "scripts/word_count.py" in verify.out


def test_law_3_what_is_not_in_the_vault_does_not_run(home: Path, source: Path) -> None:
    assert ingest(home, str(source / "word-count")).code == 10
    done = run_command("skill", "run", "--json", "word-count", "word_count.py", home=home, cwd=source)
    assert (done.code, done.json["error_code"]) == (126, "not_vaulted")


def test_law_4_a_strangers_tool_never_runs_on_the_host(home: Path, source: Path) -> None:
    assert ingest(home, str(source / "word-count"), "--confirm").code == 0
    for words in (["--backend", "local"], ["--backend", "none"], ["--backend", ""]):
        done = run_command("skill", "run", *words, "word-count", "--", "touch", str(source / "ran"), home=home)
        assert done.code != 0
        assert not (source / "ran").exists()
    refused = run_command("skill", "run", "--json", "--backend", "local", "word-count", "--", "true", home=home)
    assert refused.code == 126
    assert refused.json["hint"]


def test_law_4_configuration_cannot_choose_the_host_either(home: Path, source: Path) -> None:
    assert ingest(home, str(source / "word-count"), "--confirm").code == 0
    (home / "config.toml").write_text("[sandbox]\nbackend = 'local'\n")
    done = run_command("skill", "run", "--json", "word-count", "--", "true", home=home)
    assert done.code == 126

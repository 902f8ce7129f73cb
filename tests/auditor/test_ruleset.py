"""The rules' documents are kept as JSON beside them, and count only while they are those of the YAML."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from skillkeep.auditor import ruleset
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.rulebook import Rulebook
from skillkeep.auditor.ruleset import RULES_FOLDER, Ruleset


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "tables").mkdir()
    (tmp_path / "a.yaml").write_text("rules: []\n")
    (tmp_path / "tables" / "t.yaml").write_text("some: [1, 2]\n")
    return tmp_path


def _kept(folder: Path) -> Path:
    (place,) = (folder / "__pycache__").iterdir()
    return place


def _read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Ruleset, list[str]]:
    """The rules, and the YAML that had to be read for two documents."""
    parsed: list[str] = []
    real = ruleset.load_yaml
    with monkeypatch.context() as patch:
        patch.setattr(ruleset, "load_yaml", lambda text: (parsed.append(text), real(text))[1])
        found = Ruleset.read(folder).kept(folder)
        assert found.document("a.yaml") == {"rules": []}
        assert isinstance(found.document("tables/t.yaml"), dict)
    return found, parsed


def test_the_second_start_reads_no_yaml(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, parsed = _read(folder, monkeypatch)
    assert len(parsed) == 2
    again, parsed = _read(folder, monkeypatch)
    assert (parsed, again.digest) == ([], first.digest)


def test_kept_documents_of_other_rules_are_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _read(folder, monkeypatch)
    (folder / "tables" / "t.yaml").write_text("some: [1, 3]\n")
    changed, parsed = _read(folder, monkeypatch)
    assert len(parsed) == 2
    assert changed.document("tables/t.yaml") == {"some": [1, 3]}
    assert _read(folder, monkeypatch)[1] == []


def test_damaged_documents_and_those_that_others_may_write_are_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _read(folder, monkeypatch)
    place = _kept(folder)
    whole = place.read_bytes()
    place.write_bytes(whole.replace(b"some", b"none"))
    assert len(_read(folder, monkeypatch)[1]) == 2
    assert place.read_bytes() == whole
    place.chmod(0o666)
    assert len(_read(folder, monkeypatch)[1]) == 2
    place.unlink()
    os.symlink("/dev/null", place)
    assert len(_read(folder, monkeypatch)[1]) == 2


def test_what_json_would_change_is_read_as_yaml_every_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "tables" / "t.yaml").write_text("1: [2]\n")
    _read(folder, monkeypatch)
    again, parsed = _read(folder, monkeypatch)
    assert parsed == ["1: [2]\n"]
    assert again.document("tables/t.yaml") == {1: [2]}


def test_nothing_is_kept_where_python_keeps_no_bytecode(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _read(folder, monkeypatch)
    assert not (folder / "__pycache__").exists()


def test_kept_documents_are_no_part_of_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    shutil.copytree(RULES_FOLDER, tmp_path / "rules", ignore=shutil.ignore_patterns("__pycache__"))
    book = Rulebook.of(Ruleset.read(tmp_path / "rules").kept(tmp_path / "rules"))
    assert book.digest == Ruleset.read(tmp_path / "rules").digest == Rulebook.load(RULES_FOLDER).digest
    assert book.rules == Rulebook.load().rules


def test_yaml_that_cannot_be_used_is_a_typed_error(folder: Path) -> None:
    (folder / "a.yaml").write_text("rules: &x []\n")
    with pytest.raises(AuditError) as caught:
        Ruleset.read(folder).document("a.yaml")
    assert caught.value.code == "bad_yaml"

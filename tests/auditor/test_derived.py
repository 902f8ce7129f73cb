"""What is derived from the rules is made once, kept with their digest, and made again for other rules."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skillkeep.auditor import ruleset
from skillkeep.auditor.ruleset import Ruleset


def _kept_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "__pycache__").mkdir()
    monkeypatch.setattr(ruleset, "RULES_FOLDER", folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def test_what_is_kept_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _kept_in(tmp_path, monkeypatch)
    rules = Ruleset({"a.yaml": b"a: 1\n"})
    assert rules.lacks("x")
    assert rules.derived("x", lambda: ["made"]) == ["made"]
    assert rules.derived("x", lambda: ["again"]) == ["made"]


def test_for_other_rules_and_for_a_changed_file_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _kept_in(tmp_path, monkeypatch)
    rules, others = Ruleset({"a.yaml": b"a: 1\n"}), Ruleset({"a.yaml": b"a: 2\n"})
    rules.derived("x", lambda: ["made"])
    assert others.derived("x", lambda: ["again"]) == ["again"]
    (kept,) = (tmp_path / "__pycache__").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b"again", b"wrong"))
    assert others.derived("x", lambda: ["again"]) == ["again"]

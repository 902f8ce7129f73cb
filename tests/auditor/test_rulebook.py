"""The rules load strictly, and their digest follows every byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from skillkeep.auditor.engines import file_engines
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.rulebook import RULES_FOLDER, Rulebook, default_rulebook

RULE = """rules:
  - id: test-rule
    title: A title long enough
    severity: fail
    confidence: high
    category: execution
    contexts: [python]
    patterns: ['evil']
    why: Because it is only a test.
    fix: Remove the evil part.
    bad: ["evil\\n"]
    good: ["kind\\n"]
    evasion: ["an evil twin\\n"]
    references: [CWE-506]
"""


def _load(tmp_path: Path, text: str) -> Rulebook:
    (tmp_path / "a.yaml").write_text(text)
    return Rulebook.load(tmp_path)


def test_a_rule_is_one_entry(tmp_path: Path) -> None:
    book = _load(tmp_path, RULE)
    assert book.rule("test-rule").patterns == ("evil",)
    book.check()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    fix: Remove the evil part.\n", ""),
        ("severity: fail", "severity: loud"),
        ("contexts: [python]", "contexts: [cobol]"),
        ("id: test-rule", "id: Test_Rule"),
        ("    bad:", "    surprise: 1\n    bad:"),
        ('    good: ["kind\\n"]\n', ""),
        ("    contexts: [python]\n", ""),
        ("category: execution", "category: execution\n    category: egress"),
        ("category: execution", "category: execution\n    when_declared: no-such-rule"),
    ],
)
def test_an_entry_that_does_not_fit_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in RULE
    with pytest.raises(AuditError) as caught:
        _load(tmp_path, RULE.replace(old, new))
    assert caught.value.code in {"bad_rule", "bad_yaml"}


@pytest.mark.parametrize("pattern", ["(?=x)", "(a)\\1", "a{2000}", "x*", "("])
def test_a_pattern_that_is_not_linear_or_matches_nothing_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(AuditError) as caught:
        _load(tmp_path, RULE.replace("evil'", f"{pattern}'")).check()
    assert caught.value.code == "bad_rule"


@pytest.mark.parametrize("line", ['    evasion: ["an evil twin\\n"]\n', "    references: [CWE-506]\n"])
def test_a_rule_without_an_evasion_or_a_reference_is_not_finished(tmp_path: Path, line: str) -> None:
    assert line in RULE
    with pytest.raises(AuditError) as caught:
        _load(tmp_path, RULE.replace(line, "")).check()
    assert caught.value.code == "bad_rule"


def test_two_rules_with_one_id_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(RULE)
    with pytest.raises(AuditError):
        _load(tmp_path, RULE)


def test_the_digest_follows_every_byte_of_every_rule(tmp_path: Path) -> None:
    shutil.copytree(RULES_FOLDER, tmp_path / "rules")
    before = Rulebook.load(tmp_path / "rules").digest
    assert before == default_rulebook().digest
    table = tmp_path / "rules" / "tables" / "tree.yaml"
    table.write_text(table.read_text() + "# x\n")
    assert Rulebook.load(tmp_path / "rules").digest != before


def test_every_engine_named_by_a_rule_exists() -> None:
    known = {engine.name for engine in file_engines()}
    known |= {"audit", "verdict", "code", "bandit", "semgrep", "decoders", "rubric"}
    assert {rule.engine for rule in default_rulebook().rules.values()} <= known


def test_an_unknown_rule_is_a_typed_error() -> None:
    with pytest.raises(AuditError) as caught:
        default_rulebook().rule("no-such-rule")
    assert caught.value.code == "unknown_rule"

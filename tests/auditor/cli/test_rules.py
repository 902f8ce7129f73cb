"""`auditor rules` and `auditor explain`: what is listed, and that every page is whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import run_command

from skillkeep.auditor.explain import page
from skillkeep.auditor.references import address_of, references_of
from skillkeep.auditor.rulebook import Rule, default_rulebook

RULES = list(default_rulebook().rules.values())


def test_rules_are_listed_by_category_and_severity(tmp_path: Path) -> None:
    done = run_command("auditor", "rules", "--category", "credentials", "--severity", "fail", "--json", home=tmp_path)
    assert done.json["rules"]
    assert {(each["category"], each["severity"]) for each in done.json["rules"]} == {("credentials", "fail")}
    ranks = [{"fail": 0, "warn": 1, "info": 2}[row.split()[1]] for row in _rows(tmp_path, "--category", "execution")]
    assert ranks == sorted(ranks)


def _rows(home: Path, *words: str) -> list[str]:
    return run_command("auditor", "rules", *words, home=home).out.splitlines()[1:]


def test_a_category_that_no_rule_has_is_a_usage_error_that_names_those_there_are(tmp_path: Path) -> None:
    done = run_command("auditor", "rules", "--category", "credential", "--json", home=tmp_path)
    assert (done.code, done.json["error_code"]) == (2, "usage")
    assert "credentials" in done.json["hint"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_page_says_why_how_to_fix_it_and_what_it_refers_to(rule: Rule) -> None:
    text = page(rule)
    assert all(f"\n\n{section}\n" in text for section in ("Why", "Fix", "References"))
    references = references_of(rule)
    assert any(each.startswith("OWASP AST") for each in references)
    assert [each for each in references if not address_of(each).startswith("https://")] == []

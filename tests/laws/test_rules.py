"""Every rule explains itself and is proven: by its own examples, which the suite runs, or by a test of its own."""

from __future__ import annotations

from support.sources import ROOT

from skillkeep.auditor.rulebook import default_rulebook

RULES = tuple(default_rulebook().rules.values())
# A rule that stands in for another one when the tool declares what it does is shown by that other rule's examples.
STAND_INS = {rule.when_declared for rule in RULES}


def test_there_are_rules() -> None:
    assert len(RULES) > 50


def test_a_rule_says_why_it_is_there_and_what_to_do() -> None:
    assert [rule.id for rule in RULES if rule.why in {rule.fix, rule.title}] == []


def test_a_rule_with_an_example_that_it_finds_has_one_that_it_leaves_alone() -> None:
    assert [rule.id for rule in RULES if bool(rule.bad) != bool(rule.good)] == []


def test_a_rule_that_no_text_can_show_is_shown_by_a_test() -> None:
    """A rule about links, names, sizes or the audit itself needs more than a text; some test names it."""
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    unproven = [rule.id for rule in RULES if not rule.bad and rule.id not in STAND_INS and rule.id not in tests]
    assert unproven == []

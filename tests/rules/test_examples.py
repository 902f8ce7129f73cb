"""Every rule finds its bad and evasive examples and leaves its good ones alone, through the real engines."""

from __future__ import annotations

import pytest
from support.audited import files_of, rules_found

from skillkeep.auditor.rulebook import Example, Rule, RulePatterns, default_rulebook

RULES: list[Rule | RulePatterns] = [
    *sorted(default_rulebook().rules.values(), key=lambda rule: rule.id),
    *default_rulebook().more,
]


def _cases(*kinds: str) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.reports}-{place}-{kind}{number}")
        for place, rule in enumerate(RULES)
        for kind in kinds
        for number, example in enumerate(getattr(rule, kind))
    ]


@pytest.mark.parametrize(("rule", "example"), _cases("bad", "evasion"))
def test_a_rule_finds_what_it_is_for(rule: Rule | RulePatterns, example: Example | str) -> None:
    assert rule.reports in rules_found(tuple(files_of(rule, example).items()))


@pytest.mark.parametrize(("rule", "example"), _cases("good"))
def test_a_rule_leaves_the_harmless_twin_alone(rule: Rule | RulePatterns, example: Example | str) -> None:
    assert rule.reports not in rules_found(tuple(files_of(rule, example).items()))


def test_ids_are_unique_and_every_rule_has_a_page_to_show() -> None:
    ids = [rule.id for rule in default_rulebook().rules.values()]
    assert len(ids) == len(set(ids)) > 100
    assert all(rule.why and rule.fix for rule in default_rulebook().rules.values())


def test_every_pattern_compiles_and_none_matches_the_empty_text() -> None:
    default_rulebook().check()

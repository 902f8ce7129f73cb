"""Every rule finds its bad and evasive examples and leaves its good ones alone, through the real engines."""

from __future__ import annotations

import pytest
from support.audited import files_of, rules_found

from skillkeep.auditor.rulebook import Example, Rule, default_rulebook

RULES = sorted(default_rulebook().rules.values(), key=lambda rule: rule.id)


def _cases(*kinds: str) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.id}-{kind}{number}")
        for rule in RULES
        for kind in kinds
        for number, example in enumerate(getattr(rule, kind))
    ]


@pytest.mark.parametrize(("rule", "example"), _cases("bad", "evasion"))
def test_a_rule_finds_what_it_is_for(rule: Rule, example: Example | str) -> None:
    assert rule.id in rules_found(tuple(files_of(rule, example).items()))


@pytest.mark.parametrize(("rule", "example"), _cases("good"))
def test_a_rule_leaves_the_harmless_twin_alone(rule: Rule, example: Example | str) -> None:
    assert rule.id not in rules_found(tuple(files_of(rule, example).items()))


def test_every_pattern_rule_shows_an_evasion_or_is_informational() -> None:
    assert all(rule.bad and rule.good for rule in RULES if rule.patterns)

"""Wider patterns that filters are made of: they match all that a pattern does, and say as much of its literals."""

from __future__ import annotations

import pytest
import re2

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.patterns import PatternSet
from skillkeep.auditor.prefilter import widened
from skillkeep.auditor.rulebook import default_rulebook


@pytest.mark.parametrize(
    ("pattern", "wider"),
    [
        ("a.{0,800}b", "a.*b"),
        ("a.{0,800}?b", "a.*?b"),
        ("a[^;]{1,60}b", "a[^;]+b"),
        ("(?:ab){3,90}", "(?:ab){3,}"),
        ("a{2,4}b{7}c{5,}", "a{2,4}b{7}c{5,}"),
        (r"a\{0,90}b", r"a\{0,90}b"),
        ("[a{0,90}]", "[a{0,90}]"),
        ("[]a{0,90}]{0,90}", "[]a{0,90}]*"),
        ("[^][:alpha:]{0,90}]x", "[^][:alpha:]{0,90}]x"),
        (r"[\]{0,90}]", r"[\]{0,90}]"),
    ],
)
def test_repetitions_lose_their_upper_end_outside_of_classes(pattern: str, wider: str) -> None:
    assert widened(pattern) == wider
    re2.compile(wider)


def test_the_filter_of_all_rules_lets_through_what_the_filter_of_their_own_patterns_would() -> None:
    rules = default_rulebook().rules.values()
    patterns = list(dict.fromkeys(pattern for rule in rules for pattern in rule.patterns))
    own = re2.Filter()
    for pattern in patterns:
        own.Add(b"(?m)" + pattern.encode())
    own.Compile()
    ours = PatternSet(patterns)
    texts = [example.encode() for rule in rules for example in (*rule.bad, *rule.good) if isinstance(example, str)]
    assert len(texts) > 100
    for text in texts:
        assert ours.candidates(text) == sorted(own.Match(text, True) or [])


def test_what_only_the_whole_pattern_breaks_is_refused_where_it_is_looked_for() -> None:
    patterns = PatternSet(["needle(?:x.{0,900}){0,900}"])
    assert patterns.candidates(b"hay") == []
    with pytest.raises(AuditError) as caught:
        patterns.occurs(0, b"needle")
    assert caught.value.code == "bad_rule"

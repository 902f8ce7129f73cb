"""Wider patterns that filters are made of: they match all that a pattern does, and say as much of its literals."""

from __future__ import annotations

import pytest
import re2

from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.patterns import PatternSet, SievedSet, forget_compiled
from skillkeep.auditor.prefilter import pieces, widened
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
        list(patterns.find(0, b"needle"))
    assert caught.value.code == "bad_rule"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(?i)open[^\\n]{0,80}write", ["(?i)write"]),
        ("abc|a.{0,9}bcd", ["abc", "bcd"]),
        (r"\bfoo[ \t]{0,9}\([^)]*bar\b", [r"\bfoo[ \t]*\("]),
        ("(?:x|y.{0,90}z)uvw", ["uvw"]),
        ("xyz.{0,3}uvw", ["xyz.{0,3}uvw"]),
        ("xy?z{2,90}", ["xy?z{2,}"]),
        (r"[.*]{9}\{2,90}x", [r"[.*]{9}\{2,90}x"]),
        (r"crontab\z", [r"crontab(?:\z|\n)"]),
        ("(?:ab.{0,90}){8}", None),
        ("abc|.{0,90}", None),
        ("abc|(?i)def", None),
        (r"\Qabc\E", None),
    ],
)
def test_what_stands_between_wide_repetitions_is_a_piece(pattern: str, expected: list[str] | None) -> None:
    assert pieces(pattern) == expected
    for piece in expected or ():
        re2.compile(piece)


def test_a_sieve_lets_every_pattern_through_that_matches_and_few_others() -> None:
    rules = default_rulebook().rules.values()
    acts = [pattern for each in table("acts")["acts"].values() for pattern in each]
    patterns = list(dict.fromkeys([*acts, *(pattern for rule in rules for pattern in rule.patterns)]))
    sieve, literals = SievedSet(patterns), PatternSet(patterns)
    through = by_literals = matching = 0
    for rule in rules:
        for example in (*rule.bad, *rule.good, *rule.evasion):
            text = f"x\n{example}\ny".encode()
            found = sieve.candidates(text)
            there = [index for index in range(len(patterns)) if any(sieve.find(index, text, 1))]
            assert set(there) <= set(found), example
            through, by_literals = through + len(found), by_literals + len(literals.candidates(text))
            matching += len(there)
    assert matching > 1000
    assert through < 0.6 * by_literals


def test_a_sieve_takes_the_line_feeds_of_a_longer_text_for_the_ends_of_its_parts() -> None:
    sieve = SievedSet([r"\Acrontab -\z", "none"])
    assert sieve.candidates(b"before\ncrontab -\nafter") == [0]
    assert sieve.candidates(b"crontab -r") == []


def test_a_wider_pattern_decides_where_to_look_and_never_what_is_found() -> None:
    patterns = PatternSet(["curl[^\n]{0,12}\\| *sh", "a{2,9}b"])
    assert patterns.occurs(0, b"curl x | sh")
    assert patterns.occurs(0, b"curl " + b"x" * 40 + b"| sh")
    assert not patterns.occurs(0, b"curl x\n| sh")
    assert not list(patterns.find(0, b"curl " + b"x" * 40 + b"| sh"))
    assert [(hit.start, hit.end) for hit in patterns.find(0, b"run curl x | sh")] == [(4, 15)]
    assert [(hit.start, hit.end) for hit in patterns.find(1, b"ab aab " + b"a" * 12 + b"b")] == [(3, 6), (10, 20)]


def test_patterns_that_were_forgotten_are_found_again() -> None:
    patterns = PatternSet([r"key=[a-z]{3,20}", "token"])
    data = b"key=abcdef token"
    before = [list(patterns.find(index, data)) for index in range(2)]
    assert patterns._regexps
    forget_compiled()
    assert not patterns._regexps
    assert [list(patterns.find(index, data)) for index in range(2)] == before


def test_what_a_sieve_told_of_a_text_is_told_again_also_when_much_else_was_asked_for() -> None:
    sieve = SievedSet([r"curl -\w", "none"])
    asked = [b"curl -s", b"none", b"", b"curl -s"]
    assert [sieve.candidates(text) for text in asked] == [[0], [1], [], [0]]
    sieve.candidates(b"none").append(7)
    for number in range(2_001):
        sieve.candidates(b"curl -%d" % number)
    assert [sieve.candidates(text) for text in asked] == [[0], [1], [], [0]]

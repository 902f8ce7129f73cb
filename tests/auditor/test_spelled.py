"""What patterns spell, and the candidates that are found by it: never one too few."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.auditor.patterns import PatternSet, forget_compiled
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.auditor.spelled import SpelledSet, _spellings
from skillkeep.auditor.spelling import EDGE, Spelling, spelling

PATTERNS = list(default_rulebook().compiled.patterns.spelled)
EXAMPLES = sorted(
    {
        each if isinstance(each, str) else each.text
        for rule in default_rulebook().rules.values()
        for each in (*rule.bad, *rule.evasion, *rule.good)
    }
)


@pytest.fixture(scope="module")
def spelled() -> SpelledSet:
    return SpelledSet(PATTERNS)


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        ("curl", [["curl"]]),
        (r"(?i)\bRM[ \t]+-rf\b", [[f"{EDGE}rm\t", f"{EDGE}rm "], ["\t-rf" + EDGE, " -rf" + EDGE]]),
        (r"a(?:b|c)d[^\n]{0,20}(?:xy|\.z)", [["abd", "acd"], [".z", "xy"]]),
        ("(?:one|two)?three", [["three"]]),
        ("x{2}y{1,3}", [["xxy"], ["y"]]),
        (r"(?i)é\x41[.][\w]+", [["a."]]),
        (r"\Qa.b\E", []),
        (r"(?:a|\w+)", []),
        ("(?=a)b", []),
    ],
)
def test_a_pattern_tells_what_each_match_spells(pattern: str, groups: list[list[str]]) -> None:
    assert [sorted(group) for group in spelling(pattern).groups] == [sorted(group) for group in groups]


@pytest.mark.parametrize(
    ("pattern", "longest", "breaks"),
    [
        ("ab[^\\n]{0,8}c", 35, False),
        ("ab[^.]{1,2}c", 11, True),
        (r"a\s*b", 0, True),
        (r"a[^\\n]b", 6, True),
        (r"a[^\s,]b", 6, False),
        (r"(?s)a.b", 6, True),
        (r"(?:a[\t-x]|[[:space:]])", 5, True),
        (r"a[\w.-]*\pL", 0, False),
        ("a[^b\\n]+\n", 0, True),
    ],
)
def test_a_pattern_tells_how_far_its_matches_reach(pattern: str, longest: int, breaks: bool) -> None:
    found = spelling(pattern)
    assert (found.longest, found.breaks) == (longest, breaks)


def test_what_is_kept_is_what_the_patterns_spell() -> None:
    kept = _spellings()
    for pattern in PATTERNS:
        rare, others, longest, breaks = kept[pattern]
        found = spelling(pattern)
        told = [{text.replace(EDGE, "") for text in group} for group in found.groups]
        shown = [{text.replace(EDGE, "") for text in rare}, *map(set, others)]
        assert sorted(map(sorted, shown if rare else ())) == sorted(map(sorted, told))
        assert (longest, breaks) == (found.longest, found.breaks)


def test_all_but_few_of_the_rules_patterns_spell_something() -> None:
    assert sum(not spelling(pattern).groups for pattern in PATTERNS) <= 3
    assert spelling("(a") == Spelling((), 0, breaks=True)


@pytest.mark.parametrize("before", ["", "word "])
@pytest.mark.parametrize("after", ["", " ſ"])
def test_what_matches_in_an_example_of_a_rule_is_a_candidate(spelled: SpelledSet, before: str, after: str) -> None:
    for text in EXAMPLES:
        data = f"{before}{text}{after}".encode()
        matching = [index for index in range(len(PATTERNS)) if any(True for _ in spelled.find(index, data, 1))]
        assert set(matching) <= set(spelled.candidates(data)), text


WORDS = st.sampled_from(["curl", "rm", " ", "-rf", "\n", "x", "ſ", "K", "é", "_", "https://", "|", "sh", "never", "."])
SMALL = [r"\brm[ \t]+-rf\b", r"(?i)\bcurl\b[^\n]{0,9}\|[ \t]*sh\b", r"(?i)\bsh|never[^.]{0,12}rm", r"(?i)x\.K?k"]


@given(st.lists(WORDS, max_size=30).map("".join))
def test_no_match_is_missed_whatever_stands_around_it(text: str) -> None:
    data, ours = text.encode(), SpelledSet(SMALL)
    matching = {index for index in range(len(SMALL)) if any(True for _ in ours.find(index, data, 1))}
    assert matching <= set(ours.candidates(data))


def test_far_fewer_are_candidates_than_by_the_filter_of_re2() -> None:
    patterns = [r"\bnever\b[^\n]{0,20}\brm\b", r"\bcurl\b[^\n]{0,20}\|"]
    data = b"never mind\nthe farm | curls\nrm -rf\n"
    assert SpelledSet(patterns).candidates(data) == []
    assert PatternSet(patterns).candidates(data) == [0, 1]


def test_a_text_full_of_what_is_looked_for_is_left_to_the_filter_of_re2() -> None:
    patterns = [r"\bcurl\b[^\n]{0,20}\|", "wget"]
    ours = SpelledSet(patterns)
    assert ours.candidates(b"curl x\n" * 9_000) == PatternSet(patterns).candidates(b"curl x\n" * 9_000)
    long_line = b"x" * 5_000 + b" curl | sh" + b"x" * 5_000
    assert ours.candidates(long_line) == [0]
    forget_compiled()
    assert ours.candidates(b"wget\n") == [1]

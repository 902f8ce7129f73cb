"""Patterns match what re2's own interface for Python matches, though they go past it."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.patterns import Pattern, PatternSet

SPELLED = ("b", "(?P<first>a)|b", r"(?P<word>\w{2,3})(?P<end>\n)?", r"a*", r"^|1$", "(?:a|(b))+", "ä")


@given(st.text(alphabet="ab1ä \n", max_size=24))
def test_matches_and_their_groups_are_those_that_re2_gives(text: str) -> None:
    data, patterns = text.encode(), PatternSet(SPELLED)
    for index, spelled in enumerate(SPELLED):
        given_by_re2 = list(re2.compile(b"(?m)" + spelled.encode()).finditer(data))
        groups = [
            {name.decode(): span for name, number in each.re.groupindex.items() if (span := each.span(number))[0] >= 0}
            for each in given_by_re2
        ]
        hits = list(patterns.find(index, data, 99))
        assert [(hit.start, hit.end) for hit in hits] == [each.span() for each in given_by_re2]
        assert [hit.groups for hit in hits] == groups
        assert Pattern(spelled).spans(data, 99) == [each.span() for each in given_by_re2]
        assert patterns.occurs(index, data) is Pattern(spelled).occurs(data) is bool(given_by_re2)


def test_only_so_many_matches_are_looked_for() -> None:
    assert [hit.start for hit in PatternSet(["a"]).find(0, b"aaaa", 2)] == [0, 1]
    assert Pattern("a").spans(b"aaaa", 3) == [(0, 1), (1, 2), (2, 3)]


def test_what_re2_refuses_is_a_bad_rule_for_a_filter_and_for_a_pattern() -> None:
    for refused in (lambda: PatternSet(["(a"]).candidates(b""), lambda: Pattern("(a")):
        with pytest.raises(AuditError) as caught:
            refused()
        assert caught.value.code == "bad_rule"

"""YAML as plain data, and front matter as tolerant agents read it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.frontmatter import parse_frontmatter
from skillkeep.auditor.strict_yaml import load_yaml


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2",
        "x:\n  a: 1\n  a: 2",
        "a: &x 1\nb: *x",
        "a: &x 1",
        "a: !!python/object/apply:os.system [ls]",
        "a: !!binary aGk=",
        "a: !local x",
        "<<: {a: 1}",
        "? [a]\n: b",
        "a: b: c",
        "[" * 40 + "]" * 40,
        "a: " + "9" * 5000,
        "a: [1",
        "a: \x00",
        "--- 1\n--- 2",
    ],
)
def test_what_plain_data_does_not_need_is_refused(text: str) -> None:
    with pytest.raises(AuditError) as caught:
        load_yaml(text)
    assert caught.value.code == "bad_yaml"


def test_plain_data_is_read() -> None:
    assert load_yaml("a: [1, 2.5, yes, ~, x]\nb: {c: 'd'}\ne: 2026-01-01") == {
        "a": [1, 2.5, True, None, "x"],
        "b": {"c": "d"},
        "e": "2026-01-01",
    }


def test_a_large_text_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(AuditError):
        load_yaml("a: " + "x" * 100, max_bytes=50)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!?|>'\"#,\n \t0%@`~."), max_size=60))
def test_any_text_is_data_or_a_typed_error(text: str) -> None:
    with suppress(AuditError):
        load_yaml(text)


def test_front_matter_gives_its_fields_and_where_the_body_starts() -> None:
    front = parse_frontmatter(
        "---\nname: a\ndescription: |\n  x\n  y\nallowed-tools: Read, Bash(git status:*)\n---\n# A\n"
    )
    assert (front.name, front.description, front.body_line) == ("a", "x\ny", 8)
    assert front.allowed_tools == ("Read", "Bash(git status:*)")


@pytest.mark.parametrize("text", ["# A\n", "", "---", "--- x\n---\n", "\n---\nname: a\n---\n"])
def test_a_file_without_front_matter_has_none(text: str) -> None:
    front = parse_frontmatter(text)
    assert not front.present
    assert front.fields == {}


def test_a_broken_block_is_read_line_by_line_and_says_so() -> None:
    front = parse_frontmatter("---\nname: a\ndescription: Use when: x\n---\n# A\n")
    assert front.error
    assert front.fields == {"name": "a", "description": "Use when: x"}


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_front_matter_never_raises(text: str) -> None:
    front = parse_frontmatter("---\n" + text)
    assert front.body_line >= 1

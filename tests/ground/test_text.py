"""Text from a tool cannot move a cursor, hide or reorder anything once it is escaped."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.text import encodable, escape, printable_path, shorten


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b]52;c;cm0=\x07", "\\x1b]52;c;cm0=\\x07"),
        ("a\rb", "a\\rb"),
        ("a\nb", "a\\nb"),
        ("user\u202e\u2066admin", "user\\u202e\\u2066admin"),
        ("a\u200bb", "a\\u200bb"),
        ("\U000e0041", "\\U000e0041"),
        ("x\ufe0f", "x\\ufe0f"),
        ("\u3164", "\\u3164"),
        ("\xa0", "\\xa0"),
        ("\x9b31m", "\\x9b31m"),
        (b"\xff\xfeok", "\\xff\\xfeok"),
        ("plain ascii, ümläut, 漢字", "plain ascii, ümläut, 漢字"),
    ],
)
def test_dangerous_characters_are_shown_as_escapes(raw: str | bytes, shown: str) -> None:
    assert escape(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"), [("a\udcffb", "a\\xffb"), ("\ud83d", "\\ud83d"), ("\x1b ümläut 漢字 😀", "\x1b ümläut 漢字 😀")]
)
def test_what_no_encoding_takes_is_escaped_and_nothing_else(raw: str, shown: str) -> None:
    assert encodable(raw) == shown
    encodable(raw).encode()


@given(st.text() | st.binary())
def test_nothing_unprintable_is_left(raw: str | bytes) -> None:
    safe = escape(raw)
    assert all(unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for char in safe)
    safe.encode("utf-8")


def test_newlines_stay_only_when_asked_for() -> None:
    assert escape("a\n\tb\x1b", keep_newlines=True) == "a\n\tb\\x1b"


@given(st.text(), st.integers(1, 40))
def test_shortened_text_fits(raw: str, width: int) -> None:
    assert len(shorten(raw, width)) <= width


def test_an_empty_path_is_visible() -> None:
    assert printable_path("") == "(empty)"

"""What a command's output may do to a person's terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.runner.native.screen import Screen

KEPT = [
    b"plain text\r\n\ttabs\x07\x08",
    "ä 漢 🙂 ░".encode(),
    b"\x1b[1;38;5;196mred\x1b[0m\x1b[38:2::1:2:3m",
    b"\x1b[?1049h\x1b[2J\x1b[H\x1b[10;20H\x1b[K\x1b[?25l\x1b[?25h\x1b[?1049l",
    b"\x1b(0lqqk\x1b(B\x1b7\x1b8\x1b=\x1b>\x1bM\x1b#8",
    b"\x1b[?1000;1006h\x1b[?2004h\x1b[6n\x1b[c\x1b[>c\x1b[2 q\x1b[1;5r\x1b[!p\x1b[?2026$p",
]
DROPPED = {
    "clipboard": b"\x1b]52;c;cm0gLXJmIH4K\x07",
    "title": b"\x1b]0;rm -rf ~\x1b\\",
    "title of screen": b"\x1bkrm -rf ~\x1b\\",
    "link": b"\x1b]8;;https://evil.invalid\x1b\\",
    "working folder": b"\x1b]7;file:///etc\x07",
    "file for iTerm": b"\x1b]1337;File=name=eA==;inline=0:eA==\x07",
    "picture by path": b"\x1b_Gt=f,a=T;L2V0Yy9wYXNzd2Q=\x1b\\",
    "settings asked for": b"\x1bP$q\"p\x1b\\",
    "through tmux": b"\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\",
    "private message": b"\x1b^x\x1b\\",
    "start of string": b"\x1bXx\x1b\\",
    "title asked for": b"\x1b[21t",
    "window moved": b"\x1b[3;1;1t",
    "printing": b"\x1b[5i",
    "tab stops": b"\x1b[3g",
    "VT52": b"\x1b[?2l",
    "keyboard lock": b"\x1b[2h",
    "a good mode beside a bad one": b"\x1b[?25;2l",
    "132 columns": b"\x1b[?3h",
    "saved modes": b"\x1b[?1000s",
    "another alphabet": b"\x1b%@",
    "8-bit controls": b"\x1b G",
    "C1, UTF-8": "\x9d\x9b\x90".encode(),
    "C1, raw": b"\x9d\x9b\x90\x98\x9e\x9f",
    "half a letter": b"\xe2\x82",
    "NUL, ENQ, DEL": b"\0\x05\x7f",
    "endless numbers": b"\x1b[" + b"1;" * 200 + b"m",
    "string that never ends": b"\x1b]0;" + b"x" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("words", KEPT, ids=repr)
def test_what_fills_a_screen_is_shown_as_it_is_in_any_pieces(words: bytes) -> None:
    assert Screen().shown(words) == words
    screen = Screen()
    assert b"".join(screen.shown(bytes([byte])) for byte in words) == words


@pytest.mark.parametrize("name", DROPPED)
def test_what_does_more_than_show_is_left_out_in_any_pieces(name: str) -> None:
    words = DROPPED[name]
    if name != "endless numbers":  # of these the numbers are left, as text
        assert Screen().shown(b"a" + words + b"\x1b\\") in (b"a", b"a ")
    for step in (1, 2, 7):
        screen = Screen()
        parts = [screen.shown(words[at : at + step]) for at in range(0, len(words), step)]
        assert not {0x1B, *range(0x80, 0xA0)} & set(b"".join(parts))


def test_text_after_a_string_is_shown_again() -> None:
    assert Screen().shown(b"\x1b]0;x\x07one\x1bPx\x1b\\two\x1b]0;y\x1b[31mthree") == b"onetwo\x1b[31mthree"


@given(st.lists(st.sampled_from([*KEPT, *DROPPED.values(), b"\x1b", b"[", b"]", b"\\", b"?", b"5", b"t", b"\x9b"])))
def test_pieces_make_no_difference_and_nothing_hostile_is_put_together(pieces: list[bytes]) -> None:
    one, many = Screen(), Screen()
    whole = one.shown(b"".join(pieces))
    assert b"".join(many.shown(piece) for piece in pieces) == whole
    assert not any(bad in whole for bad in (b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX", b"\x1bk"))
    assert Screen().shown(whole) == whole  # nothing that was shown is the start of something else


def test_what_the_command_switched_is_switched_back() -> None:
    screen = Screen()
    assert (screen.shown(b"only text\n"), screen.restored()) == (b"only text\n", b"")
    screen.shown(
        b"\x1b[?1049;1000h\x1b[?25l\x1b[4h\x1b[?2004h\x1b[?2004l\x1b[?12h\x1b[2;5r\x1b[>1u\x1b[3 q\x1b[8m\x1b(0"
    )
    back = screen.restored()
    for each in (b"[?1049l", b"[?1000l", b"[?25h", b"[4l", b"7\x1b[r\x1b8", b"[<99u", b"[0 q", b"[0m", b"(B"):
        assert b"\x1b" + each in back
    assert b"2004" not in back
    assert b"[?12" not in back
    assert Screen().shown(back) == back

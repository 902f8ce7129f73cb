"""What of a command's output reaches a person's terminal: text, colours, cursor and screen, and nothing else.

A terminal does more than show. Strings (OSC, DCS, APC, PM, SOS) write the clipboard, open files by path, rename
windows, talk to multiplexers; some control sequences print, resize, or have the terminal type words that came
from outside. So known sequences are let through and all others are left out whole: between two
writes the terminal is never in the middle of one. Sources: ECMA-48, xterm's ctlseqs.
"""

from __future__ import annotations

import re

__all__ = ["Screen"]

_LONGEST = 128
_TOKEN = re.compile(
    rb"(?P<text>(?:[\x07-\x0f\x20-\x7e]|\xc2[\xa0-\xbf]|[\xc3-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    rb"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    rb"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+)"
    rb"|\x1b\[(?P<mark>[<-?]?)(?P<numbers>[0-9;:]*)(?P<middle>[ -/]*)(?P<final>[@-~])"
    rb"|(?P<string>\x1b[\]PX^_k])"
    rb"|(?P<escape>\x1b(?:[78=>DEMNOc]|[()*+][0-9A-Za-z<=>]|\#[3-68]))"
    rb"|\x1b\[[<-?]?[0-9;:]*[ -/]*|\x1b[ -/]*[0-~]?|[\x00-\xff]"
)
"""What is shown, what begins a string, and last what is left out: sequences unknown or broken, C0 and C1, no UTF-8."""
_STARTED = re.compile(
    rb"(?:\x1b(?:\[[<-?]?[0-9;:]*[ -/]*|[ -/]+)?|[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z"
)
_STRING_ENDS = re.compile(rb"[\x07\x18\x1a]|\x1b\\|\x1b(?=[^\\])")
_CONTROLS = frozenset(
    [*((b"", b"", bytes([final])) for final in b"ABCDEFGHIJKLMPSTXZ@`abcdefhlmnrsu"),
     (b"", b" ", b"q"), (b"", b"!", b"p"), (b"", b"$", b"p"), (b">", b"", b"c"), (b">", b"", b"m"), (b">", b"", b"u"),
     (b"<", b"", b"u"), (b"=", b"", b"u"), (b"?", b"$", b"p"), *((b"?", b"", bytes([final])) for final in b"JKhlnu")]
)  # fmt: skip
"""Mark, middle and last byte of what draws, moves, switches a mode, or asks what kind of terminal it is and where the
cursor stands. Not: window operations and titles (t), printing (i), tab stops (g), saving modes (?s, ?r)."""
_MODES = {
    b"": frozenset({4}),
    b"?": frozenset({1, 5, 6, 7, 9, 12, 25, 45, 47, 66, 69, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1034,
                     1036, 1039, 1047, 1048, 1049, 2004, 2026, 2027, 2031}),
}  # fmt: skip
"""Not the keyboard's lock (2), VT52 (?2), which is another language, nor what resizes (?3, ?40)."""
_ON_AT_FIRST = frozenset({b"?7", b"?25"})
_OF_THE_PERSON = frozenset({b"?12", b"?45", b"?1007", b"?1034", b"?1036", b"?1039", b"?1048"})
"""What these were before is not known: they stay."""
_BACK = {
    b"r": b"\x1b7\x1b[r\x1b8", b" q": b"\x1b[0 q", b">m": b"\x1b[>4m", b">u": b"\x1b[<99u", b"=u": b"\x1b[=0u",
}  # fmt: skip
_PLAIN = b"\x0f\x1b(B\x1b[0m\x1b>"


class Screen:
    """The filter of one command's terminal."""

    def __init__(self) -> None:
        self._left = b""
        self._in_string = False
        self._changed: dict[bytes, bytes] = {}

    def shown(self, data: bytes) -> bytes:
        """What may be shown now of what the command wrote; the start of a sequence waits for its end."""
        data, self._left = self._left + data, b""
        found: list[bytes] = []
        at = 0
        while at < len(data):
            if self._in_string:
                if (end := _STRING_ENDS.search(data, at)) is None:
                    self._left = b"\x1b" if data.endswith(b"\x1b") else b""
                    break
                self._in_string = False
                at = end.end() - (end[0] == b"\x1b")  # another escape ends it too, and is one
                continue
            if len(data) - at < _LONGEST and _STARTED.match(data, at):
                self._left = data[at:]
                break
            token = _TOKEN.match(data, at)
            assert token is not None
            at = token.end()
            self._in_string = token["string"] is not None
            if token["text"] or token["escape"] or (token["final"] and self._allows(token)):
                found.append(token[0])
                if not token["text"] or b"\x0e" in token["text"]:
                    self._changed.setdefault(b"", _PLAIN)
        return b"".join(found)

    def restored(self) -> bytes:
        """What makes it the person's again: what the command switched is switched back."""
        return b"".join(self._changed[name] for name in sorted(self._changed, reverse=True))

    def _allows(self, token: re.Match[bytes]) -> bool:
        mark, middle, final = token["mark"], token["middle"], token["final"]
        if (mark, middle, final) not in _CONTROLS or len(token[0]) > _LONGEST:
            return False
        if final in (b"h", b"l"):
            numbers = [int(number) if number.isdigit() else -1 for number in token["numbers"].split(b";")]
            if not _MODES[mark].issuperset(numbers):
                return False
            for number in numbers:
                self._switch(b"%s%d" % (mark, number), on=final == b"h")
        name = mark + middle + final
        if name in _BACK:
            self._changed[name] = _BACK[name]
        return True

    def _switch(self, mode: bytes, *, on: bool) -> None:
        self._changed.pop(mode, None)
        if on is not (mode in _ON_AT_FIRST) and mode not in _OF_THE_PERSON:
            self._changed[mode] = b"\x1b[%s%s" % (mode, b"l" if on else b"h")

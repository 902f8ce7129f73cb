"""What code says in words: its long texts, its comments of any language, and lines of words wherever they stand.

An agent that reads a script, a template or a page's source reads all of that. No grammar is asked: quotes and signs of
comments differ between languages and can be written so that one reader takes for code what another takes for words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.described import described

__all__ = ["asides", "is_prose"]

_TEXTS: Final = compiled(
    r"\"\"\"(.{30,4000}?)\"\"\"|'''(.{30,4000}?)'''"
    r"|\"((?:[^\"\n\\]|\\[^\n]){30,4000}+)\"|'([^'\n]{30,2000})'|`([^`]{30,4000})`",
    re.DOTALL,
)
_WORDY: Final = compiled(r"(?<![A-Za-z'])(?:[A-Za-z']{2,}[ ,]+){5}|[\u3040-\u9fff]{8}")
_SPREAD: Final = compiled(  # the same, over short lines of a comment, or elements
    r"(?<![A-Za-z'])(?:[A-Za-z']{2,}+(?:[ ,]+|[ ,.:]*\n[ \t]*(?:#+|//+|\*+|--+|;+|%+|(?i:rem)\b|')[ \t]+"
    r"|[ ,.:]*(?:</?\w{1,12}/?>\s*)+)){5}|[\u3040-\u9fff]{8}"
)
_SPREAD_IN_TEXT: Final = compiled(r"(?<![A-Za-z'])(?:[A-Za-z']{2,}+[ ,.:]*\s+){5}")
_GAPS: Final = 5
_PLAIN: Final = compiled(r"(?<!\S)[^\W\d_]{2,}[,.:;!?]?(?!\S)|[\u3040-\u9fff]{2}")
_LOOK: Final = 400
_FEW_WORDS: Final = 3
_SHORTEST: Final = 30
_NEAR, _FAR = 400, 2_000
_SIGN: Final = compiled(  # what a line of a comment, a quotation or an element begins with
    r"[ \t]*(?:(?:#+|//+|/\*+|\*+(?!\w)|--+(?:\[=*\[)?|;+|%+|<!--|<[#%]|\{[-#]|\(\*|(?i:rem)\b|::|[\"'!>|])[ \t]*"
    r"|(?:<[^<>\n]{0,200}>[ \t]*)+)?"
)
_GOES_ON: Final = compiled(r"[^\W\d_][^\n]* \S")
_ANY_WORD: Final = compiled(r"[^\W\d_]{2}")


def asides(code: str) -> Iterator[tuple[str, int, bool]]:
    """The texts and the lines of words in `code`, with the offset, and whether a text describes a tool."""
    starts, ends = list[int](), list[int]()
    for run, describes in described(code, _TEXTS.finditer(code)):
        inside = run[run.lastindex or 0].replace("\\n", "  ")
        gaps = inside.count(" ") + inside.count(",")  # five words have as many
        if (gaps >= _GAPS or not inside.isascii()) and (_WORDY.search(inside) or _is_spread(inside)):
            starts.append(run.start())
            ends.append(run.end())
            yield inside, run.start(), describes
    for start, end in _passages(code, starts, ends):
        yield _without_signs(code[start:end]), start, False


def _is_spread(text: str) -> bool:
    """True for a text of short lines of words."""
    return "\n" in text and _SPREAD_IN_TEXT.search(text) is not None


def is_prose(text: str) -> bool:
    """True when a third of the lines of a block read like sentences."""
    left = [line for line in text.split("\n") if line.strip()]
    missing = -(-len(left) // 3)  # lines like sentences
    while 0 < missing <= len(left):
        missing -= _is_wordy(left.pop())
    return not missing


def _is_wordy(line: str) -> bool:
    """True for a line of four words and more."""
    if line.isascii() and len(line.split(None, _FEW_WORDS)) <= _FEW_WORDS:
        return False
    return len(_PLAIN.findall(line[:_LOOK])) > _FEW_WORDS


def _passages(code: str, starts: list[int], ends: list[int]) -> Iterator[tuple[int, int]]:
    """Where lines of words are that follow each other, but for those in the texts from `starts` to `ends`.

    Of a longer line only what is near the words.
    """
    done = 0
    while found := _SPREAD.search(code, done):
        text = bisect_right(starts, found.start()) - 1
        if text >= 0 and ends[text] > found.start():
            done = ends[text]
            continue
        line = code.rfind("\n", done, found.start()) + 1 or done
        sign, _ = _sign(code, line)
        if "\n" in found[0] and not sign:  # code, and the comment below it
            done = code.find("\n", found.start()) + 1
            continue
        begin = max(_before(code, line, sign, done), found.start() - _NEAR)
        done = _after(code, sign, found.end())
        if done - begin >= _SHORTEST:
            yield begin, done


def _before(code: str, line: int, sign: str, least: int) -> int:
    """Where the `line` with its `sign` begins, or the one before when that is of the same comment or paragraph."""
    if line > least:
        begin = code.rfind("\n", least, line - 1) + 1 or least
        sign_before, words = _sign(code, begin)
        if sign_before == sign and _GOES_ON.match(code, words):
            return begin
    return line


def _after(code: str, sign: str, at: int) -> int:
    """Where the lines end that follow the one in which `at` is, in the same comment or paragraph, up to a limit."""
    end = _end_of_line(code, at)
    goes_on = _ANY_WORD if sign else _GOES_ON
    while end < min(len(code), at + _FAR):
        sign_after, words = _sign(code, end + 1)
        if sign_after not in (sign, "*") or not goes_on.match(code, words):
            break
        end = _end_of_line(code, words)
    return end


def _end_of_line(code: str, at: int) -> int:
    end = code.find("\n", at, at + _FAR)
    return end if end >= 0 else min(len(code), at + _FAR)


def _sign(code: str, line: int) -> tuple[str, int]:
    """What a line begins with before its words, and where these begin."""
    found = _SIGN.match(code, line)
    return (found[0].strip(), found.end()) if found else ("", line)


def _without_signs(text: str) -> str:
    """The same with blanks in the place of the signs that lines begin with."""
    lines = text.split("\n")
    sizes = [_sign(line, 0)[1] for line in lines]
    return "\n".join(" " * size + line[size:] for line, size in zip(lines, sizes, strict=True))

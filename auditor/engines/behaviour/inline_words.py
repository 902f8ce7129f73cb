"""Programs inside of lists of words that start an interpreter, wherever a program keeps such a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.patterns import RarePattern

__all__ = ["Inline", "inline_programs"]


class Inline(NamedTuple):
    """A program as its interpreter reads it, in which language, and where it is handed over."""

    text: str
    context: Context
    start: int


_TEXT: Final = r"(?:\"(?:[^\"\\\n]|\\.){0,4000}\"|'(?:[^'\\\n]|\\.){0,4000}')"
_WORDS: Final = RarePattern(compiled(
    r"[\"'](?:[\w:/\\.-]{0,80}[/\\])?(?P<program>python[\d.]{0,4}|node|bun|deno|ruby|perl|php|osascript|(?:ba|z|da|k)?sh)(?:\.exe)?[\"']"
    r"(?P<options>(?:\s{0,20},\s{0,40}[\"'][\w-]{1,20}[\"']){0,3}?)\s{0,20},\s{0,40}[\"'](?:-[a-zA-Z]{0,4}[cer]|--eval|eval|-EncodedCommand)[\"']"
    rf"\s{{0,20}},\s{{0,40}}(?:(?P<text>{_TEXT}(?:\s{{1,40}}{_TEXT}){{0,40}})|(?P<name>[A-Za-z_][\w.]{{0,60}}))"
))  # fmt: skip
_OPTION: Final = compiled(r"-(?:[a-zA-Z]{0,4}[cer]|-eval|EncodedCommand)[\"']")  # every such list has one, or "eval"
_UNIT: Final = RarePattern(compiled(  # a unit's command as a value
    r"\bExec(?:Start|Stop|Reload)(?:Pre|Post)?[\"'\]]{1,2}[ \t]{0,9}(?:=>?|:|,)[ \t]{0,9}"
    rf"(?:(?P<text>{_TEXT})|(?P<name>[A-Za-z_]\w{{0,60}})[ \t]{{0,9}}(?:[,}})\n;]|$))"
))  # fmt: skip
_GIVEN: Final = (
    r"(?m)^[ \t]*(?:(?:const|let|var|static|final|local|export)[ \t]+){0,3}%s(?:[ \t]*:[^=\n]{1,40})?[ \t]*:?=[ \t]*"
    r"(?P<value>\(?\s{0,40}[frbu]?TEXT(?:\s{0,40}\+?\s{0,40}[frbu]?TEXT){0,60}|`[^`]{0,4000}`|\"\"\"[\s\S]{0,4000}?\"\"\"|'''[\s\S]{0,4000}?''')"
).replace("TEXT", _TEXT)
_PIECE: Final = compiled(_TEXT)
_LONG: Final = compiled(r"`[^`]*`|\"\"\"[\s\S]*\"\"\"|'''[\s\S]*'''")
_ESCAPE: Final = compiled(r"\\(.)")
_CONTEXTS: Final[Mapping[str, Context]] = {
    "python": Context.PYTHON, "node": Context.JAVASCRIPT, "bun": Context.JAVASCRIPT, "deno": Context.JAVASCRIPT,
    "ruby": Context.RUBY, "perl": Context.TEXT, "php": Context.TEXT, "osascript": Context.TEXT,
}  # fmt: skip
_MOST: Final = 40


def inline_programs(text: str) -> Iterator[Inline]:
    """What such lists in `text` hand over, spelled out or by a name that the same text gives a value; at most 40."""
    for found in islice((each for pattern in _asked(text) for each in pattern.finditer(text)), _MOST):
        parts = found.groupdict()
        spelled = parts.get("text") or _value(text, (parts.get("name") or "").rpartition(".")[2])
        if spelled is None:
            continue
        program = parts.get("program")
        language = _language(program, found["options"]) if program else Context.SHELL
        yield Inline(_joined(spelled), language, found.start())


def _asked(text: str) -> Iterator[RarePattern]:
    """The patterns that `text` may hold a match of, by plain looks: they are slow for RE2 as well."""
    if _OPTION.search(text) or 'eval"' in text or "eval'" in text:
        yield _WORDS
    if "ExecSt" in text or "ExecReload" in text:
        yield _UNIT


def _language(program: str, options: str) -> Context:
    if program == "osascript" and "JavaScript" in options:
        return Context.JAVASCRIPT
    return _CONTEXTS.get(program.rstrip("0123456789."), Context.SHELL)


def _value(text: str, name: str) -> str | None:
    found = re.search(_GIVEN % re.escape(name), text) if name else None
    return found["value"] if found else None


def _joined(spelled: str) -> str:
    """The text that literals stand for which follow each other or are added."""
    if whole := _LONG.search(spelled):
        return whole[0].strip("`\"'")
    return "".join(_ESCAPE.sub(_unescaped, piece[1:-1]) for piece in _PIECE.findall(spelled))


def _unescaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(found[1], found[1])

"""Arguments that are commands of a shell: by the program's own options, or since they read as such a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.evaluate import HOLE, Scope
from skillkeep.auditor.engines.shell.outputs import is_own
from skillkeep.auditor.engines.shell.site import Call
from skillkeep.auditor.engines.tables import table

__all__ = ["commands_in", "is_printing"]

_LONGEST: Final = 1 << 16
_NAME_PARTS: Final = compiled(r"[A-Z]?[a-z]+|[A-Z]+")
_MARKS: Final = compiled(r"[|(`]")
_OF_LETTERS: Final = compiled(r"-[A-Za-z]{1,6}")


@dataclass(frozen=True)
class _How:
    after: frozenset[str]
    quoted: bool
    joined: bool
    words: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]


@dataclass(frozen=True)
class _Lookup:
    programs: dict[str, _How]
    printing: frozenset[str]
    words: frozenset[str]
    piped: tuple[re.Pattern[str], ...]


@cache
def _lookup() -> _Lookup:
    data: dict[str, Any] = table("shell")
    programs = {
        name: _How(
            frozenset(entry.get("after", ())), bool(entry.get("quoted")), bool(entry.get("joined")),
            frozenset(entry.get("words", ())), tuple(map(compiled, entry.get("patterns", ()))),
        )
        for entry in data["commanding"] for name in entry["programs"]
    }  # fmt: skip
    piped = tuple(map(compiled, data["piped"]))
    return _Lookup(programs, frozenset(data["printing"]), frozenset(data["printing_words"]), piped)


def commands_in(call: Call, scope: Scope) -> Iterator[str]:
    """Each text among the arguments of `call` that a shell runs.

    A prefix such as ``watch`` has taken the name of what it starts from its own arguments.
    """
    known = _lookup()
    printing = is_printing(call.name)
    if (
        call.name not in known.programs
        and not call.prefixes
        and (printing or not any(map(_MARKS.search, call.arguments)))
    ):
        return
    arguments = [text[:_LONGEST] for text in call.arguments]
    program = scope.text(call.program) if call.program is not None else ""
    given = [program, *arguments] if program else arguments
    for prefix in dict.fromkeys(call.prefixes):
        if (how := known.programs.get(prefix)) is not None:
            yield from _by(how, given)
    if (how := known.programs.get(call.name)) is not None:
        yield from _by(how, arguments)
    if printing or is_own([program, *arguments]):
        return  # a script beside the text is audited itself, also for what it does with such an argument
    words = call.command.words if call.prefixes else ()
    for text in dict.fromkeys([*given, *map(scope.text, words)]):
        if _MARKS.search(text):
            yield from _pipelines(text, known.piped)


@lru_cache(2048)
def is_printing(name: str) -> bool:
    """Whether a program, or a function that the script has from elsewhere, prints or keeps the texts it is given."""
    known = _lookup()
    return name in known.printing or any(part.lower() in known.words for part in _NAME_PARTS.findall(name))


def _by(how: _How, arguments: list[str]) -> Iterator[str]:
    if how.joined and (any(map(_is_command, arguments)) or arguments[:1] == [HOLE]):
        yield " ".join(arguments)
    if how.quoted and (not how.words or not how.words.isdisjoint(arguments)):
        yield from filter(_is_command, arguments)
    for before, text in zip(["", *arguments], arguments, strict=False):
        if before in how.after or (_is_cluster(before) and f"-{before[-1]}" in how.after):
            yield text
        option, sign, value = text.partition("=")
        if sign and option in how.after:
            yield value
        for pattern in how.patterns:
            for found in pattern.finditer(text):
                yield _unescaped(found["command"])


def _is_cluster(text: str) -> bool:
    return len(text) > 2 and _OF_LETTERS.fullmatch(text) is not None


def _is_command(text: str) -> bool:
    return " " in text.strip() or "|" in text or ";" in text


def _unescaped(text: str) -> str:
    return text.replace('\\"', '"') if '\\"' in text else text


def _pipelines(text: str, piped: tuple[re.Pattern[str], ...]) -> Iterator[str]:
    """What fetches or decodes and runs it, without the text around it."""
    for pattern in piped:
        for found in pattern.finditer(text):
            yield _closed(found[0].replace('\\"', '"').rstrip("\\ \t"))


def _closed(text: str) -> str:
    """A text that ends where the substitution does that it begins with, with its quote closed."""
    opened = re.search(r"(?:<\(|\$\(|`)", text)
    if opened is None or opened.start() > 40:
        return text
    mark, depth = opened[0][-1], 0
    for at in range(opened.end() - 1, len(text)):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
        if (mark == "(" and depth == 0) or (mark == "`" and at >= opened.end() and text[at] == "`"):
            text = text[: at + 1]
            break
    return text + '"' if text.count('"') % 2 else text + "'" if text.count("'") % 2 else text

"""From a simple command to what really runs: prefixes such as `sudo` or `xargs` taken off, `find -exec` looked into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skillkeep.auditor.engines.shell.evaluate import HOLE, Scope
from skillkeep.auditor.engines.shell.model import Command, Word
from skillkeep.auditor.engines.shell.site import Call

__all__ = ["calls_of", "program_name"]

_EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_MOST_PREFIXES = 64
_MOST_EXECUTED = 64


def program_name(text: str) -> str:
    """``/usr/bin/curl`` is ``curl``; a leading backslash, ``@`` or ``-`` (Makefile) goes too."""
    name = text.rpartition("/")[2].removesuffix(".exe")
    return name.lstrip("\\@-+") or name


def calls_of(command: Command, scope: Scope, table: dict[str, Any]) -> Iterator[Call]:
    """The call a command makes, and those it has others make."""
    words = _split(command.words, scope)
    texts = [scope.text(word) for word in words]
    prefixes: list[str] = []
    while texts and len(prefixes) < _MOST_PREFIXES:
        name = program_name(texts[0])
        options = table["prefixes"].get(name)
        if options is None:
            break
        prefixes.append(name)
        cut = _after_prefix(texts, options, name)
        words, texts = words[cut:], texts[cut:]
    if not texts:
        if prefixes and prefixes[-1] == "env":  # alone it prints every variable
            yield Call("env", (), (), command, tuple(prefixes[:-1]))
        return
    call = Call(program_name(texts[0]), tuple(texts[1:]), tuple(words[1:]), command, tuple(prefixes))
    yield call
    if call.name == "find":
        yield from _executed(call, command)


def _after_prefix(texts: list[str], options: list[str], name: str) -> int:
    at = 1
    while at < len(texts):
        text = texts[at]
        if text in options:
            at += 2
        elif (
            (text.startswith(("-", "+")) and text != "-")
            or ("=" in text.partition("/")[0] and name in {"env", "sudo", "RUN"})
            or (name in {"timeout", "watch"} and text[:1].isdigit())
        ):
            at += 1
        else:
            break
    return at


def _executed(call: Call, command: Command) -> Iterator[Call]:
    places = [index for index, argument in enumerate(call.arguments) if argument in _EXECUTING][:_MOST_EXECUTED]
    for index in places:
        if index + 1 >= len(call.arguments):
            continue
        end = index + 1
        while end < len(call.arguments) and call.arguments[end] not in {";", "+", "\\;"}:
            end += 1
        inner = call.arguments[index + 1 : end]
        if inner:
            yield Call(program_name(inner[0]), inner[1:], call.words[index + 2 : end], command, ("find",))


def _split(words: list[Word], scope: Scope) -> list[Word]:
    """The words as the shell splits them: an unquoted variable first, and ``{cat,/etc/passwd}``."""
    if not words:
        return words
    first = words[0]
    text = scope.text(first)
    if first.quoted or HOLE in text:
        return words
    parts: list[str] = []
    if text.startswith("{") and text.endswith("}") and "," in text:
        parts = text[1:-1].split(",")
    elif first.literal is None and " " in text.strip():
        parts = text.split()
    elif first.literal is not None and "${IFS}" not in text:
        return words
    if not parts:
        return words
    return [Word(first.start, first.end, [part]) for part in parts] + words[1:]

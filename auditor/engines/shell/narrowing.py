"""Whether commands let through only the lines that they name, or all but those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.model import Command, Word
from skillkeep.auditor.engines.shell.site import Call
from skillkeep.auditor.engines.tables import secrets

__all__ = ["asks_for_one", "narrows", "takes_jobs_out"]

_FIRST: Final = compiled(r"tr|strings|cat|sort")
_NAMES: Final = compiled(r"\^?\(?\^?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:\\?\|\^?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)*\)?=?")
_NAME: Final = compiled(r"[A-Z][A-Z0-9_]+")
_ASKED: Final = compiled(r"\^?(?P<name>[A-Z][A-Z0-9_]*)=[^|]*")
_QUIETLY: Final = compiled(r"-[aEFswz]*q[aEFswz]*|--quiet")
_LEFT_OUT: Final = compiled(r"-[EFiwx]*v[EFiwx]*|--invert-match")
_CLEARED: Final = compiled(r"/[^/\n]+/I?d")
_OPTIONS: Final = frozenset({"-E", "-e", "-a", "-i", "-w", "-aE", "-Ea", "--text"})


def narrows(commands: Sequence[Command]) -> bool:
    """True for ``… | tr '\\0' '\\n' | grep -E 'DD_ENV|DD_SERVICE'``: names written out, and none of a secret."""
    for command in commands:
        words = [word.literal for word in command.words]
        if not words or None in words or command.redirects:
            return False
        if words[0] in {"grep", "egrep"}:
            rest = [word for word in words[1:] if word not in _OPTIONS]
            return len(rest) == 1 and _is_plain(rest[0] or "")
        if not _FIRST.fullmatch(words[0] or ""):
            return False
    return False


def _is_plain(pattern: str) -> bool:
    return bool(_NAMES.fullmatch(pattern)) and not any(map(secrets().variable, _NAME.findall(pattern)))


def asks_for_one(call: Call) -> bool:
    """True for ``grep -q DISPLAY=:1 /proc/1/environ``: it prints nothing, and asks for what is no secret."""
    asked = _ASKED.fullmatch(call.operands[0]) if call.name in {"grep", "egrep"} and call.operands else None
    quiet = any(map(_QUIETLY.fullmatch, call.arguments))
    return asked is not None and quiet and len(call.operands) == 2 and not secrets().variable(asked["name"])


def takes_jobs_out(commands: Sequence[Command]) -> bool:
    """True for ``crontab -l | grep -v backup | crontab -``: the user's own schedule without some lines of it."""
    first = commands[0]
    if first.body is not None and len(commands) > 1:  # in parentheses, with "|| true" behind
        within = first.body.pipelines
        if not within or first.redirects or not all(_is_nothing(each.commands) for each in within[1:]):
            return False
        commands = [*within[0].commands, *commands[1:]]
    if any(command.body is not None or command.heredoc is not None for command in commands):
        return False
    if any("<" in operator for command in commands for operator, _ in command.redirects):
        return False
    said = [[word.literal for word in command.words] for command in commands]
    inside = zip(commands[1:-1], said[1:-1], strict=True)
    own = said[0] == ["crontab", "-l"] and said[-1] == ["crontab", "-"] and len(said) > 2
    return own and all(_only_drops(command.words, words) for command, words in inside)


def _is_nothing(commands: Sequence[Command]) -> bool:
    return [word.literal for command in commands for word in command.words] in (["true"], [":"])


def _only_drops(words: Sequence[Word], said: Sequence[str | None]) -> bool:
    if said[:1] == ["sed"]:
        return len(said) == 2 and _CLEARED.fullmatch(said[1] or "") is not None
    rest = [word for word, text in zip(words[1:], said[1:], strict=True) if not (text or "").startswith("-")]
    options = [text for text in said[1:] if text and text.startswith("-")]
    whole = len(rest) == 1 and (rest[0].quoted or rest[0].literal is not None)
    named = said[:1] in (["grep"], ["egrep"], ["fgrep"]) and whole
    return named and bool(options) and all(map(_LEFT_OUT.fullmatch, options))

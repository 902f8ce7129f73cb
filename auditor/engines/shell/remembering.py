"""What the shell's own commands leave behind for those that follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.shell.evaluate import HOLE, Scope
from skillkeep.auditor.engines.shell.model import Command, Pipeline, Word
from skillkeep.auditor.engines.shell.parameters import Given
from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["remember"]

_NOTHING: Final[frozenset[str]] = frozenset()
_NAMED_OPTION: Final = compiled(r"[-+][a-zA-Z]{0,20}o")  # ``-euo pipefail``
_SETTING: Final = frozenset({"read", "mapfile", "readarray", "printf", "ARG", "local"})


def remember(call: Call, site: ShellSite, flowing: frozenset[str], labels: Sequence[frozenset[str]]) -> None:
    """What `call`, fed with `flowing`, leaves behind; `labels` are those of its words."""
    scope = site.scope
    if "coproc" in call.prefixes:
        site.files.handed |= flowing
    if call.name == "shift":
        scope.shift(call.arguments[0] if call.arguments else "1")
    elif call.name == "set":
        if (given := _set_arguments(call, labels)) is not None:
            scope.set_arguments([(text, each | flowing) for text, each in given])
    elif call.name in _SETTING:
        _variables(call, scope, flowing)
    elif call.name == "alias":
        for argument in call.arguments:
            name, _, value = argument.partition("=")
            if value and HOLE not in value:
                scope.aliases[name] = value
                site.derive(value, Context.SHELL, call.command, "alias")
    elif call.name == "trap" and call.arguments and " " in call.arguments[0]:
        site.derive(call.arguments[0], Context.SHELL, call.command, "trap")


def _variables(call: Call, scope: Scope, flowing: frozenset[str]) -> None:
    if call.name == "printf":
        if call.arguments[:1] == ("-v",) and len(call.arguments) > 2:
            known = scope.printed(Pipeline([Command(0, 0, [_literal("printf"), *call.words[2:]])]))
            text = known.text if known is not None else HOLE
            scope.assign(call.arguments[1], _literal(text, call.command.start), _NOTHING, appended=False)
    elif call.name == "ARG":  # of a Dockerfile, with its default
        for argument in call.arguments:
            name, sign, value = argument.partition("=")
            if sign and name.isidentifier():
                scope.assign(name, _literal(value, call.command.start), _NOTHING, appended=False)
    else:
        for name in call.operands:
            if call.name == "local":
                scope.local(name)
            else:
                scope.forget(name, flowing)


def _literal(text: str, start: int = 0) -> Word:
    return Word(start, start, [text], literal=text)


def _set_arguments(call: Call, labels: Sequence[frozenset[str]]) -> list[Given] | None:
    """What ``set -- first second`` makes of the positional parameters; None for ``set -e``."""
    given = list(zip(call.arguments, labels, strict=False))
    texts = [text for text, _ in given]
    at = next((index for index, text in enumerate(texts) if text == "--"), None)
    if at is None:
        at = next((index for index, text in enumerate(texts) if not text.startswith(("-", "+"))), None)
    if at is None or _NAMED_OPTION.fullmatch(texts[at - 1] if at else ""):
        return None
    return given[at + (given[at][0] == "--") :]

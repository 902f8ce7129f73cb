"""What the flow of data asks of the table of names, and of single calls and tables."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from skillkeep.auditor.engines.python.values import is_whole
from skillkeep.auditor.engines.tables import table

__all__ = ["Known", "adds_up", "answers", "argument", "is_choice", "known"]

_WORD: Final = 3  # letters: of shorter texts a program could be put together
_MOST_CHOICES: Final = 64
_ASKING: Final = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request", "stream", "urlopen"})


@dataclass(frozen=True)
class Known:
    """The table's names as sets."""

    environment: frozenset[str]
    measures: frozenset[str]
    downloads: tuple[str, ...]
    spelling: frozenset[str]  # what only spells an address
    replies: frozenset[str]  # calls that answer what they fetched
    services: dict[str, str]  # clients of one service, and its host
    based: frozenset[str]  # clients that may be made for one server
    answers: frozenset[str]  # calls of clients that answer what a service says, and hold no key of their client


@cache
def known() -> Known:
    """The table that this version ships."""
    sinks = table("python")
    downloads = tuple(sinks["download_suffixes"])
    asking = (name for name in sinks["network"] if name.rpartition(".")[2] in _ASKING)
    return Known(
        frozenset(sinks["environment"]),
        frozenset((*sinks["measures"], *sinks["signers"])),
        downloads,
        frozenset(sinks["spelling"]),
        frozenset(name for name in asking if name.startswith(downloads)),
        sinks["services"],
        frozenset(sinks["based"]),
        frozenset(f"{made}().{call}" for made, calls in sinks["answers"].items() for call in calls),
    )


def is_choice(table: Any) -> bool:
    """True for a short table of whole commands that are written down: whoever chooses one writes none of them."""
    rows = table.values() if isinstance(table, dict) else table if isinstance(table, tuple) else ()
    told = [isinstance(row, tuple) or (isinstance(row, str) and len(row) > _WORD) for row in rows]
    return 0 < len(told) <= _MOST_CHOICES and all(told) and is_whole(table)


def argument(call: ast.Call, where: list[int | str]) -> ast.expr | None:
    """The judged argument of `call`: a position first, then keywords. A ``*args`` before it hides it."""
    if not where:
        return None
    position = where[0]
    if isinstance(position, int) and len(call.args) > position:
        before = call.args[: position + 1]
        return before[position] if not any(isinstance(item, ast.Starred) for item in before) else before[0]
    return next((item.value for item in call.keywords if item.arg in where), None)


def adds_up(names: tuple[str, ...], call: ast.Call) -> bool:
    """True for ``sum(…)`` of one argument: a number, or it fails."""
    return names == ("builtins.sum",) and len(call.args) == 1 and not call.keywords


def answers(names: tuple[str, ...], call: ast.Call) -> bool:
    """True for what a model says to what it is told: nothing of what its client was made with.

    A stream (and whatever ``**options`` may ask for) leads back to the request, which has the client's key.
    """
    plain = all(each.arg is not None and each.arg != "stream" for each in call.keywords)
    return bool(names) and plain and known().answers.issuperset(names)

"""Every text that an expression can be, where the file tells them all."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.engines.python.callers import all_arguments_for
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import (
    HOLE,
    UNKNOWN,
    OneOf,
    Unknown,
    Value,
    alternatives,
    first_word,
    once_set,
)
from skillkeep.auditor.engines.quoted import is_argument, is_weakness

__all__ = ["plain_texts", "run_by_shell", "told_texts"]

_DEEPEST: Final = 3  # functions that hand a text on


def run_by_shell(site: Site, node: ast.expr | None, scope: Scope) -> tuple[Value, tuple[str, ...]]:
    """What a shell is given to run, and the decoders that it went through."""
    value, layers = site.judged(node, scope)
    return _given(value), layers


def _given(value: Value) -> Value:
    """The command: of a list of words the first, and never a None that only stands where there is none yet."""
    return once_set(first_word(value))


def told_texts(site: Site, node: ast.expr | None, scope: Scope, depth: int = 0) -> list[str]:
    """The texts that `node` can be, unknown parts as holes; none when it can be another one as well.

    A parameter is what the callers of its function pass, when they are all seen.
    """
    bound = scope.lookup(node.id) if isinstance(node, ast.Name) else None
    given = all_arguments_for(site.names, bound[1][0], bound[0]) if bound and len(bound[1]) == 1 else None
    if given is None or depth >= _DEEPEST:
        value = _given(site.folder.shaped(node, scope) if node is not None else UNKNOWN)
        known = list(alternatives(value))
        whole = not isinstance(value, Unknown) and (not isinstance(value, OneOf) or value.complete)
        return (
            [item for item in known if isinstance(item, str)]
            if whole and all(isinstance(x, str) for x in known)
            else []
        )
    found: list[str] = []
    for each, home in given:
        texts = told_texts(site, each, home, depth + 1)
        if not texts:
            return []
        found += texts
    return list(dict.fromkeys(found))


def plain_texts(told: Sequence[str], value: Value) -> list[str]:
    """The texts `told`, else those of `value`, if they are commands with unknown parts that hide no other command.

    None else. Whole commands are audited where all texts are told.
    """
    texts = list(told or alternatives(value))
    shaped = bool(told) or any(isinstance(item, str) and HOLE in item for item in texts)
    known = [item for item in texts if isinstance(item, str)]
    plain = all((told and HOLE not in item) or is_argument(item) or is_weakness(item) for item in known)
    return known if shaped and plain and len(known) == len(texts) else []

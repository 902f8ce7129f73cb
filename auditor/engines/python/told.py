"""Every text that an expression can be, where the file tells them all."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.python.callers import Given, all_arguments_for
from skillkeep.auditor.engines.python.scopes import Binding, Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import (
    HOLE,
    UNKNOWN,
    OneOf,
    Unknown,
    Value,
    alternatives,
    first_word,
    is_whole,
    once_set,
)
from skillkeep.auditor.engines.quoted import is_argument, is_weakness

__all__ = ["plain_texts", "run_by_shell", "text_of_shell", "told_texts"]

_DEEPEST: Final = 3  # functions that hand a text on
_MOST: Final = 8  # times that one sets its parameter
_SHELLS: Final = compiled(r"(?:.*/)?(?:(?:ba|z|da|k|a)?sh|cmd(?:\.exe)?)")
_OPTION: Final = compiled(r"-{1,2}[\w-]+|/[a-zA-Z]")
_RUNS_NEXT: Final = compiled(r"-\w*c|/[cCkK]")


def run_by_shell(site: Site, node: ast.expr | None, scope: Scope) -> tuple[Value, tuple[str, ...]]:
    """What a shell is given to run, and the decoders that it went through."""
    value, layers = site.judged(node, scope)
    return _given(value), layers


def _given(value: Value) -> Value:
    """The command: of a list of words the first, and never a None that only stands where there is none yet."""
    return once_set(first_word(value))


def told_texts(site: Site, node: ast.expr | None, scope: Scope) -> list[str]:
    """The texts that `node` can be, unknown parts as holes; none when it can be another one as well.

    A parameter is what the callers of its function pass, when they are all seen, and what the function makes of it.
    """
    return _told(site, node, scope, 0, frozenset()) or []


def _told(site: Site, node: ast.expr | None, scope: Scope, depth: int, within: frozenset[int]) -> list[str] | None:
    """As `told_texts`, without what the parameters `within` are, which is asked already; None for not all of them."""
    if isinstance(node, ast.IfExp) and within:
        return _all(_told(site, each, scope, depth, within) for each in (node.body, node.orelse))
    bound = scope.lookup(split.id) if isinstance(split := _split_again(node), ast.Name) else None
    if bound is not None and id(bound[1]) in within:
        return []
    bound = scope.lookup(node.id) if isinstance(node, ast.Name) else None
    given = _given_for(site, *bound) if bound is not None and depth < _DEEPEST else None
    if bound is not None and given is not None:
        inside = within | {id(bound[1])}
        return _all(_told(site, each, home, depth + 1, inside) for each, home in given)
    value = _given(site.folder.shaped(node, scope) if node is not None else UNKNOWN)
    known = list(alternatives(value))
    whole = not isinstance(value, Unknown) and (not isinstance(value, OneOf) or value.complete)
    texts = [item for item in known if isinstance(item, str)]
    return texts if whole and len(texts) == len(known) and texts else None


def _all(found: Iterable[list[str] | None]) -> list[str] | None:
    texts = list(found)
    return None if None in texts else list(dict.fromkeys(item for each in texts for item in each or ()))


def _split_again(node: ast.expr | None) -> ast.expr | None:
    """The command that ``command.split()`` only cuts into words; else `node`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "split":
        return node
    return node if node.args or node.keywords else node.func.value


def _given_for(site: Site, home: Scope, bindings: list[Binding]) -> list[Given] | None:
    """What a parameter can be: what all its callers pass, and what it is set to; None where that is not all."""
    kinds = [each.kind for each in bindings]
    if len(bindings) > 1 and any(isinstance(each, ast.Nonlocal) for each in ast.walk(home.owner)):
        return None
    if kinds.count("param") != 1 or len(bindings) > _MOST or not {"param", "value"}.issuperset(kinds):
        return None
    found: list[Given] = []
    for each in bindings:
        if each.kind == "value" and isinstance(each.node, ast.expr):
            found.append((each.node, home))
        elif (given := all_arguments_for(site.names, each, home)) is not None:
            found += given
        else:
            return None
    return found


def plain_texts(told: Sequence[str], value: Value) -> list[str]:
    """The texts `told`, else those of `value`, if they are commands with unknown parts that hide no other command.

    None else. Whole commands are audited where all texts are told.
    """
    texts = list(told or alternatives(value))
    shaped = bool(told) or any(isinstance(item, str) and HOLE in item for item in texts)
    known = [item for item in texts if isinstance(item, str)]
    plain = all((told and HOLE not in item) or is_argument(item) or is_weakness(item) for item in known)
    return known if shaped and plain and len(known) == len(texts) else []


def text_of_shell(site: Site, argument: ast.expr | None, words: list[str], scope: Scope) -> ast.expr | None:
    """The command in ``["bash", "-c", command]`` where that is not known whole: as with ``shell=True``."""
    listed = argument.elts if isinstance(argument, ast.List | ast.Tuple) else []
    at = next((at for at, word in enumerate(words[1:], 1) if not _OPTION.fullmatch(word)), 0)
    if len(listed) != len(words) or not _SHELLS.fullmatch(words[0]) or not _RUNS_NEXT.fullmatch(words[at - 1]):
        return None
    return None if is_whole(site.fold(listed[at], scope)) else listed[at]

"""Secrets that leave in a file which a program that publishes is given: what was written or copied to it is one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from skillkeep.auditor.engines.publishing import kept_at
from skillkeep.auditor.engines.python.contents import Given
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import texts_of

__all__ = ["labels_of_files"]

_NOTHING: frozenset[str] = frozenset()
_MOST = 64  # words


def labels_of_files(
    site: Site, flow: Flow, command: ast.expr, words: Sequence[Any], scope: Scope, *, whole: bool
) -> frozenset[str]:
    """The secrets in the files that the `words` of `command` name; `whole`: in all below the working folder."""
    elements = command.elts if isinstance(command, ast.List | ast.Tuple) else []
    elements = elements if len(elements) == len(words) else []
    labels = _NOTHING
    for word, element in zip_longest(words[:_MOST], elements[:_MOST]):
        for name in _names(word, element):
            labels |= _of(site, flow, [*flow.contents.put(name, scope), *flow.contents.sources(name, scope)])
            labels |= kept_at(texts_of(site.fold(name, scope)) if isinstance(name, ast.expr) else [name])
    return labels | (_of(site, flow, flow.contents.below(scope)) if whole else _NOTHING)


def _names(word: Any, element: ast.expr | None) -> Iterator[ast.expr | str]:
    """What of a word may name a file: ``notes.md``, ``file=@notes.md``, ``--body-file=notes.md``."""
    if isinstance(word, str) and word:
        yield re.split("[@=]", word)[-1]
    if element is not None and not isinstance(element, ast.Constant | ast.Starred):
        yield element


def _of(site: Site, flow: Flow, given: Iterable[Given]) -> frozenset[str]:
    labels = _NOTHING
    for node, home in given:
        labels |= flow.labels(node, home) | kept_at(texts_of(site.fold(node, home)))
        for each in ast.walk(node):  # ``open(path).read()``
            if isinstance(each, ast.Call):
                inner = [*each.args, *([each.func.value] if isinstance(each.func, ast.Attribute) else [])]
                labels |= kept_at(text for item in inner for text in texts_of(site.fold(item, home)))
    return frozenset(label for label in labels if label.startswith("secret:"))

"""Which variables a script has set before any of its functions that name them can run."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.model import Script
from skillkeep.auditor.engines.tables import secrets

__all__ = ["set_first"]

_NAME: Final = compiled(r"[\w.:-]+")
_ELSEWHERE: Final = frozenset({"eval", "source", ".", "exec"})  # may call a function without its name in this text
_HELD: Final = compiled(
    r"(?:^|[;&|({`!]|\b(?:then|do|else|if|while|until|elif|command|exec))[ \t]*\"?\$[\w{(]", re.MULTILINE
)
_MOST_FUNCTIONS: Final = 400


def set_first(script: Script, text: str) -> frozenset[str]:
    """Names of secrets that `script`, read from `text`, assigns at its top before it calls a function that has them."""
    functions: dict[str, frozenset[str]] = {}
    outside: set[str] = set()
    found: set[str] = set()
    for pipeline in script.pipelines:
        first = pipeline.commands[0]
        words = _words(text[first.start : max(first.end, pipeline.commands[-1].end)])
        if first.function:
            if first.function in functions or len(functions) >= _MOST_FUNCTIONS:
                return frozenset()
            functions[first.function] = words
            continue
        if len(pipeline.commands) == 1 and not first.words and first.body is None:
            reached = outside | words if len(first.assignments) > 1 else outside
            for name, _, appended in first.assignments:
                if not appended and secrets().variable(name) and not _may_have_run(name, functions, reached):
                    found.add(name)
        outside |= words if _ELSEWHERE.isdisjoint(words) else {*words, *functions}
    return frozenset(found)


def _words(text: str) -> frozenset[str]:
    words = frozenset(_NAME.findall(text))
    return words | {"eval"} if _HELD.search(text) else words


def _may_have_run(name: str, functions: dict[str, frozenset[str]], outside: set[str]) -> bool:
    """True when what stands outside of functions so far names the variable, or leads to a function that does."""
    if name in outside:
        return True
    seen: set[str] = set()
    queue = [each for each in functions if each in outside]
    while queue:
        each = queue.pop()
        if each not in seen:
            seen.add(each)
            if name in functions[each] or not _ELSEWHERE.isdisjoint(functions[each]):
                return True
            queue += [other for other in functions if other in functions[each]]
    return False

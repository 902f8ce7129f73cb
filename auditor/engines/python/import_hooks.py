"""A function that stands in for Python's own import for a while, as tests have one, and hands on what it is asked."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from skillkeep.auditor.engines.python.scopes import Scope

__all__ = ["is_handed_on"]

_IMPORT: Final = "__import__"


def is_handed_on(call: ast.Call, scope: Scope) -> bool:
    """True for ``return original(name, *args)`` in a function that is put in the place of ``__import__``, only there.

    What it is asked for are the imports of other code, each of which is judged where it stands.
    """
    hook, first = scope.owner, call.args[0] if call.args else None
    if not isinstance(hook, ast.FunctionDef) or not hook.args.args or not isinstance(first, ast.Name):
        return False
    if hook.decorator_list or hook.args.args[0].arg != first.id or len(scope.bindings.get(first.id, ())) != 1:
        return False
    named, put = _names(scope.module.owner)
    return 0 < put[hook.name] == named[hook.name]


@lru_cache(maxsize=4)
def _names(tree: ast.AST) -> tuple[Counter[str], Counter[str]]:
    """How often each name stands in `tree`, and how often it is put in the place of the import."""
    named = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return named, Counter(node.id for node in _put_in_its_place(tree) if isinstance(node, ast.Name))


def _put_in_its_place(tree: ast.AST) -> Iterator[ast.expr]:
    """``patch("builtins.__import__", f)``, ``monkeypatch.setattr(builtins, "__import__", f)``, ``x.__import__ = f``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            if all(isinstance(target, ast.Attribute) and target.attr == _IMPORT for target in node.targets):
                yield node.value
        elif isinstance(node, ast.Call):
            texts = [item.value for item in node.args if isinstance(item, ast.Constant)]
            if any(isinstance(text, str) and text.rpartition(".")[2] == _IMPORT for text in texts):
                yield from (*node.args, *(each.value for each in node.keywords))

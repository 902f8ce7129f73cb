"""Files that a program has pickled itself: what it loads from them is what it put there."""

from __future__ import annotations

import ast
import re
from typing import Final

from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site

__all__ = ["is_own_dump"]

_DUMPS: Final = re.compile(r"\b(?:pickle|dill|cloudpickle)\.dump\(")
_OPENED: Final = re.compile(r"\bopen\(\s*([^,()]{1,80}?)\s*,\s*[\"']rb[\"']")
_WRITTEN: Final = re.compile(r"\bopen\(\s*([^,()]{1,80}?)\s*,\s*[\"']wb[\"']")


def is_own_dump(site: Site, argument: ast.expr | None, scope: Scope) -> bool:
    """True for a file that the same program dumps: it opens it for reading and for writing by one name."""
    text = site.segment.text
    if argument is None or not _DUMPS.search(text):
        return False
    bound = scope.lookup(argument.id) if isinstance(argument, ast.Name) else None
    opened = [each.node for each in bound[1]] if bound else [argument]
    names = {found[1] for node in opened if node is not None for found in _OPENED.finditer(site.excerpt(node))}
    return bool(names) and names <= {found[1] for found in _WRITTEN.finditer(text)}

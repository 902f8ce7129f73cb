"""Loaders of objects that can be told to take plain data only."""

from __future__ import annotations

import ast
from typing import Final

from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site

__all__ = ["is_safe_loading"]

_SAFE_LOADERS: Final = ("SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader")


def is_safe_loading(site: Site, call: ast.Call, scope: Scope, name: str) -> bool:
    """True when `call` of `name` says that plain data is all that it takes."""
    if name == "torch.load":
        return site.keyword(call, "weights_only", scope) is True
    loader = site.argument(call, [1, "Loader"]) if name.startswith("yaml.") else None
    names = site.names.resolve(loader, scope) if loader is not None else ()
    return bool(names) and all(item.endswith(_SAFE_LOADERS) for item in names)

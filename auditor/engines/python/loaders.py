"""Loaders of objects that can be told to take plain data only."""

from __future__ import annotations

import ast
from typing import Final

from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site

__all__ = ["unsafe_loading"]

_SAFE_LOADERS: Final = ("SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader")


def unsafe_loading(site: Site, flow: Flow, call: ast.Call, scope: Scope, name: str) -> str:
    """The rule that `call` of `name`, which can make any object, breaks; empty where it takes plain data only."""
    if _is_safe(site, call, scope, name):
        return ""
    fetched = name.startswith("yaml.") and "download" in flow.labels(site.argument(call, [0, "stream"]), scope)
    return "python-downloaded-execution" if fetched else "python-unsafe-load"


def _is_safe(site: Site, call: ast.Call, scope: Scope, name: str) -> bool:
    """True when `call` of `name` says that plain data is all that it takes."""
    if name == "torch.load":
        return site.keyword(call, "weights_only", scope) is True
    loader = site.argument(call, [1, "Loader"]) if name.startswith("yaml.") else None
    names = site.names.resolve(loader, scope) if loader is not None else ()
    return bool(names) and all(item.endswith(_SAFE_LOADERS) for item in names)

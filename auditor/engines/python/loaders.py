"""Loaders of objects that can be told to take plain data only."""

from __future__ import annotations

import ast
import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import texts_of
from skillkeep.auditor.engines.tables import table

__all__ = ["unsafe_loading"]

_SAFE_LOADERS: Final = ("SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader")


_ADDRESS: Final = compiled(r"(?:https?|ftp|s3|gs)://", re.IGNORECASE)


def unsafe_loading(site: Site, flow: Flow, call: ast.Call, scope: Scope, name: str) -> str:
    """The rule that `call` of `name`, which can make any object, breaks; empty where it takes plain data only."""
    if _is_safe(site, call, scope, name):
        return ""
    given = site.argument(call, table("python")["deserialise_file"][name])
    told = name != "torch.load" or site.keyword(call, "weights_only", scope) is False
    fetched = "download" in flow.labels(given, scope) or any(map(_ADDRESS.match, texts_of(site.fold(given, scope))))
    return "python-downloaded-execution" if fetched and told else "python-unsafe-load"


def _is_safe(site: Site, call: ast.Call, scope: Scope, name: str) -> bool:
    """True when `call` of `name` says that plain data is all that it takes."""
    if name == "torch.load":
        return site.keyword(call, "weights_only", scope) is True
    if name == "numpy.load":
        return site.keyword(call, "allow_pickle", scope) is not True
    loader = site.argument(call, [1, "Loader"]) if name.startswith("yaml.") else None
    names = site.names.resolve(loader, scope) if loader is not None else ()
    return bool(names) and all(item.endswith(_SAFE_LOADERS) for item in names)

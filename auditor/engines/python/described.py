"""Tools of a server whose descriptions come from the network: the agent reads those as orders."""

from __future__ import annotations

import ast
from typing import Final

from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site

__all__ = ["judge_described"]

_DESCRIBING: Final = frozenset({"tool", "prompt", "resource", "FastMCP"})
_SAID: Final = frozenset({"description", "instructions"})


def judge_described(site: Site, flow: Flow, call: ast.Call, scope: Scope) -> None:
    """``@server.tool(description=fetched)``, ``FastMCP("name", instructions=fetched)``."""
    name = getattr(call.func, "attr", None) or getattr(call.func, "id", "")
    if name not in _DESCRIBING:
        return
    for each in call.keywords:
        if each.arg in _SAID and "download" in flow.labels(each.value, scope):
            message = f"the {each.arg} that the agent reads come from the network"
            site.report("tactic-told-by-server", call, message)

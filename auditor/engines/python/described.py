"""Tools of a server whose descriptions come from the network: the agent reads those as orders."""

from __future__ import annotations

import ast
from typing import Final

from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site

__all__ = ["DESCRIBING", "judge_described"]

DESCRIBING: Final = frozenset({"tool", "prompt", "resource", "FastMCP"})
"""The last names of what is called so."""
_SAID: Final = frozenset({"description", "instructions"})


def judge_described(site: Site, flow: Flow, call: ast.Call, scope: Scope) -> None:
    """Judge a call of one of `DESCRIBING`: ``@server.tool(description=fetched)``."""
    for each in call.keywords:
        if each.arg in _SAID and "download" in flow.labels(each.value, scope):
            message = f"the {each.arg} that the agent reads come from the network"
            site.report("tactic-told-by-server", call, message)

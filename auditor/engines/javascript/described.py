"""Tools of a server whose descriptions come from the network: the agent reads those as orders."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.site import Site

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.scopes import Scope
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["DESCRIBES", "judge_described"]

DESCRIBES: Final = re.compile(r"\.(?:tool|prompt|registerTool|registerPrompt|registerResource|addTool)\(")
"""What a text holds that describes such a tool."""
_MAKERS: Final = frozenset({"tool", "prompt", "registerTool", "registerPrompt", "registerResource", "addTool"})
_FIRST: Final = 3  # arguments among which the description is, or an object with it


def judge_described(site: Site, node: Node, scope: Scope, arguments: list[Node]) -> None:
    """Judge the call `node`: ``server.tool("add", fetched, schema, handler)``."""
    callee = node.child_by_field_name("function")
    name = callee.child_by_field_name("property") if callee is not None and callee.type == "member_expression" else None
    if name is None or site.resolver.program.name(name) not in _MAKERS:
        return
    given = [each for each in arguments[:_FIRST] if each.type not in {"arrow_function", "function_expression"}]
    for each in given:
        said = _description(site, each) if each.type == "object" else each
        if said is not None and "download" in site.flow.labels(said, scope):
            site.report("tactic-told-by-server", node, "the description that the agent reads comes from the network")
            return


def _description(site: Site, node: Node) -> Node | None:
    source = site.resolver.program.syntax.source
    for pair in node.named_children:
        if pair.type == "shorthand_property_identifier" and source(pair) == "description":
            return pair
        key = pair.child_by_field_name("key") if pair.type == "pair" else None
        if key is not None and source(key).strip("\"'") == "description":
            return pair.child_by_field_name("value")
    return None

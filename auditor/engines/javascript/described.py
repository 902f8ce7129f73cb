"""Tools of a server whose descriptions come from the network: the agent reads those as orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.site import Site

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.scopes import Scope
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["describes", "judge_described"]

_MAKERS: Final = ("tool", "registerTool", "addTool", "registerPrompt", "registerResource")
_SERVERS: Final = ("modelcontextprotocol", "fastmcp", "FastMCP", "McpServer")
_SAID: Final = frozenset(
    {"identifier", "await_expression", "template_string", "member_expression", "binary_expression"}
)
_FIRST: Final = 3  # arguments among which the description is, or an object with it


def describes(text: str) -> bool:
    """True where `text` may describe tools, prompts or resources of a server of the Model Context Protocol."""
    return any(each in text for each in _SERVERS) and any(each in text for each in _MAKERS)


def judge_described(site: Site, node: Node, scope: Scope, arguments: list[Node]) -> None:
    """Judge the call `node`: ``server.tool("add", fetched, schema, handler)``."""
    callee = node.child_by_field_name("function")
    name = callee.child_by_field_name("property") if callee is not None and callee.type == "member_expression" else None
    maker = site.resolver.program.name(name) if name is not None else ""
    if maker not in _MAKERS or not _is_handler(arguments[-1]):
        return
    for each in arguments[:_FIRST]:
        said = _description(site, each) if each.type == "object" else each if each.type in _SAID else None
        if said is None or (maker == "registerResource" and each.type != "object"):
            continue
        if "download" in site.flow.labels(said, scope):
            site.report("tactic-told-by-server", node, "the description that the agent reads comes from the network")
            return


def _is_handler(node: Node) -> bool:
    return node.type in {"arrow_function", "function_expression", "identifier", "member_expression"}


def _description(site: Site, node: Node) -> Node | None:
    source = site.resolver.program.syntax.source
    for pair in node.named_children:
        if pair.type == "shorthand_property_identifier" and source(pair) == "description":
            return pair
        key = pair.child_by_field_name("key") if pair.type == "pair" else None
        if key is not None and source(key).strip("\"'") == "description":
            return pair.child_by_field_name("value")
    return None

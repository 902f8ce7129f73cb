"""Settings of agents by what stands in them: whatever their file is called, and where a page shows what to copy."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.server_entries import SERVERS, StartedServer, started_servers
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.strict_yaml import load_yaml

__all__ = ["has_servers", "put_in", "read_json", "read_settings", "shown_servers"]

_UNMISTAKABLE: Final = ("mcpServers", "mcp_servers", "context_servers")
_KEY: Final = compiled(
    r"[\"'](?:mcpServers|mcp_servers|context_servers)[\"']\s{0,9}:|^[ \t]{0,40}(?:mcpServers|mcp_servers)[ \t]{0,9}:"
    r"|^\[mcp_servers\.",
    re.MULTILINE,
)
_TEXT: Final = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT: Final = compiled(rf"{_TEXT}|(//[^\n]*|/\*.*?(?:\*/|\Z))", re.DOTALL)
_TRAILING_COMMA: Final = compiled(rf"{_TEXT}|(,)(?=\s*[}}\]])", re.DOTALL)
_ADDED: Final = compiled(  # ``claude mcp add-json name '{"command": …}'``, ``code --add-mcp '{…}'``
    r"(?:\bmcp[ \t]+add-json\b|--add-mcp\b)[^\n'{]{0,200}'(?P<entry>\{[^']{2,4000}\})'"
)
_EVENT: Final = compiled(
    r"\b(?:SessionStart|SessionEnd|PreToolUse|PostToolUse|UserPromptSubmit|SubagentStop|PreCompact|hooks\.Stop|BeforeTool"
    r"|AfterTool|beforeSubmitPrompt|afterFileEdit)\b|\"Stop\"\s{0,4}:"
)
_COMMAND: Final = compiled(
    rf"[\"\']?\bcommand[\"\']?\s{{0,4}}:\s{{0,4}}(?P<command>{_TEXT})(?:\s{{0,20}},\s{{0,20}}[\"\']?args[\"\']?\s{{0,4}}:\s{{0,4}}"
    r"(?P<args>\[[^\]]{0,2000}\]))?"
)


def has_servers(text: str) -> bool:
    """True for settings that name an agent's servers by a word that nobody else uses."""
    return any(word in text for word in _UNMISTAKABLE) and _KEY.search(text) is not None


def read_json(text: str) -> Any:
    """JSON as editors read their own: with comments and with commas before a closing bracket."""
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(_TRAILING_COMMA.sub(_but_texts, _COMMENT.sub(_but_texts, text)))


def read_settings(text: str) -> Any:
    """What stands in `text` by its shape: JSON, or what stands between two of its brackets, TOML or YAML; else None."""
    first = text.lstrip()[:1]
    with suppress(ValueError, RecursionError, AuditError):
        if first in {"{", '"'} or text.lstrip().startswith(("//", "/*")):
            return read_json(text if first != '"' else f"{{{text.strip().rstrip(',')}}}")
        return tomllib.loads(text) if first == "[" else load_yaml(text)
    return None


def shown_servers(text: str) -> Iterator[StartedServer]:
    """The servers on this machine that `text`, a block of a page, has the reader's settings start."""
    if "command" not in text or not ("args" in text or "mcp" in text):
        return
    for found in _ADDED.finditer(text):
        yield from started_servers({"mcp": {"": read_settings(found["entry"])}})
    if text.lstrip()[:1] not in {"{", '"'} and not has_servers(text):
        return
    data = read_settings(text)
    if isinstance(data, dict) and data.keys().isdisjoint(SERVERS):
        entries = {"": data} if "command" in data else data  # an entry by itself, or some of them
        data = {"mcp": {name: each for name, each in entries.items() if isinstance(each, dict) and "command" in each}}
    yield from started_servers(data)


def put_in(text: str) -> Iterator[StartedServer]:
    """What a script puts into an agent's settings: the hooks and servers in its texts, as of ``jq`` and ``cat``."""
    if "command" not in text or not (has_servers(text) or _EVENT.search(text)):
        return
    for found in _COMMAND.finditer(text):
        with suppress(ValueError):
            arguments = json.loads(found["args"]) if found["args"] else []
            yield StartedServer("", json.loads(found["command"]), tuple(map(str, arguments)))


def _but_texts(found: re.Match[str]) -> str:
    return " " if found[1] else found[0]

"""The files that say "here is a tool", and what each says about it. A broken marker still marks its folder."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Facts", "Marker", "read_marker"]


class Marker(StrEnum):
    """A kind of marker file."""

    SKILL = "SKILL.md"
    PLUGIN = ".claude-plugin/plugin.json"
    MCP_CONFIG = ".mcp.json"
    MCP_SERVER = "server.json"
    NPM = "package.json"
    PYTHON = "pyproject.toml"

    @classmethod
    def of(cls, path: str) -> Marker | None:
        """The marker that a file at `path` is, or None. `SKILL.md` is found in any case, as some systems load it."""
        parts = path.split("/")
        if parts[-1].lower() == "skill.md":
            return cls.SKILL
        if parts[-2:] == [".claude-plugin", "plugin.json"]:
            return cls.PLUGIN
        return next((each for each in (cls.MCP_CONFIG, cls.MCP_SERVER, cls.NPM, cls.PYTHON) if parts[-1] == each), None)

    def folder(self, path: str) -> str:
        """The folder that a marker at `path` marks."""
        depth = 2 if self is Marker.PLUGIN else 1
        return "/".join(path.split("/")[:-depth])


@dataclass(frozen=True)
class Facts:
    """What a marker says: the kind (``skill``, ``plugin``, ``mcp``) and, raw, a name and a description or nothing."""

    kind: str
    name: str = ""
    description: str = ""


def read_marker(marker: Marker, text: str) -> Facts | None:
    """The facts in a marker's text, or None when the file does not mark a tool after all. Never raises for bad text."""
    if marker is Marker.SKILL:
        from skillkeep.auditor.frontmatter import parse_frontmatter

        front = parse_frontmatter(text)
        return Facts("skill", front.name, front.description)
    if marker is Marker.PYTHON:
        return _python(text)
    data = _object(text)
    if marker is Marker.PLUGIN:
        return Facts("plugin", _text(data.get("name")), _text(data.get("description")))
    if marker is Marker.MCP_CONFIG:
        return Facts("mcp")
    if marker is Marker.MCP_SERVER:
        is_server = "modelcontextprotocol" in _text(data.get("$schema")) or ("name" in data and "packages" in data)
        return Facts("mcp", _text(data.get("name")), _text(data.get("description"))) if is_server else None
    is_mcp = "mcpName" in data or "@modelcontextprotocol/sdk" in _mapping(data.get("dependencies"))
    return Facts("mcp", _text(data.get("name")), _text(data.get("description"))) if is_mcp else None


def _python(text: str) -> Facts | None:
    try:
        project = _mapping(tomllib.loads(text).get("project"))
    except (ValueError, RecursionError):
        return None
    wanted = project.get("dependencies")
    names = [_text(item).lower() for item in wanted] if isinstance(wanted, list) else []
    if not any(name.replace("[", " ").replace(">", " ").replace("=", " ").split()[:1] in (["mcp"], ["fastmcp"])
               for name in names):  # fmt: skip
        return None
    return Facts("mcp", _text(project.get("name")), _text(project.get("description")))


def _object(text: str) -> dict[str, Any]:
    try:
        return _mapping(json.loads(text.removeprefix("\ufeff")))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

"""Where a request goes whose address the code leaves open: to what it falls back on, or what its settings say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import SourceFile, SourceTree
from skillkeep.auditor.engines.network import host_of

__all__ = ["default_hosts", "fallback_hosts"]

_ADDRESS: Final = r"(?P<to>(?:https?|wss?)://[^\s\"'`<>{}$)]{4,200})"
_FALLBACK: Final = compiled(  # ``os.environ.get("URL", "https://…")``, ``default="https://…"``, ``${URL:-https://…}``
    rf"(?:(?:environ\.get|getenv|fetch|get|setdefault)\([^()\n]{{1,80}},[ \t]*|\bdefault[ \t]*[=:][ \t]*"
    rf"|process\.env(?:\.\w+|\[[^\]\n]{{1,60}}\])[ \t]*(?:\|\||\?\?)[ \t]*)[\"'`]{_ADDRESS}"
    rf"|\$\{{\w+:?[-=]{_ADDRESS.replace('to', 'other')}"
)
_SETTINGS: Final = (".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".properties")
_SET: Final = compiled(
    rf"(?i)(?:url|uri|endpoint|host|server|base|api|hook|address|sync|upload|target|sink|remote)[\w-]{{0,40}}+[\"']?"
    rf"[ \t]*[:=][ \t]*[\"']?{_ADDRESS}"
)
_LONGEST: Final = 1 << 16
_MOST: Final = 8


def default_hosts(tree: SourceTree, path: str) -> Iterator[str]:
    """The hosts that the program at `path` may turn to: of its fallbacks, and of the tool's settings that it names."""
    file = tree.get(path)
    text = file.text if file is not None else None
    if text is None or file is None:
        return
    found = list(_fallbacks(text))
    for other in tree.files:
        if _is_settings(other) and _is_named(other, text):
            found += [match["to"] for match in _SET.finditer((other.text or "")[:_LONGEST])]
    hosts = (host_of(address) for address in dict.fromkeys(found))
    yield from list(dict.fromkeys(host.name for host in hosts if "." in host.name and not host.local))[:_MOST]


def fallback_hosts(text: str) -> Iterator[str]:
    """The hosts that a program turns to where a setting tells none."""
    return (host_of(address).name for address in _fallbacks(text))


def _fallbacks(text: str) -> Iterator[str]:
    return (match["to"] or match["other"] for match in _FALLBACK.finditer(text))


def _is_settings(file: SourceFile) -> bool:
    return file.text is not None and file.known_as.lower().endswith(_SETTINGS)


def _is_named(file: SourceFile, text: str) -> bool:
    name = file.known_as.rpartition("/")[2]
    return name in text and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text) is not None

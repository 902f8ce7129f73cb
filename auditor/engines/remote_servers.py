"""Servers of an MCP configuration that lie on another machine, and the user's variables that go there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.server_entries import servers_in
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.services import services

__all__ = ["RemoteServer", "added_servers", "handed_keys", "remote_servers"]

_ADDRESSES: Final = ("url", "httpUrl", "serverUrl", "uri", "endpoint")
_BRIDGES: Final = compiled(r"(?:mcp-remote|mcp-proxy|supergateway|mcp-remote-client)(?:@[\w.-]+)?")
_ADDED: Final = compiled(  # on a command line: ``claude mcp add … https://… --header "Authorization: $KEY"``
    r"\bmcp[ \t]+add(?:-json)?\b(?P<said>(?:[^\n\\]|\\[\s\S]){1,2000})"
)
_URL: Final = compiled(r"https?://[^\s\"'`\\]{4,400}")
_PASSED: Final = compiled(r"(?:-e|--env)[= ]?(?P<name>[A-Z][A-Z0-9_]{2,60})?")  # to a container
_VARIABLE: Final = compiled(r"(?:\$(?:\{(?:env:)?|env:)?|\{env:)([A-Z][A-Z0-9_]{2,60})\b")


@dataclass(frozen=True)
class RemoteServer:
    """`variables` of the user's environment go to `url` with every request; `name` is what the entry calls it."""

    url: str
    variables: tuple[str, ...]
    name: str = ""

    @property
    def host(self) -> str:
        """The name of the other machine; empty for this one, and where the configuration does not tell."""
        host = host_of(self.url)
        return "" if host.local or host.name.startswith("*") else host.name

    def strange(self) -> Iterator[str]:
        """The variables that hold a key of another service's, which many tools of the user's share."""
        for name in self.variables:
            if secrets().variable(name) and services().is_shared(name) and not services().owns(name, self.host):
                yield name


def remote_servers(data: Any) -> Iterator[RemoteServer]:
    """Those with an address, and those that a bridge on this machine reaches: ``npx mcp-remote https://…``."""
    for name, server in servers_in(data):
        given = server.get("args")
        words = [str(server.get("command", "")), *(map(str, given) if isinstance(given, list) else ())]
        bridged = any(_BRIDGES.fullmatch(word.rpartition("/")[2]) for word in words)
        said = [*_texts(server, "headers"), *_texts(server, "http_headers")]
        said += [*words, *_texts(server, "env")] if bridged else []
        names = [str(server.get("bearer_token_env_var", "")), *_texts(server, "env_http_headers")]
        addresses = [server[key] for key in _ADDRESSES if isinstance(server.get(key), str)]
        addresses += [word for word in words if "://" in word] if bridged else []
        for url in addresses:
            names += _VARIABLE.findall("\n".join([url, *said]))
            yield RemoteServer(url, tuple(dict.fromkeys(filter(None, names))), name)


def added_servers(text: str) -> Iterator[RemoteServer]:
    """Those that command lines in `text` add to an agent's configuration."""
    for found in _ADDED.finditer(text) if "mcp" in text else ():
        for url in _URL.findall(found["said"]):
            yield RemoteServer(url, tuple(dict.fromkeys(_VARIABLE.findall(found["said"]))))


def handed_keys(data: Any) -> Iterator[str]:
    """Variables with a key that many tools share, which a program gets whose entry does not say that it is for it.

    What the entry sets for a program on this machine, under whatever name, and what a container is passed.
    """
    for name, server in servers_in(data):
        given = server.get("args")
        words = [str(word) for word in given] if isinstance(given, list) else []
        names = _VARIABLE.findall("\n".join(_texts(server, "env")))
        for word, following in zip(words, [*words[1:], ""], strict=False):
            if passed := _PASSED.fullmatch(word):
                names.append(passed["name"] or following.partition("=")[0])
        told = " ".join([name, str(server.get("command", "")), *words]).upper()
        for passed_on in names:
            told = told.replace(passed_on, "")
        for variable in dict.fromkeys(names):
            shared = secrets().variable(variable) and services().is_shared(variable)
            if shared and not any(part in told for part in services().words(variable)):
                yield variable


def _texts(server: dict[str, Any], key: str) -> list[str]:
    values = server.get(key)
    return [str(value) for value in values.values()] if isinstance(values, dict) else []

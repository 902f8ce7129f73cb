"""Whose key a variable is, and whether a host belongs to that service; the words are rules/tables/services.yaml."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import host_of, registered_labels
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Capability

__all__ = ["Services", "hosts_by_place", "hosts_in", "is_setting_of", "services", "shared_at", "stays_with"]

_SHORTEST = 3
_HOST = compiled(r"//([\w-]{1,60}(?:\.[\w-]{1,60}){1,6})")
_BOT = frozenset({"BOT_TOKEN", "BOT_API_TOKEN"})
_READING = compiled(r"(?:process\.env|import\.meta|os\.|Deno\.env)|<|\{?$")  # and where nothing is written


@dataclass(frozen=True)
class Services:
    """What names of variables say about their service. `shared` keys lie on users' machines for other tools, too."""

    generic: frozenset[str]
    shared: dict[str, tuple[str, ...]]
    known_as: dict[str, tuple[str, ...]]
    logins: dict[str, tuple[str, ...]]  # programs that print their service's token, and where it may go
    spelled_out: dict[str, str]  # words that abbreviate another
    of_anybody: re.Pattern[str]  # hosts below the domains above where strangers get what is sent
    login_names: dict[str, tuple[str, ...]]  # programs, and the words that say a tool is for their service

    def words(self, variable: str) -> tuple[str, ...]:
        """The words of `variable` that name a service: ``OPEN_BANKING_IO_KEY`` is OPEN, BANKING, IO."""
        return tuple(word for word in variable.upper().split("_") if word and word not in self.generic)

    def is_shared(self, variable: str) -> bool:
        """True for a key that a thief finds on many machines; False for one that only this tool would ask for."""
        words = self.words(variable)
        return any(word in self.shared for word in words)

    def is_same(self, variable: str, other: str) -> bool:
        """True for two names of one listed service's key: ``HF_TOKEN`` and ``HUGGING_FACE_HUB_TOKEN``."""
        first, second = (self.words(name)[:1] for name in (variable, other))
        if not first or not second:
            return False
        domains, others = (self.shared.get(word[0]) or self.known_as.get(word[0]) for word in (first, second))
        return bool(domains) and domains == others

    def owns(self, variable: str, host: str) -> bool:
        """True when `host` belongs to the service that `variable` is named after.

        A shared key belongs to the listed domains only. Another name is compared with the registered name of the host,
        so that ``OPEN_BANKING_IO_KEY`` fits ``api.open-banking.io``.
        """
        words = self.words(variable)
        host = host.lower().rstrip(".")
        if not words:  # that service alone has bots whose token stands in the address
            return variable.upper() in _BOT and host == "api.telegram.org"
        if variable in self.logins:
            return _is_below(host, self.logins[variable])
        listed = self.shared.get(words[0]) or self.known_as.get(words[0])
        told = [word for word in words if word in self.shared]
        if listed is None and len(told) == 1:  # ``ACME_SLACK_TOKEN``
            listed = self.shared[told[0]]
        if listed is not None or self.is_shared(variable):
            return _is_below(host, listed or ()) and self.of_anybody.search(host) is None
        labels = [label.replace("-", "") for label in host.split(".")]
        if len(labels) < 2:
            return False
        registered = registered_labels(labels)[0]
        joined = "".join(words).lower()
        own = {registered, registered + labels[-1]}
        return any(len(name) >= _SHORTEST and name in own for name in (joined, words[0].lower()))


def hosts_by_place(capabilities: Iterable[Capability]) -> Mapping[tuple[str, int], set[str]]:
    """The hosts that each line connects to, by path and line."""
    places: dict[tuple[str, int], set[str]] = defaultdict(set)
    for item in capabilities:
        if item.kind == "network":
            places[item.evidence.path, item.evidence.line].add(item.value)
    return places


def shared_at(capabilities: Iterable[Capability]) -> set[str]:
    """The hosts of the programs among the capabilities that are there to show files to others: gists, drops, sites.

    One part of a tool may fill the file that another one shows.
    """
    known = table("shell")["publishing"]
    programs = {item.value for item in capabilities if item.kind == "binary"} & known.keys()
    return {known[name]["host"] for name in programs if known[name].get("shows")}


def hosts_in(text: str) -> set[str]:
    """The hosts of the addresses that stand in `text`."""
    return {found[1] for found in _HOST.finditer(text)}


def stays_with(variable: str, hosts: Iterable[str]) -> bool:
    """True where each host is the service's own, this machine, or one that the tool does not know (``*``)."""
    return all(host == "*" or host_of(host).local or services().owns(variable, host) for host in hosts)


def is_setting_of(variable: str, setting: str, texts: Iterable[str]) -> bool:
    """True for ``ACME_BASE_URL`` beside the variable ``ACME_API_KEY``, when no text sets it to a host of others."""
    first, other = (services().words(name)[:1] for name in (variable, setting))
    if not first or first != other:
        return False
    puts = re.compile(rf"\b{re.escape(setting)}\b[\"'`]?\]?[ \t]*(?::|=(?!=))[ \t]*[\"'`]?(?P<value>[^\s\"'`,;]*)")
    values = {found["value"] for text in texts if setting in text for found in puts.finditer(text)}
    hosts = {host_of(value).name for value in values if not _READING.match(value)}
    return "*" not in hosts and stays_with(variable, hosts)


def _is_below(host: str, domains: Iterable[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


@cache
def services() -> Services:
    """The services that this version knows."""
    data = table("services")
    return Services(
        frozenset(data["generic"]),
        {word: tuple(domains) for word, domains in data["shared"].items()},
        {word: tuple(domains) for word, domains in data["known_as"].items()},
        {program: tuple(domains) for program, domains in data["logins"].items()},
        data["spelled_out"],
        compiled("|".join(data["of_anybody"])),
        {program: tuple(names) for program, names in data["login_names"].items()},
    )

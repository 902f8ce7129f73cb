"""What an address in code means: the host it names, and whether that host is this machine or a bare number."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillkeep.auditor.compiled import compiled

__all__ = ["Host", "host_of", "is_below_country", "is_hidden", "is_near", "registered_labels"]

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_URL = compiled(
    r"^\s*(?:[a-z][a-z0-9+.-]{1,15}:)?//(?:[^/@\\\s?#]*@)?(\[[0-9a-fA-F:.]+\]|[^/:?#\s\"'<>\\]+)", re.IGNORECASE
)
_BARE = compiled(
    r"^\s*(?:[\w.+-]+@)?((?:[a-z0-9_-]+\.)+[a-z]{2,24}|\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d+)?(?:[/?#]|\s*$)",
    re.IGNORECASE,
)
_BELOW_COUNTRIES = frozenset({"ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"})
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "host.docker.internal"})
_NEAR: tuple[_Network, ...] = tuple(
    ipaddress.ip_network(block)
    for block in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),  # RFC 1918, 6598, 4193
        *("169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "255.255.255.255/32", "ff00::/8"),  # one link, groups
    )
)
_NEAR_NAMES = compiled(r".*\.(?:local|localhost|lan|home\.arpa)|host\.docker\.internal")
_NO_HOST = compiled(r"[0-9]+(?:\.[0-9]+){4,}")  # no address has five numbers, no name ends in one (WHATWG URL)
_NUMBER = r"(?:0x[0-9a-f]{1,8}|\d{1,11})"
_COUNTED = compiled(rf"0x[0-9a-f]{{1,8}}|\d{{6,11}}|{_NUMBER}(?:\.{_NUMBER}){{1,3}}")
_SHOWN = compiled(r"(?:.*\.)?example\.(?:com|net|org)")  # RFC 2606, 3


@dataclass(frozen=True)
class Host:
    """`name` is the host, or ``*`` when the code does not tell. `local`: this machine. `bare`: an address, no name."""

    name: str
    local: bool = False
    bare: bool = False

    @property
    def near(self) -> bool:
        """True for this machine and for what lies in its own network: nobody else hears what is sent there."""
        if not self.bare:
            named = _NEAR_NAMES.fullmatch(self.name) or _NO_HOST.fullmatch(self.name)
            return self.local or named is not None
        address = ipaddress.ip_address(self.name)
        return self.local or any(address in network for network in _NEAR)

    @property
    def shown(self) -> bool:
        """True for a name that is kept for documentation and belongs to nobody."""
        return _SHOWN.fullmatch(self.name) is not None


def host_of(text: str, hole: str = "\uf8ff") -> Host:
    """The host that the URL or address `text` names; a `hole` in it makes it unknown."""
    found = _URL.match(text[:2048]) or _BARE.match(text[:2048])
    if found is None:
        return Host("*")
    name = found[1].strip("[]").rstrip(".").lower()
    if hole in name or "{" in name or "$" in name or "%" in name:
        tail = name.rpartition(hole)[2] if hole in name else ""
        return Host(f"*{tail}" if tail.count(".") >= 2 or (tail.startswith(".") and "." in tail[1:]) else "*")
    return _named(name)


def is_hidden(host: Host, text: str) -> bool:
    """True for a host elsewhere that `text`, from which a decoder made its address, does not spell."""
    return "." in host.name and not host.local and not host.name.startswith("*") and host.name not in text.lower()


def is_near(value: str) -> bool:
    """True for a host (as a capability names it) in one's own network, and for one that the code does not tell."""
    return value == "*" or _named(value.strip("[]").rstrip(".").lower()).near


def is_below_country(labels: Sequence[str]) -> bool:
    """True for the labels of a host below one like ``co.uk``, whose last two labels are nobody's name."""
    return len(labels) > 1 and len(labels[-1]) == 2 and labels[-2] in _BELOW_COUNTRIES


def registered_labels(labels: Sequence[str]) -> Sequence[str]:
    """The label that somebody registered and what it is below: ``acme``, ``co`` and ``uk`` of ``api.acme.co.uk``."""
    return labels[-3 if is_below_country(labels) else -2 :]


def _named(name: str) -> Host:
    if name in _LOCAL_NAMES:
        return Host(name, local=True)
    try:
        address = ipaddress.ip_address(_counted(name) if _COUNTED.fullmatch(name) else name)
    except ValueError:
        return Host(name)
    return Host(str(address), local=address.is_loopback or address.is_unspecified, bare=True)


def _counted(name: str) -> int | str:
    """The address that ``inet_aton`` reads in fewer numbers than four, or in others than decimal ones."""
    *first, last = (int(part, 8 if re.fullmatch(r"0[0-7]+", part) else 0) for part in name.split("."))
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        return name
    return sum(number << 8 * (3 - place) for place, number in enumerate(first)) + last

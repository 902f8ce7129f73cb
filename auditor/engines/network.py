"""What an address in code means: the host it names, and whether that host is this machine or a bare number."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Host", "host_of", "is_below_country", "is_hidden", "registered_labels"]

_URL = re.compile(
    r"^\s*(?:[a-z][a-z0-9+.-]{1,15}:)?//(?:[^/@\\\s?#]*@)?(\[[0-9a-fA-F:.]+\]|[^/:?#\s\"'<>\\]+)", re.IGNORECASE
)
_BARE = re.compile(
    r"^\s*(?:[\w.+-]+@)?((?:[a-z0-9_-]+\.)+[a-z]{2,24}|\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d+)?(?:[/?#]|\s*$)",
    re.IGNORECASE,
)
_BELOW_COUNTRIES = frozenset({"ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"})
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "host.docker.internal"})


@dataclass(frozen=True)
class Host:
    """`name` is the host, or ``*`` when the code does not tell. `local`: this machine. `bare`: an address, no name."""

    name: str
    local: bool = False
    bare: bool = False


def host_of(text: str, hole: str = "\uf8ff") -> Host:
    """The host that the URL or address `text` names; a `hole` in it makes it unknown."""
    found = _URL.match(text[:2048]) or _BARE.match(text[:2048])
    if found is None:
        return Host("*")
    name = found[1].strip("[]").rstrip(".").lower()
    if hole in name or "{" in name or "$" in name or "%" in name:
        tail = name.rpartition(hole)[2] if hole in name else ""
        return Host(f"*{tail}" if tail.count(".") >= 2 or (tail.startswith(".") and "." in tail[1:]) else "*")
    if name in _LOCAL_NAMES:
        return Host(name, local=True)
    try:
        address = ipaddress.ip_address(int(name, 0) if re.fullmatch(r"0x[0-9a-f]{1,8}|\d{6,10}", name) else name)
    except ValueError:
        return Host(name)
    return Host(str(address), local=address.is_loopback or address.is_unspecified, bare=True)


def is_hidden(host: Host, text: str) -> bool:
    """True for a host elsewhere that `text`, from which a decoder made its address, does not spell."""
    return "." in host.name and not host.local and not host.name.startswith("*") and host.name not in text.lower()


def is_below_country(labels: Sequence[str]) -> bool:
    """True for the labels of a host below one like ``co.uk``, whose last two labels are nobody's name."""
    return len(labels) > 1 and len(labels[-1]) == 2 and labels[-2] in _BELOW_COUNTRIES


def registered_labels(labels: Sequence[str]) -> Sequence[str]:
    """The label that somebody registered and what it is below: ``acme``, ``co`` and ``uk`` of ``api.acme.co.uk``."""
    return labels[-3 if is_below_country(labels) else -2 :]

"""Which hosts and ports a run may reach, and which addresses a granted name may stand for.

A name is compared as a whole after one normalisation; what cannot be a host name is refused before it is compared. The
address that is dialled is the one that was looked up and checked, so a name that changes its mind in between
(rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["AllowList", "Refused", "check_address", "literal", "normal_host", "parse_entry"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_LONGEST = 253


class Refused(Exception):  # noqa: N818 -- an answer, not a fault
    """An attempt that is not let through; the text says why."""


@dataclass(frozen=True)
class AllowList:
    """What was granted: host (a name, ``*.name`` or an address) and port pairs."""

    entries: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, grants: Iterable[str]) -> AllowList:
        """The list of ``HOST:PORT`` texts. Raises ValueError for one that is neither."""
        return cls(frozenset(parse_entry(grant) for grant in grants))

    def check(self, host: str, port: int) -> str:
        """The normal form of a granted host. Raises Refused."""
        name = normal_host(host)
        above = name.split(".")
        wild = [] if literal(name) else ["*." + ".".join(above[depth:]) for depth in range(1, len(above))]
        if not any((each, port) in self.entries for each in (name, *wild)):
            raise Refused(f"{name}:{port} was not granted")
        return name


def parse_entry(text: str) -> tuple[str, int]:
    """Host in normal form and port of ``HOST:PORT``; an IPv6 address stands in brackets. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or len(port) > 5 or not 0 < int(port) < 65_536:
        raise ValueError(f"{text!r} is not HOST:PORT")
    wild, name = ("*.", host[2:]) if host.startswith("*.") else ("", host)
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    try:
        name = normal_host(name)
    except Refused as error:
        raise ValueError(str(error)) from error
    if wild and (literal(name) or "." not in name):
        raise ValueError(f"{text!r}: a wildcard needs a domain below it")
    return wild + name, int(port)


def normal_host(host: str) -> str:
    """Lower case without a final dot; an address in its one spelling. Raises Refused for what is no host.

    Numbers that only old resolvers take for an address (``2130706433``, ``0x7f.1``, ``0177.0.0.1``, ``127.1``), user
    names, ports, escapes, white space, NUL and letters beyond ASCII are no part of a host.
    """
    name = host[:-1] if host.endswith(".") else host
    name = name.lower() if name.isascii() else ""
    if (address := literal(name)) is not None:
        return str(_unwrapped(address))
    labels = name.split(".")
    if not 0 < len(name) <= _LONGEST or not all(_LABEL.fullmatch(label) for label in labels):
        raise Refused("that is not a host name")
    if _NUMBER.fullmatch(labels[-1]):
        raise Refused("that is not an address in the usual form")
    return name


def literal(host: str) -> Address | None:
    """The address a host spells out, or None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return None if getattr(address, "scope_id", None) else address


def check_address(name: str, text: str) -> str:
    """An address that `name` was found to have, if it may be dialled. Raises Refused.

    Private, loopback, link-local, multicast, reserved and metadata addresses are dialled only when the grant names
    the very address, or ``localhost``.
    """
    address = literal(text.partition("%")[0])
    if address is None:
        raise Refused(f"{name} has no usable address")
    address = _unwrapped(address)
    named = literal(name) == address or (name == "localhost" and address.is_loopback)
    if not named and not (address.is_global and not address.is_multicast):
        raise Refused(f"{name} leads to {address}, which is not a public address")
    return str(address)


def _unwrapped(address: Address) -> Address:
    """The IPv4 address inside of an IPv6 one, however it is wrapped."""
    if isinstance(address, ipaddress.IPv6Address):
        for inner in (address.ipv4_mapped, address.sixtofour, address.teredo[1] if address.teredo else None):
            if inner is not None:
                return inner
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

"""What names a place in a network: a host in its one spelling and a port.

A grant is checked with this where it is given, and again where it is enforced.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

__all__ = ["Address", "literal", "normal_host", "parse_place", "place_text", "unwrapped"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER: Final = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_LONGEST: Final = 253
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


def parse_place(text: str) -> tuple[str, int]:
    """Host in normal form and port of ``HOST:PORT``; an IPv6 address stands in brackets. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or len(port) > 5 or not 0 < int(port) < 65_536:
        raise ValueError(f"{text!r} is not HOST:PORT")
    wild, name = ("*.", host[2:]) if host.startswith("*.") else ("", host)
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    elif ":" in name:
        raise ValueError(f"{text!r}: an IPv6 address stands in brackets")
    name = normal_host(name)
    if wild and (literal(name) or "." not in name):
        raise ValueError(f"{text!r}: a wildcard needs a domain below it")
    return wild + name, int(port)


def place_text(host: str, port: int) -> str:
    """``HOST:PORT`` as `parse_place` reads it; empty for what is no host, and so cannot be granted."""
    text = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        name, port = parse_place(text)
    except ValueError:
        return ""
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def normal_host(host: str) -> str:
    """Lower case without a final dot; an address in its one spelling. Raises ValueError for what is no host.

    Numbers that only old resolvers take for an address (``2130706433``, ``0x7f.1``, ``0177.0.0.1``, ``127.1``), user
    names, ports, escapes, white space, NUL and letters beyond ASCII are no part of a host.
    """
    name = host[:-1] if host.endswith(".") else host
    name = name.lower() if name.isascii() else ""
    if (address := literal(name)) is not None:
        return str(unwrapped(address))
    labels = name.split(".")
    if not 0 < len(name) <= _LONGEST or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("that is not a host name")
    if _NUMBER.fullmatch(labels[-1]):
        raise ValueError("that is not an address in the usual form")
    return name


def literal(host: str) -> Address | None:
    """The address a host spells out, or None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return None if getattr(address, "scope_id", None) else address


def unwrapped(address: Address) -> Address:
    """The IPv4 address inside of an IPv6 one, however it is wrapped."""
    if isinstance(address, ipaddress.IPv6Address):
        for inner in (address.ipv4_mapped, address.sixtofour, address.teredo[1] if address.teredo else None):
            if inner is not None:
                return inner
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address

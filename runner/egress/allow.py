"""Which hosts and ports a run may reach, and which addresses a granted name may stand for.

A name is compared as a whole after one normalisation; what cannot be a host name is refused before it is compared. The
address that is dialled is the one that was looked up and checked, so a name that changes its mind in between
(rebinding) gains nothing.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from skillkeep.hosts import literal, normal_host, parse_place, unwrapped

__all__ = ["AllowList", "Refused", "check_address", "refuse_own"]


# Not private by their registry, or not by every version of Python's, and no places of the internet all the same: a
# cloud's own service for its machines, protocol assignments, old site-local addresses, local translation prefixes.
_NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "64:ff9b:1::/48"))
)


_NOBODYS = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


class Refused(Exception):  # noqa: N818 -- an answer, not a fault
    """An attempt that is not let through; the text says why."""


@dataclass(frozen=True)
class AllowList:
    """What was granted: host (a name, ``*.name`` or an address) and port pairs."""

    entries: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, grants: Iterable[str]) -> AllowList:
        """The list of ``HOST:PORT`` texts. Raises ValueError for one that is neither."""
        return cls(frozenset(parse_place(grant) for grant in grants))

    def check(self, host: str, port: int) -> str:
        """The normal form of a granted host. Raises Refused."""
        try:
            name = normal_host(host)
        except ValueError as error:
            raise Refused(str(error)) from error
        above = name.split(".")
        wild = [] if literal(name) else ["*." + ".".join(above[depth:]) for depth in range(1, len(above))]
        if not any((each, port) in self.entries for each in (name, *wild)):
            raise Refused(f"{name}:{port} was not granted")
        return name


def check_address(name: str, text: str) -> str:
    """An address that `name` was found to have, if it may be dialled. Raises Refused.

    Private, loopback, link-local, multicast, reserved and metadata addresses are dialled only when the grant names
    the very address, or ``localhost``.
    """
    address = literal(text.partition("%")[0])
    if address is None:
        raise Refused(f"{name} has no usable address")
    address = unwrapped(address)
    named = literal(name) == address or (name == "localhost" and address.is_loopback)
    public = address.is_global and not address.is_multicast and not any(address in each for each in _NOT_PUBLIC)
    if not named and not public:
        raise Refused(f"{name} leads to {address}, which is not a public address")
    return str(address)


def refuse_own(name: str, address: str) -> None:
    """Raise Refused for an address of this machine, public or not, unless the grant names it (or ``localhost``)."""
    if name != "localhost" and literal(name) != literal(address) and _is_own(address):
        raise Refused(f"{name} leads to {address}, which is this machine")


def _is_own(address: str) -> bool:
    """True where what is sent to the address would be sent from there. Nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asking:  # there may be no way there
        asking.connect((address, 9))
        if asking.getsockname()[0] == address:
            return True
    # A second address of an interface is reached from its first; only this machine's can be bound to, unless any can.
    return _can_bind(family, address) and not _can_bind(family, _NOBODYS[family])


def _can_bind(family: socket.AddressFamily, address: str) -> bool:
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as bound:
        bound.bind((address, 0))
        return True
    return False

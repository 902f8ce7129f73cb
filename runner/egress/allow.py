"""Which hosts and ports a run may reach, and which addresses a granted name may stand for.

A name is compared as a whole after one normalisation; what cannot be a host name is refused before it is compared. The
address that is dialled is the one that was looked up and checked, so a name that changes its mind in between
(rebinding) gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillkeep.hosts import literal, normal_host, parse_place, unwrapped

__all__ = ["AllowList", "Refused", "check_address"]


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
    if not named and not (address.is_global and not address.is_multicast):
        raise Refused(f"{name} leads to {address}, which is not a public address")
    return str(address)

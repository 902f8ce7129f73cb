"""The two seccomp filters of a sandbox: the payload's, and the one of the init that waits for it."""

from __future__ import annotations

from functools import cache

from skillkeep.kernel.calls import AF_INET, AF_INET6, AF_UNIX, families, ordinary_rules
from skillkeep.kernel.seccomp import ALLOW, Filter

__all__ = ["init_filter", "payload_filter"]

_STREAM, _DATAGRAM = 1, 2
_INIT_CALLS = "wait4 write exit_group restart_syscall"


@cache
def payload_filter(network: bool = False) -> Filter:
    """Ordinary calls; sockets of the UNIX family only, which reach no further than the sandbox.

    With `network` also sockets of the internet families: the sandbox's network holds a loopback and the egress proxy.

    UNIX sockets may bind, listen and connect: multiprocessing and asyncio need them, the network namespace
    holds abstract names, and no socket file of the host is in sight.
    """
    rules = ordinary_rules()
    if network:
        rules["socket"] = families(AF_UNIX, AF_INET, AF_INET6, kinds=(_STREAM, _DATAGRAM))
    return Filter(rules)


@cache
def init_filter() -> Filter:
    """What init needs to reap, report and end."""
    return Filter(dict.fromkeys(_INIT_CALLS.split(), ALLOW))

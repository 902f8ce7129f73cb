"""The two seccomp filters of a sandbox: the payload's, and the one of the init that waits for it."""

from __future__ import annotations

from functools import cache

from skillkeep.kernel.calls import ordinary_rules
from skillkeep.kernel.seccomp import ALLOW, Filter

__all__ = ["init_filter", "payload_filter"]

_INIT_CALLS = "wait4 write exit_group restart_syscall"


@cache
def payload_filter() -> Filter:
    """Ordinary calls; sockets of the UNIX family only, which reach no further than the sandbox.

    UNIX sockets may bind, listen and connect: multiprocessing and asyncio need them, the network namespace
    holds abstract names, and no socket file of the host is in sight.
    """
    return Filter(ordinary_rules())


@cache
def init_filter() -> Filter:
    """What init needs to reap, report and end."""
    return Filter(dict.fromkeys(_INIT_CALLS.split(), ALLOW))

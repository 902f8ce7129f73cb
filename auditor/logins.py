"""Programs whose own login a tool takes for their own service, such as ``gcloud auth print-access-token``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.interface import Capability
from skillkeep.auditor.services import hosts_by_place, services

__all__ = ["own_logins"]

_READ = "code-credential-store"
_SENT = "code-credential-sent"


def own_logins(raws: Sequence[Raw], capabilities: Iterable[Capability]) -> frozenset[str]:
    """Programs whose token is read, is seen to go nowhere, and could only go to its own service.

    Code passes a variable from one example to the next, where nothing tells what is in it: so every host that the
    tool connects to must be the service's.
    """
    known = services()
    read = {raw.subject for raw in raws if raw.finding.rule == _READ and raw.subject in known.logins}
    read -= {raw.subject for raw in raws if raw.finding.rule == _SENT}
    if not read:
        return frozenset()
    hosts = _hosts(capabilities)
    return frozenset(name for name in read if hosts and all(known.owns(name, host) for host in hosts))


def _hosts(capabilities: Iterable[Capability]) -> set[str]:
    """All hosts that are not this machine; one unknown at a place that also names one is that one."""
    away = ({host for host in named if not host_of(host).local} for named in hosts_by_place(capabilities).values())
    return {host for named in away for host in (named - {"*"} or named)}

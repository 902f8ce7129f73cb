"""Logins that a tool takes for their own service: a program's (``gcloud auth print-access-token``), or what an agent
keeps for that service (``~/.openclaw/credentials/acme``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import LOGIN_OF, table
from skillkeep.auditor.interface import Capability
from skillkeep.auditor.services import hosts_by_place, services, shared_at

__all__ = ["kept_logins", "not_by_program", "own_logins"]

_READ = "code-credential-store"
_SENT = "code-credential-sent"
_AGENTS = frozenset({"claude", "codex", "gemini", "copilot"})  # the agent's own login, which every user of it has
_MANY = "env"  # the file with the keys of all services
_CLUSTERS = "kube"  # many tools could want it: it may meet no stranger and no unknown host
_NAMES_OF_CLUSTERS = frozenset({"=KUBE", "=KUBECONFIG", "=KUBECTL", "=KUBERNETES", "=K8S"})
# What a tool says that has to do with that login: it shows how much is used, or changes accounts.
_ACCOUNTS = frozenset(
    f"={word}"
    for word in (
        "QUOTA",
        "QUOTAS",
        "USAGE",
        "ACCOUNT",
        "ACCOUNTS",
        "LOGIN",
        "LOGINS",
        "LIMIT",
        "LIMITS",
        "OAUTH",
        "CREDENTIALS",
    )
)


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


def not_by_program(raws: Sequence[Raw], capabilities: Iterable[Capability]) -> frozenset[str]:
    """Programs that read secrets, and whose mere name among the required ones declares no secret.

    A store of all programs is never asked for one secret alone; the token of a service's own program is not excused
    where it goes to somebody else.
    """
    stores = table("shell")
    places = hosts_by_place(capabilities)
    found = set(stores["stores_of_all"]) & stores["credential_stores"].keys()
    for raw in raws:
        sent = raw.finding.rule == _SENT and raw.subject in services().logins
        if sent and not all(services().owns(raw.subject, host) for host in raw.reached(places)):
            found.add(raw.subject)
    return frozenset(found)


def kept_logins(
    raws: Sequence[Raw],
    capabilities: Iterable[Capability],
    named: frozenset[str],
    shipped: Callable[[Iterable[str]], frozenset[str]] = frozenset,
) -> frozenset[str]:
    """Logins that an agent keeps for the service that the tool says it is for, and that go nowhere else.

    `named` are words of the tool's own name and description, marked by ``=``. A host that only the user's settings
    tell is the service's, except for a login that many tools could want, and where programs that send it (their paths)
    or data of the tool name other hosts (`shipped`). What is not seen to be sent may meet no stranger among all hosts
    of the tool. The file with all keys may be read where everything goes to listed services.
    """
    known = services()
    places = hosts_by_place(capabilities)
    found = set()
    for subject in {raw.subject for raw in raws if raw.subject.startswith(LOGIN_OF)}:
        service = subject.removeprefix(LOGIN_OF)
        sent = [raw for raw in raws if raw.subject == subject and raw.finding.rule == _SENT]
        hosts = set().union(*(raw.reached(places) for raw in sent)) if sent else _hosts(capabilities)
        hosts |= shipped(raw.finding.location.path for raw in sent) if "*" in hosts else frozenset()
        if service == _MANY and hosts and all(_is_listed(host, named) for host in hosts):
            found.add(subject)
        words = [word for word in service.upper().split("_") if word]
        strict = service in _AGENTS or service == _CLUSTERS or known.is_shared("_".join((*words, "KEY")))
        says = all(f"={word}" in named for word in words) or (service == _CLUSTERS and named & _NAMES_OF_CLUSTERS)
        says = says or any(f"={word}" in named for word in known.login_names.get(service, ()))
        if not set(words) - known.generic or not says:
            continue
        if service in _AGENTS and named.isdisjoint(_ACCOUNTS):
            continue
        variable = "_".join((*words, "KEY"))
        if all(_is_of(variable, host, strict=strict) for host in hosts):
            found.add(subject)
    return frozenset(found)


def _is_listed(host: str, named: frozenset[str]) -> bool:
    """True when `host` is of a listed service that the tool says it is for: nobody else gets what is sent there."""
    known = services()
    listed = known.shared | known.known_as
    return any(f"={word}" in named and known.owns(f"{word}_KEY", host) for word in listed)


def _is_of(variable: str, host: str, *, strict: bool) -> bool:
    known = host_of(host)
    if known.local or known.shown or services().owns(variable, host):
        return True
    return not strict and (known.near or host == "*")


def _hosts(capabilities: Iterable[Capability]) -> set[str]:
    """All hosts that are not this machine; one unknown at a place that also names one is that one."""
    away = ({host for host in named if not host_of(host).local} for named in hosts_by_place(capabilities).values())
    return {host for named in away for host in (named - {"*"} or named)} | shared_at(capabilities)

"""What the engines of several languages say alike of data that leaves through a call."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from skillkeep.auditor.engines.network import Host
from skillkeep.auditor.engines.tables import subject_of
from skillkeep.auditor.services import services

__all__ = ["client_in", "leaving"]


def leaving(labels: Iterable[str], through: str, places: Sequence[Host]) -> Iterator[tuple[str, str, str]]:
    """Rule, message and subject for every secret among `labels`, and for the whole environment.

    `places` are hosts of a store that the code itself names: no declaration covers a key of somebody else's service
    there, and none the text that opens another store.
    """
    for label in sorted(labels):
        kind, _, what = label.partition(":")
        if kind in {"secret", "connection"}:
            own = kind == "secret" and all(services().owns(what, host.name) for host in places)
            yield "code-credential-sent", f"{what} flows into {through}", subject_of(what) if own else ""
    if "environment" in labels:
        yield "code-environment-sent", f"the whole environment flows into {through}", ""


def client_in(path: str, clients: Container[str]) -> str | None:
    """The longest beginning of a qualified name, up to a member or a call, that is one of `clients`."""
    ends = [found for found, sign in enumerate(path) if sign in "(."]
    return next((path[:end] for end in reversed(ends) if path[:end] in clients), None)

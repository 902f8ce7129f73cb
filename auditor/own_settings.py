"""Secrets that only the user's own settings send anywhere: a key whose service's address is a setting as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.interface import Capability
from skillkeep.auditor.services import hosts_by_place, hosts_in, services, stays_with

__all__ = ["self_hosted"]

_SENT = "code-credential-sent"
_ADDRESSES = (
    "URL",
    "URI",
    "BASE_URL",
    "API_URL",
    "API_BASE",
    "HOST",
    "HOSTNAME",
    "ENDPOINT",
    "SERVER",
    "INSTANCE",
    "SITE",
    "API_HOST",
    "WEBHOOK",
    "WEBHOOK_URL",
    "SMTP_HOST",
    "SMTP_SERVER",
    "IMAP_HOST",
    "IMAP_SERVER",
)


def self_hosted(
    raws: Sequence[Raw],
    capabilities: Iterable[Capability],
    text_of: Callable[[str], str],
    shipped: Callable[[], frozenset[str]] = frozenset,
) -> frozenset[str]:
    """Keys of a service that the user runs: ``ACME_TOKEN`` beside ``ACME_URL``, where nothing else is told to get it.

    The address comes from the environment, every line that sends the key sends it to one that the tool does not know,
    to this machine or to the service's own host, and no file that reads either names another host to fall back on
    (`text_of` a path), and neither does data of the tool (`shipped`). A key that many tools share is none of these.
    """
    listed = list(capabilities)
    known, places = services(), hosts_by_place(listed)
    read = [each for each in listed if each.kind == "env"]
    kept = set()
    for subject in {raw.subject for raw in raws if raw.subject and raw.finding.rule == "code-credential-env"}:
        words = known.words(subject)
        if not words or known.is_shared(subject):
            continue
        names = {f"{'_'.join(words)}_{ending}" for ending in _ADDRESSES}
        asked = [each for each in read if each.value in names]
        sent = [raw for raw in raws if raw.subject == subject and raw.finding.rule == _SENT]
        at = [(each.evidence.path, each.evidence.line) for each in asked]
        at += [(raw.finding.location.path, raw.finding.location.line) for raw in sent]
        hosts = set().union(*(places.get(place, set()) for place in at))
        hosts |= {host for path in {path for path, _ in at} for host in hosts_in(text_of(path))}
        if asked and stays_with(subject, hosts) and stays_with(subject, shipped()):
            kept.add(subject)
    return frozenset(kept)

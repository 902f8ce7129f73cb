"""Requests to a host that no document names, with a key that the documents do name: to the user's account there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.services import services

__all__ = ["own_accounts"]

_STRANGER = "behaviour-data-to-stranger"
_SENT = "code-credential-sent"
_NEAR = 2  # lines between the request and what is seen to flow into it


def own_accounts(raws: Sequence[Raw], declared: frozenset[str]) -> frozenset[str]:
    """Subjects of sends into which a declared key of one service flows, near which nothing else is read.

    The user has that key from whoever runs the host. A key that many tools share tells nothing of the host.
    """
    strangers = [raw for raw in raws if raw.finding.rule == _STRANGER and raw.subject]
    if not strangers:
        return frozenset()
    known = services()
    keys: dict[str, list[int]] = defaultdict(list)
    for raw in raws:
        name = raw.subject
        if raw.finding.rule == _SENT and name in declared and known.words(name) and not known.is_shared(name):
            keys[raw.finding.location.path].append(raw.finding.location.line)
    found = set()
    for raw in strangers:
        at = raw.finding.location
        if any(abs(line - at.line) <= _NEAR for line in keys[at.path]):
            found.add(raw.subject)
    return frozenset(found)

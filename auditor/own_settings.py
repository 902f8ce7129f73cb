"""Secrets that only the user's own settings send anywhere: a key whose service's address is a setting as well, and an
entry of a password store that is named after the service it goes to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Capability
from skillkeep.auditor.services import hosts_by_place, hosts_in, services, stays_with

__all__ = ["own_entries", "self_hosted"]

_READ = "code-credential-store"
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
)
_ENTRY = re.compile(
    r"\bpass show [\"']?(?P<pass>[\w-]{3,40})(?:/[\w-]{1,40}){0,4}(?=[\s\"')|;&]|$)"
    r"|\bsecurity find-(?:generic|internet)-password\b[^\n|;&]{0,80}?[ ]-s "
    r"[\"']?(?P<security>[\w-]{3,40})(?=[\s\"')|;&]|$)"
    r"|\bsecret-tool lookup service [\"']?(?P<tool>[\w-]{3,40})(?=[\s\"')|;&]|$)"
)
_CHOOSING = re.compile(r"(?<=\s)-[a-ln-z]*s\b|(?<=\s)-l\b")
_STORES = ("pass", "security", "secret-tool", "keyring")
_NAME = r"[\"'](?P<name>[\w .{}$<>-]{3,60})[\"']"
_STORED = {
    "pass": (
        re.compile(r"\bpass show [\"']?(?P<name>[\w/.-]{3,80})"),
        re.compile(r"\bpass insert (?:-\w+ )*[\"']?(?P<name>[\w/.-]{3,80})"),
    ),
    "security": (
        re.compile(rf"find-(?:generic|internet)-password\b[^\n|;&]{{0,80}}?-s[\"', ]+{_NAME}"),
        re.compile(rf"add-(?:generic|internet)-password\b[^\n|;&]{{0,160}}?-s[\"', ]+{_NAME}"),
    ),
    "secret-tool": (
        re.compile(r"\bsecret-tool lookup service [\"']?(?P<name>[\w-]{3,40})"),
        re.compile(r"\bsecret-tool store\b[^\n|;&]{0,80}? service [\"']?(?P<name>[\w-]{3,40})"),
    ),
    "keyring": (
        re.compile(rf"\bget_password\(\s*{_NAME}"),
        re.compile(rf"\bset_password\(\s*{_NAME}"),
    ),
}
"""Of each store how an entry is read and how one is put into it."""


def self_hosted(
    raws: Sequence[Raw], capabilities: Iterable[Capability], text_of: Callable[[str], str]
) -> frozenset[str]:
    """Keys of a service that the user runs: ``ACME_TOKEN`` beside ``ACME_URL``, where nothing else is told to get it.

    The address comes from the environment, every line that sends the key sends it to one that the tool does not know,
    to this machine or to the service's own host, and no file that reads either names another host to fall back on
    (`text_of` a path). A key that many tools share is none of these.
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
        if asked and stays_with(subject, hosts):
            kept.add(subject)
    return frozenset(kept)


def own_entries(
    raws: Sequence[Raw], capabilities: Iterable[Capability], named: frozenset[str], text_of: Callable[[str], str]
) -> frozenset[str]:
    """Password stores of which only entries of the tool's own service are read, which go to that service alone.

    `named` are words of the tool's own name and description, marked by ``=``. What is not seen to be sent may meet no
    stranger among all hosts of the tool. What the same file puts there is its own, too.
    """
    listed = list(capabilities)
    places = hosts_by_place(listed)
    away = {each.value for each in listed if each.kind == "network" and not host_of(each.value).local}
    found = set()
    for store in _STORES:
        reads = [raw for raw in raws if raw.finding.rule == _READ and raw.subject == store]
        entries = {entry for raw in reads for entry in _entries(raw.finding.excerpt, store)}
        sent = [raw for raw in raws if raw.finding.rule == _SENT and raw.subject == store]
        reached = [places.get((raw.finding.location.path, raw.finding.location.line), {"*"}) for raw in sent]
        hosts = set().union(*reached) if sent else away
        own = bool(entries) and all(_is_own(entry, named, hosts) for entry in entries)
        if own or (reads and all(_is_stored(raw, store, text_of(raw.finding.location.path)) for raw in reads)):
            found.add(store)
    return frozenset(found)


def _is_stored(read: Raw, store: str, text: str) -> bool:
    """True where the file stores the entry that it reads, under a name that is nobody else's."""
    reading, storing = _STORED[store]
    names = {match["name"] for match in reading.finditer(read.finding.excerpt)}
    stored = {match["name"] for match in storing.finditer(text)} if names else set()
    return bool(names) and names <= stored and not any(map(_is_of_others, names))


def _is_of_others(entry: str) -> bool:
    words = [word for word in re.split(r"[^A-Za-z0-9]+", entry.upper()) if word]
    known = services()
    return not words or {"SAFE", "STORAGE"} <= set(words) or any(known.is_shared(f"{word}_KEY") for word in words)


def _entries(shown: str, store: str) -> set[str]:
    """The services whose entries a command reads; one that nobody is named after where an entry is not written down."""
    told = [match[match.lastgroup or 0] for match in _ENTRY.finditer(shown)]
    asked = max(shown.count(f"{store} "), len(_CHOOSING.findall(shown)) if store == "security" else 0)
    return set(told) if told and asked == len(told) else {""}


def _is_own(entry: str, named: frozenset[str], hosts: set[str]) -> bool:
    known = services()
    words = [word for word in re.split(r"[-_]", entry.upper()) if word]
    variable = "_".join((*words, "KEY"))
    telling = set(words) - known.generic.union(table("shell")["names_of_nobody"])
    if not telling or known.is_shared(variable) or not all(f"={word}" in named for word in words):
        return False
    return all(known.owns(variable, host) for host in hosts)

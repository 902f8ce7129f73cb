"""Undeclared keys that are a tool's own: nobody else's key has such a name, and it is seen to stay with hosts that the
documents name, or the tool is seen to be for that service; or the service's own library gets it.

A program of an API reads that API's key, and many authors forget to write its name down. A thief takes keys that lie on
many machines (`Services.is_shared`), or sends what he finds to a host that nobody is told of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.installers import is_owned
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Capability
from skillkeep.auditor.patterns import Pattern
from skillkeep.auditor.services import hosts_by_place, hosts_in, services, stays_with

__all__ = ["is_valuable", "own_keys"]

_READ = "code-credential-env"
_SENT = "code-credential-sent"
_VALUABLE = frozenset({"PRIVATE", "PASSWORD", "PASSWD", "ROOT", "MASTER", "SIGNING", "ENCRYPTION", "ADMIN"})
# A key that tells of more than one request of one interface is none that a document's word is enough for.
_WORTH_MORE = frozenset(
    {"SECRET", "PASSPHRASE", "SEED", "MNEMONIC", "KEYSTORE", "CREDENTIAL", "CREDENTIALS", "SESSION"}
)
_MOST_TOLD = 3
_DETOUR = re.compile(
    r"(?i)prox(?:y|ies)\b|verify[ \t]*=[ \t]*False|rejectUnauthorized|--(?:insecure|resolve|connect-to)|\s-k\s"
)
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<python>[\w.]+[ \t]+import[ \t]+[\w, \t]{1,80})|import[ \t]+(?P<module>[\w.]+))"
    r"|\b(?:from|require\(|import\()[ \t]*[\"'](?P<script>@?[\w./-]+)[\"']",
    re.MULTILINE,
)
_IMPORTING = r"^.*(?:from|import|require\().*$"  # a line with a match of it
_MOST_IMPORTS = 2_000
_LOGIN = re.compile(r"(?i)\bheaders\b|\bauth\s*=|authorization|bearer|x-[\w-]*(?:key|token)|(?:\s-H|--header)\s")
_CARGO = re.compile(r"\b(?:data|json|params|files|content)\s*=|\bbody\s*:|\s(?:-d|--data\S*|-F|--form)\s")


def own_keys(
    raws: Sequence[Raw],
    capabilities: Iterable[Capability],
    text_of: Callable[[str], str],
    programs: Iterable[str],
    documents: Documents,
) -> frozenset[str]:
    """Variables that may be taken for the tool's own.

    `text_of` a path; `programs` are the texts of the tool's programs. Both are read when needed, as `documents` are.
    """
    asked = {raw.subject for raw in raws if raw.subject and raw.finding.rule == _READ}
    if not asked:
        return frozenset()
    known, places = services(), hosts_by_place(capabilities)
    sent: dict[str, list[Raw]] = {}
    for raw in raws:
        if raw.finding.rule == _SENT and raw.subject in asked:
            sent.setdefault(raw.subject, []).append(raw)
    shared = {name for name in asked if known.is_shared(name)}
    single = {name for name in asked - shared if not is_valuable(name)}
    told = _told(single, sent, places, text_of, documents)
    own = {name for name in single - told if known.words(name)}
    kept = {name for name in own if all(_is_login(name, raw, places, text_of) for raw in sent.get(name, ()))}
    handed = shared - sent.keys()
    if not kept and not handed:
        return told
    hosts = {host for found in places.values() for host in found}
    imported = _imported(programs)
    return told.union(
        (name for name in handed if not imported.isdisjoint(_modules(name))),
        (
            name
            for name in kept
            if name in sent
            or not imported.isdisjoint(known.words(name))
            or any(known.owns(name, host) for host in hosts)
        ),
    )


def _told(
    names: Iterable[str],
    sent: Mapping[str, Sequence[Raw]],
    places: Mapping[tuple[str, int], set[str]],
    text_of: Callable[[str], str],
    documents: Documents,
) -> frozenset[str]:
    """Those of `names` that are seen to go, as a login, only to their own service or to hosts which the documents name.

    A bare number and a host that is not known are nobody, a request by way of another host goes there, a tool without
    documents tells nothing, and one that asks for more than `_MOST_TOLD` such keys collects them.
    """
    asked = {name for name in names if name in sent and _WORTH_MORE.isdisjoint(name.upper().split("_"))}
    asked = {name for name in asked if services().words(name)}
    if documents.silent or len(asked) > _MOST_TOLD:
        return frozenset()
    named = cache(partial(_is_named, documents))
    detour = cache(lambda path: _DETOUR.search(text_of(path)) is not None)

    def is_told(name: str, raw: Raw) -> bool:
        at = raw.finding.location
        reached = places.get((at.path, at.line), {"*"})
        stays = all(host != "*" and (stays_with(name, (host,)) or named(host)) for host in reached)
        return stays and bool(_LOGIN.search(raw.finding.excerpt)) and not detour(at.path)

    return frozenset(name for name in asked if all(is_told(name, raw) for raw in sent[name]))


def _is_named(documents: Documents, host: str) -> bool:
    """True where the documents name `host`, or a host of the same owner, and do not say that it is not asked."""
    host = host.lower()
    if host_of(host).bare or not re.fullmatch(r"[a-z0-9.-]+\.[a-z]{2,24}", host):
        return False
    domain = ".".join(host.split(".")[-2:])
    shown = re.escape(domain if is_owned(f"https://{host}") else host)
    below = r"(?:[\w-]+\.){0,4}" if is_owned(f"https://{host}") else ""
    return documents.says(rf"(?<![\w.-]){below}{shown}(?![\w-]|\.\w)")


def is_valuable(name: str) -> bool:
    """True for a variable whose name tells of more than an API's key: a private key, a password, what signs."""
    return not _VALUABLE.isdisjoint(name.upper().split("_"))


def _is_login(name: str, raw: Raw, places: Mapping[tuple[str, int], set[str]], text_of: Callable[[str], str]) -> bool:
    """True where a key goes into a header, to the key's own service or to a host that only the user's settings tell.

    Of the latter the file must not name another one to fall back on.
    """
    shown = raw.finding.excerpt
    return bool(_LOGIN.search(shown)) and not _CARGO.search(shown) and stays_with(name, _reached(raw, places, text_of))


def _reached(raw: Raw, places: Mapping[tuple[str, int], set[str]], text_of: Callable[[str], str]) -> set[str]:
    """The hosts that a line connects to; where that is not known whole, every host of the file as well."""
    path = raw.finding.location.path
    reached = set(places.get((path, raw.finding.location.line), {"*"}))
    return reached | hosts_in(text_of(path)) if "*" in reached else reached


def _imported(programs: Iterable[str]) -> frozenset[str]:
    """The words of what the programs import, in upper case: ``google.genai`` is GOOGLE and GENAI."""
    words: set[str] = set()
    for text in programs:
        for found in islice(_imports(text), _MOST_IMPORTS):
            words.update(word for word in re.split(r"[^A-Za-z0-9]+", found[found.lastgroup or 0].upper()) if word)
    return frozenset(words)


def _imports(text: str) -> Iterator[re.Match[str]]:
    data = text.encode()
    for start, end in _importing().spans(data, len(data)):
        yield from _IMPORT.finditer(data[start:end].decode())


@cache
def _importing() -> Pattern:
    return Pattern(_IMPORTING)


def _modules(name: str) -> frozenset[str]:
    words = [word for word in services().words(name) if word in services().shared]
    return frozenset(words).union(*(_libraries().get(word, ()) for word in words))


@cache
def _libraries() -> dict[str, tuple[str, ...]]:
    return {word: tuple(modules) for word, modules in table("services")["libraries"].items()}

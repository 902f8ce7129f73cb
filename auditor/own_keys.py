"""Undeclared keys that are a tool's own: nobody else's key has such a name and the tool is seen to be for that service,
or the service's own library gets it; and none of them is seen to be put into what is sent.

A program of an API reads that API's key, and many authors forget to write its name down. A thief takes keys that lie on
many machines (`Services.is_shared`), or sends what he finds as data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Capability
from skillkeep.auditor.patterns import Pattern
from skillkeep.auditor.services import hosts_by_place, hosts_in, services, stays_with

__all__ = ["is_valuable", "own_keys"]

_READ = "code-credential-env"
_SENT = "code-credential-sent"
_VALUABLE = frozenset({"PRIVATE", "PASSWORD", "PASSWD", "ROOT", "MASTER", "SIGNING", "ENCRYPTION", "ADMIN"})
_IMPORT = compiled(
    r"^[ \t]*(?:from[ \t]+(?P<python>[\w.]+[ \t]+import[ \t]+[\w, \t]{1,80})|import[ \t]+(?P<module>[\w.]+))"
    r"|\b(?:from|require\(|import\()[ \t]*[\"'](?P<script>@?[\w./-]+)[\"']",
    re.MULTILINE,
)
_IMPORTING = r"^.*(?:from|import|require\().*$"  # a line with a match of it
_MOST_IMPORTS = 2_000
_LOGIN = compiled(r"(?i)\bheaders\b|\bauth\s*=|authorization|bearer|x-[\w-]*(?:key|token)|(?:\s-H|--header)\s")
_CARGO = compiled(r"\b(?:data|json|params|files|content)\s*=|\bbody\s*:|\s(?:-d|--data\S*|-F|--form)\s")


def own_keys(
    raws: Sequence[Raw],
    capabilities: Iterable[Capability],
    text_of: Callable[[str], str],
    programs: Iterable[str],
    shipped: Callable[[], frozenset[str]] = frozenset,
) -> frozenset[str]:
    """Variables that may be taken for the tool's own.

    `text_of` a path; `programs` are the texts of the tool's programs; `shipped` the hosts that data of the tool names.
    All are read when needed.
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
    own = {name for name in asked - shared if known.words(name) and not is_valuable(name)}

    def hosts_of(path: str) -> set[str]:
        return hosts_in(text_of(path)) | shipped()

    kept = {name for name in own if all(_is_login(name, raw, places, hosts_of) for raw in sent.get(name, ()))}
    handed = shared - sent.keys()
    if not kept and not handed:
        return frozenset()
    hosts = {host for found in places.values() for host in found}
    imported = _imported(programs)
    return frozenset(
        {name for name in handed if not imported.isdisjoint(_modules(name))}
        | {
            name
            for name in kept
            if name in sent
            or not imported.isdisjoint({*known.words(name), *_modules(name)})
            or any(known.owns(name, host) for host in hosts)
        }
    )


def is_valuable(name: str) -> bool:
    """True for a variable whose name tells of more than an API's key: a private key, a password, what signs."""
    return not _VALUABLE.isdisjoint(name.upper().split("_"))


def _is_login(
    name: str, raw: Raw, places: Mapping[tuple[str, int], set[str]], hosts_of: Callable[[str], set[str]]
) -> bool:
    """True where a key goes into a header, to the key's own service or to a host that only the user's settings tell.

    Of the latter neither the file nor data of the tool must name another one to fall back on.
    """
    path, shown = raw.finding.location.path, raw.finding.excerpt
    if not _LOGIN.search(shown) or _CARGO.search(shown):
        return False
    reached = set(places.get((path, raw.finding.location.line), {"*"}))
    if "*" in reached:
        reached |= hosts_of(path)
    return stays_with(name, reached)


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
    known = services()
    words = [word for word in known.words(name) if word in known.shared or word in known.known_as]
    return frozenset(words).union(*(_libraries().get(word, ()) for word in words))


@cache
def _libraries() -> dict[str, tuple[str, ...]]:
    return {word: tuple(modules) for word, modules in table("services")["libraries"].items()}

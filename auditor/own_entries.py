"""Entries of password stores that are a tool's own: of its service, put there by itself, or told of by its pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Capability
from skillkeep.auditor.services import hosts_by_place, hosts_in, services, shared_at

__all__ = ["own_entries"]

_READ = "code-credential-store"
_SENT = "code-credential-sent"
_ENTRY = compiled(
    r"\bpass show [\"']?(?P<pass>[\w-]{3,40})(?:/[\w-]{1,40}){0,4}(?=[\s\"')|;&]|$)"
    r"|\bsecurity find-(?:generic|internet)-password\b[^\n|;&]{0,80}?[ ]-s "
    r"[\"']?(?P<security>[\w-]{3,40})(?=[\s\"')|;&]|$)"
    r"|\bsecret-tool lookup service [\"']?(?P<tool>[\w-]{3,40})(?=[\s\"')|;&]|$)"
)
_CHOOSING = compiled(r"(?<=\s)-[a-ln-z]*s\b|(?<=\s)-l\b")
_NAME = r"[\"'](?P<name>[\w .{}$<>-]{3,60})[\"']"
_FOREIGN = compiled(
    r"(?i)safe storage|-credentials\b|gh:github|login\.keychain|find_?credentials|dump-keychain|search --all"
)
"""Names of other programs' entries, and what reads more than one."""
_VAULT = compiled(
    r"op://[\w .-]{1,60}(?=/)|\bvault create[ \t]+[\"']?[\w .-]{1,60}|--vault[\"', =]{1,6}[\w .-]{1,60}"
    r"|(?i:\bvault)[ \t]*=[ \t]*[\"'][\w .-]{1,60}[\"']"
)
"""Where the user's own name of a group of entries stands: no program's."""
_LISTS = compiled(r"\b(?:bw|op)\b[\s\"',]+(?:list|export)\b")
_VARIABLE = compiled(
    r"(?:\bget_password\(\s*|\s-s[\"', ]+|\slookup service [\"']?)"
    r"(?:\$\{?(?P<shell>\w{1,40})|(?P<code>[A-Za-z_]\w{0,40})(?=\s*[,)\]]))"
)
_TOLD = {
    "pass": r"\bpassword[- ]store\b|\bpass (?:show|insert)\b",
    "security": r"\bkey-?chains?\b",
    "secret-tool": r"\bkey-?rings?\b|\blibsecret\b|\bsecret-tool\b|\bkey-?chains?\b",
    "keyring": r"\bkey-?rings?\b|\bkey-?chains?\b|\bcredential manager\b",
    "op": r"\b1-?password\b",
    "bw": r"\bbit-?warden\b",
}
"""How a page calls each store."""
_STORED = {
    "pass": (
        compiled(r"\bpass show [\"']?(?P<name>[\w/.-]{3,80})"),
        compiled(r"\bpass insert (?:-\w+ )*[\"']?(?P<name>[\w/.-]{3,80})"),
    ),
    "security": (
        compiled(rf"find-(?:generic|internet)-password\b[^\n|;&]{{0,80}}?-s[\"', ]+{_NAME}"),
        compiled(rf"add-(?:generic|internet)-password\b[^\n|;&]{{0,160}}?-s[\"', ]+{_NAME}"),
    ),
    "secret-tool": (
        compiled(r"\bsecret-tool lookup service [\"']?(?P<name>[\w-]{3,40})"),
        compiled(r"\bsecret-tool store\b[^\n|;&]{0,80}? service [\"']?(?P<name>[\w-]{3,40})"),
    ),
    "keyring": (
        compiled(rf"\bget_password\(\s*{_NAME}"),
        compiled(rf"\bset_password\(\s*{_NAME}"),
    ),
}
"""Of each store how an entry is read and how one is put into it."""
_BY_CONSTANT = r"\b(?P<how>get|set|delete)_password\(\s*(?:self\.)?{name}\s*,"
_CONSTANT = compiled(r"\bget_password\(\s*(?:self\.)?(?P<name>[A-Za-z_]\w{2,40})\s*,")
_WRITTEN = (
    r"(?m)^[ \t]*(?:self\.)?{name}(?:[ \t]*:[ \t]*(?:str|Final(?:\[str\])?))?[ \t]*=[ \t]*"
    rf"{_NAME.replace('{}', '')}[ \t]*(?:#.*)?\r?$"
)
_CHANGES = compiled(r"setattr|__dict__|\bvars\s*\(|\b(?:exec|eval|globals|locals)\s*\(|__class__")
"""What may put something else under a name without spelling it."""


def own_entries(
    raws: Sequence[Raw],
    capabilities: Iterable[Capability],
    named: frozenset[str],
    text_of: Callable[[str], str],
    pages: Callable[[], Iterable[str]],
    texts: Callable[[], Iterable[str]] = tuple,
) -> frozenset[str]:
    """Password stores of which only entries of the tool's own service are read, which go to that service alone.

    `named` are words of the tool's own name and description, marked by ``=``. What is not seen to be sent may meet no
    stranger among all hosts of the tool. What the same file puts there is its own, too, and so is the one entry that a
    program asks for where `pages`, the texts of the tool's pages, tell of the store and nothing is seen to be sent.
    `texts` are all texts of the tool, in which a constant that names an entry may stand nowhere else.
    """
    listed = list(capabilities)
    places = hosts_by_place(listed)
    shared = shared_at(listed)
    away = {each.value for each in listed if each.kind == "network" and not host_of(each.value).local} | shared
    found = set()
    for store in _TOLD:
        reads = [raw for raw in raws if raw.finding.rule == _READ and raw.subject == store]
        if not reads:
            continue
        entries = {entry for raw in reads for entry in _entries(raw.finding.excerpt, store)}
        sent = [raw for raw in raws if raw.finding.rule == _SENT and _is_of(raw, store)]
        hosts = set().union(*(raw.reached(places) for raw in sent)) if sent else away
        own = all(_is_own(entry, named, hosts) for entry in entries)
        files = {path: text_of(path) for path in {raw.finding.location.path for raw in reads}}
        own = own or all(_is_stored(raw, store, files[raw.finding.location.path], texts) for raw in reads)
        one = not own and not sent and not shared and all(_asks_for_one(raw, store, files) for raw in reads)
        reaches = hosts | {host for text in files.values() for host in hosts_in(text)}
        if own or (one and _is_told(store, pages())) or _bears_name(entries, store, named, reaches, pages):
            found.add(store)
    return frozenset(found)


def _bears_name(
    entries: set[str], store: str, named: frozenset[str], hosts: set[str], pages: Callable[[], Iterable[str]]
) -> bool:
    """True for entries that have the tool's own name and that its pages name beside the store.

    They go where the user's settings tell, or to the service that they are named after.
    """
    known = services()
    for entry in entries:
        words = [word for word in re.split(r"[-_]", entry.upper()) if word]
        telling = set(words) - known.generic.union(table("shell")["names_of_nobody"])
        if not telling or not all(f"={word}" in named for word in words):
            return False
        if any(host != "*" and not any(known.owns(f"{word}_KEY", host) for word in telling) for host in hosts):
            return False
        line = re.compile(
            rf"(?i)(?:{_TOLD[store]})[^\n]{{0,200}}\b{entry}\b|\b{entry}\b[^\n]{{0,200}}(?:{_TOLD[store]})"
        )
        if not any(line.search(text) for text in pages()):
            return False
    return bool(entries)


def _is_of(sent: Raw, store: str) -> bool:
    return sent.subject == store or sent.finding.message.startswith(f"{store} ")


def _is_told(store: str, pages: Iterable[str]) -> bool:
    told = re.compile(_TOLD[store], re.IGNORECASE)
    return any(told.search(text) for text in pages)


def _asks_for_one(read: Raw, store: str, files: Mapping[str, str]) -> bool:
    """True for one entry at a time, and where neither it nor another one of its file is known for somebody else's."""
    shown, text = read.finding.excerpt, files[read.finding.location.path]
    names = {match["name"] for pattern in _STORED.get(store, ())[:1] for match in pattern.finditer(f"{shown}\n{text}")}
    names |= _entries(shown, store) - {""}
    others = _FOREIGN.search(_VAULT.sub("", text) if store == "op" else text) or _LISTS.search(text)
    asked = {match[match.lastgroup or 0] for match in _VARIABLE.finditer(shown)}
    looped = any(re.search(rf"\bfor\s+(?:\((?:const|let|var)\s+)?{name}\s+(?:in|of)\b", text) for name in asked)
    return (
        not others
        and not looped
        and not any(_is_of_others(name) for name in names if "$" not in name and "{" not in name)
    )


def _is_stored(read: Raw, store: str, text: str, texts: Callable[[], Iterable[str]]) -> bool:
    """True where the file stores the entry that it reads, under a name that is nobody else's."""
    if store not in _STORED:
        return False
    reading, storing = _STORED[store]
    names = {match["name"] for match in reading.finditer(read.finding.excerpt)}
    stored = {match["name"] for match in storing.finditer(text)} if names else set()
    if not names and store == "keyring":
        names = stored = _constants(read.finding.excerpt, text, texts)
    return bool(names) and names <= stored and not any(map(_is_of_others, names))


def _constants(shown: str, text: str, texts: Callable[[], Iterable[str]]) -> set[str]:
    """The entry that a constant names by which `text` stores it as well, and that stands for nothing else anywhere."""
    asked = {match["name"] for match in _CONSTANT.finditer(shown)}
    if len(asked) != 1 or shown.count("get_password") != 1:
        return set()
    name = asked.pop()
    used, written = (re.compile(each.replace("{name}", name)) for each in (_BY_CONSTANT, _WRITTEN))
    told = [match["name"] for match in written.finditer(text)]
    uses = [match["how"] for match in used.finditer(text)]
    word = re.compile(rf"\b{name}\b")
    spelled = sum(len(word.findall(each)) for each in texts())
    if len(told) != 1 or "set" not in uses or spelled != 1 + len(uses) or any(map(_CHANGES.search, texts())):
        return set()
    return set(told)


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
    if not telling or known.is_shared(variable) or not all(f"={word}" in named for word in telling):
        return False
    return all(known.owns(variable, host) for host in hosts)

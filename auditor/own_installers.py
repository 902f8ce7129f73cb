"""Installers, and pages to follow, of the very product that the tool is about, at that product's own host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.installers import is_at_home, is_own_address, is_own_repository, is_owned, product
from skillkeep.auditor.engines.intent.commonness import common_words
from skillkeep.auditor.engines.intent.followed import FOLLOWS, hides
from skillkeep.auditor.engines.interface import Context, SourceFile
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.services import services

__all__ = ["own_installers", "own_instructions", "own_pages"]

_PIPED = "shell-download-execution"
_RULES = frozenset({_PIPED, "lure-program", "lure-package"})
_PREREQUISITE = "prose-fake-prerequisite"
_REPOSITORY = compiled(
    r"https://github\.com/(?P<owner>[A-Za-z][A-Za-z0-9-]{2,38})/[\w.-]+/?(?:\?tab=readme-ov-file)?(?:#[\w-]+)?"
)
_ADDRESS = compiled(r"https://(?P<host>[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6})/[\w./{}:$~-]*")
_ENDS = "./~$-:"  # behind an address they make no other one
_INSECURE = compiled(r"\s(?:-[A-Za-z]*k[A-Za-z]*|--insecure|--no-check-certificate)\b")
_WORD = compiled(r"[A-Z0-9]+")
_MANY = 8  # different addresses of an interface
_PAGES = (".md", ".mdx", ".markdown", "install.txt", "readme.txt")
_PLAIN_STEPS = ("fence", "inline", "command line")
_SHELLS = frozenset({"bash", "cmd", "powershell", "pwsh", "sh", "zsh"})


def own_installers(raws: Sequence[Raw], named: frozenset[str]) -> frozenset[str]:
    """Subjects of downloads that are run, all of whose addresses belong to the product that the tool is named after.

    `named` has the tool's whole names, marked by ``#``, and the host of its homepage, marked by ``~``
    (`named_services`). Whoever wrote the page then also owns the host, as far as can be seen. What a description says
    counts for nothing: any word of it is somebody's host.
    Only what a page shows is excused, never what a program or a setting does as well. A script that is piped to a shell
    may also lie in a public repository that has the tool's whole name.
    """
    words = _own_words(named)
    run = [raw for raw in raws if raw.finding.rule in _RULES and raw.subject]
    found = {raw.subject for raw in run} - {raw.subject for raw in run if not _is_shown(raw)}
    piped = found - {raw.subject for raw in run if raw.finding.rule != _PIPED}
    names, homes = (_own_names(named), _homes(named)) if piped else (frozenset(), frozenset())

    def is_own(url: str, subject: str) -> bool:
        if is_own_address(url, words):
            return True
        return subject in piped and (is_own_repository(url, names) or is_at_home(url, homes))

    return frozenset(subject for subject in found if all(is_own(url, subject) for url in subject.split(" ")))


def own_instructions(raws: Sequence[Raw], named: frozenset[str], files: Iterable[SourceFile]) -> frozenset[str]:
    """Subjects of orders to fetch a page and to follow it, whose address belongs to the product in the same way.

    Or to the one service that the tool is for: most other addresses on its pages, of all `files`, are there.
    """
    found = {raw.subject.removeprefix(FOLLOWS) for raw in raws if raw.subject.startswith(FOLLOWS)}
    words = _own_words(named) if found else frozenset()
    own = {url for url in found if is_own_address(url, words)}
    rest = {url for url in found - own if is_owned(url)}
    if rest:
        pages = [file for file in files if file.path.lower().endswith(".md")]
        shown, every = _asked(_shown(pages), rest), _asked((page.text or "" for page in pages), rest)
        own |= {url for url in rest if _is_main(url, shown, every)}
    return frozenset(FOLLOWS + url for url in own)


def _shown(pages: Iterable[SourceFile]) -> Iterator[str]:
    """What a reader of the pages sees; one that could hide something from him is left out."""
    for page in pages:
        if not hides(page.text or ""):
            yield from (segment.text for segment in page.of(Context.INSTRUCTION, Context.FENCED))


def _asked(texts: Iterable[str], but: Set[str]) -> list[str]:
    """The hosts of the different addresses in `texts`, without those that are to be followed."""
    asked = {
        match[0].lower().rstrip(_ENDS): match["host"].lower() for text in texts for match in _ADDRESS.finditer(text)
    }
    return [host for address, host in asked.items() if address not in but]


def _is_main(url: str, shown: Sequence[str], every: Sequence[str]) -> bool:
    """True where the host of `url` is that of at least `_MANY` addresses which are shown, and of most of all."""
    name = url.split("/")[2].lower().removeprefix("www.")
    there = sum(host.removeprefix("www.") == name or host.endswith(f".{name}") for host in shown)
    return there >= _MANY and 2 * there > len(every)


def _homes(named: frozenset[str]) -> frozenset[str]:
    """The hosts of the tool's homepage, which are marked by ``~``."""
    return frozenset(word[1:] for word in named if word.startswith("~"))


def own_pages(raws: Sequence[Raw], named: frozenset[str], texts: Iterable[str]) -> frozenset[str]:
    """Pages of a repository that tell how to install the very product that the tool is about.

    The account has the name of the product, and so has a domain that the tool names (``homepage: https://acme.com`` for
    ``github.com/acme/cli``). Downloads, archives and other accounts are not accepted.
    """
    told = [raw for raw in raws if raw.finding.rule == _PREREQUISITE and raw.subject]
    found = {raw.subject for raw in told} - {raw.subject for raw in told if raw.finding.excerpt.count("://") != 1}
    owners = {subject: match["owner"].lower() for subject in found if (match := _REPOSITORY.fullmatch(subject))}
    words = _own_words(named) if owners else frozenset()
    own = {owner for owner in owners.values() if owner.upper() in words}
    endings = "|".join(table("shell")["plain_endings"])
    domains = {owner: re.compile(rf"https://(?:[\w-]+\.)*{owner}\.(?:{endings})\b") for owner in own}
    named_in = {owner for text in texts for owner, domain in domains.items() if domain.search(text)} if own else set()
    return frozenset(subject for subject, owner in owners.items() if owner in named_in)


def _own_names(named: frozenset[str]) -> frozenset[str]:
    """What is the tool's alone in its whole names, which are marked by ``#``."""
    found = {product(word[1:]) for word in named if word.startswith("#")} - {""}
    return frozenset(name for name in found if not services().is_shared(name))


def _own_words(named: frozenset[str]) -> frozenset[str]:
    """The whole names of the tool, and words of them that stand for one product and are none of everyday language."""
    known = services()
    nobody = known.generic.union(table("shell")["names_of_nobody"])
    names = [_WORD.findall(name.upper()) for name in named if name.startswith("#")]
    words = {word for name in names for word in name if word.lower() not in common_words()}
    own = words.union("".join(name) for name in names)
    return frozenset(word for word in own - nobody if not known.is_shared(word))


def _is_shown(raw: Raw) -> bool:
    finding = raw.finding
    plain = all(step.startswith(_PLAIN_STEPS) or step in _SHELLS for step in finding.provenance)
    return plain and not _INSECURE.search(finding.excerpt) and finding.location.path.lower().endswith(_PAGES)

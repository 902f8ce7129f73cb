"""Whether an address is an installer that its vendor documents (tables of shell and powershell), or the tool's own."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import host_of, is_below_country
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.values import HOLE

__all__ = [
    "is_at_home", "is_installer", "is_own_address", "is_own_repository", "is_owned", "is_watched",
    "piped_address", "product", "saves_installer",
]  # fmt: skip

_UNSAFE: Final = compiled(r"[0-9a-fA-F]{40}|/[0-9a-fA-F]{7,39}/|/pull/|\.\.|[%$@`{}\\" + re.escape(HOLE) + "]")
_ENDING: Final = compiled(r"(?:\.(?:sh|bash|ps1|cmd|bat))?(?:[?#].*)?")
_ADDRESS: Final = compiled(r"https?://[^\s\"'`|;)>]+")
_FETCHING: Final = compiled(r"(?i)\b(?:curl|wget|irm|iwr|Invoke-(?:RestMethod|WebRequest)|DownloadFile|urlretrieve)\b")
_OWN: Final = compiled(r"https://(?P<host>[A-Za-z0-9.-]{1,200}\.[A-Za-z]{2,10})(?:/[\w./-]*)?")
_SCRIPT_OF: Final = compiled(
    r"https://(?:raw\.githubusercontent\.com/(?P<raw>[\w.-]+/[\w.-]+)/(?:refs/heads/)?[\w.-]+"
    r"|(?:github\.com|gitee\.com|gitlab\.com|codeberg\.org)/(?P<page>[\w.-]+/[\w.-]+)"
    r"/(?:(?:-/)?raw/(?:refs/heads/|branch/)?[\w.-]+|releases/latest/download))"
    r"/(?:[\w-][\w.-]*/)*[\w-]+\.(?:sh|bash|ps1|m?js|py)"
)
_OF_WINDOWS: Final = (".ps1", ".cmd")
_PLACES: Final = frozenset({"api", "app", "cli", "dl", "download", "downloads", "get", "install", "www"})
_SHORTEST_NAMES: Final = {"com": 3}  # in letters; names this short have long been sold there, and are cheap elsewhere
_SHORTEST_NAME: Final = 4
_SHORTEST_PRODUCT: Final = 3  # of a whole name, to which a repository's has to be equal
_PIPED: Final = compiled(
    r"(?i)(?:curl|wget|irm|iwr|Invoke-(?:RestMethod|WebRequest))"
    r"(?: +(?:-[\w-]+|--proto|'?=https'?|--tlsv1\.\d|-O ?-))* +[\"']?(?P<url>[\w.:/?=&-]+)[\"']?(?: +-[\w-]+)*"
    r" *\| *(?:sudo +(?:-\w+ +)*)?(?:ba|z|da)?(?:sh|iex|Invoke-Expression)\b[^|;&$(]*"
)


def is_installer(url: str) -> bool:
    """True at or below one of the listed addresses; ``https://sh.rustup.rs.example`` is not.

    A commit's id and a pull request are not accepted: GitHub serves those of anybody's fork below the original's
    address. An address without a scheme counts as one with https.
    """
    if _UNSAFE.search(url):
        return False
    whole = url if "://" in url else f"https://{url}"
    return any(whole == known or _is_below(whole, known) for known in _installers())


def is_own_address(url: str, words: frozenset[str]) -> bool:
    """True for https at a host that is registered under one of `words` (upper case), below an ending that is not odd.

    ``https://get.acme.dev/cli.sh`` is that of ACME; ``https://acme.pages.dev/cli.sh`` is that of anybody.
    """
    if not is_owned(url):
        return False
    *_, name, ending = _host(url).split(".")
    return (
        ending in table("shell")["plain_endings"]
        and len(name) >= _SHORTEST_NAMES.get(ending, _SHORTEST_NAME)
        and name.replace("-", "").upper() in words
    )


def is_owned(url: str) -> bool:
    """True for https at a host with a name below which not everybody can have a place, and nothing odd in the rest."""
    labels = ("" if _UNSAFE.search(url) else _host(url)).split(".")
    return len(labels) > 1 and not is_below_country(labels) and ".".join(labels[-2:]) not in _hosts_of_anybody()


def is_at_home(url: str, homes: frozenset[str]) -> bool:
    """True for such an address at one of `homes`, the hosts of the tool's own homepage, or at their usual places."""
    if not homes or not is_owned(url):
        return False
    first, _, rest = (host := _host(url)).partition(".")
    return host in homes or (first in _PLACES and rest in homes)


def is_own_repository(url: str, names: frozenset[str]) -> bool:
    """True for a script in a public repository that has one of `names`, which are `product` of something.

    ``https://raw.githubusercontent.com/somebody/quoddle-cli/main/install.sh`` is that of ``quoddle``.
    """
    found = _SCRIPT_OF.fullmatch(url)
    if found is None or _UNSAFE.search(url):
        return False
    return product((found["raw"] or found["page"]).partition("/")[2]) in names


def product(name: str) -> str:
    """What is left of the name of a tool or a repository, in upper case, without words that many have (``cli``).

    Empty where that is too short to be anybody's.
    """
    table_of_shell = table("shell")
    common = {"A", "AN", "THE", *table_of_shell["names_of_nobody"], *table_of_shell["kinds_of_program"]}
    left = "".join(word for word in re.findall(r"[A-Z0-9]+", name.upper()) if word not in common)
    return left if len(left) >= _SHORTEST_PRODUCT else ""


def is_watched(url: str) -> bool:
    """True at a public forge, a mirror or a host that many look at: what lies there is no secret of its author's."""
    host = host_of(url).name
    mirrors: list[str] = table("acts")["mirrors"]
    return _watched().search(host) is not None or any(host == each or host.endswith(f".{each}") for each in mirrors)


def piped_address(command: str) -> str:
    """The address of a plain ``curl address | sh``, in any shell; empty for anything else."""
    found = _PIPED.fullmatch(command.strip().strip("`\"'"))
    return "" if found is None else found["url"]


def saves_installer(text: str, name: str) -> bool:
    """True when every command of `text` that saves something under `name` fetches such an address."""
    lines = [line for line in text.replace("\\\n", " ").split("\n") if name in line and _FETCHING.search(line)]
    addresses = [_ADDRESS.findall(line) for line in lines]
    return bool(addresses) and all(urls and all(map(is_installer, urls)) for urls in addresses)


def _host(url: str) -> str:
    found = _OWN.fullmatch(url)
    return "" if found is None else found["host"].lower()


def _is_below(url: str, known: str) -> bool:
    if url.startswith(known.rstrip("/") + "/"):
        return True
    is_path = known.count("/") > 2 and not known.endswith("/")
    return is_path and url.startswith(known) and bool(_ENDING.fullmatch(url, len(known)))


@cache
def _watched() -> re.Pattern[str]:
    return compiled(table("lures")["known"])


@cache
def _hosts_of_anybody() -> frozenset[str]:
    return frozenset((*table("shell")["hosts_of_anybody"], *table("acts")["platforms"]))


@cache
def _installers() -> tuple[str, ...]:
    """The listed addresses, and beside each script of a shell its twin for Windows, which is the same vendor's."""
    listed = (*table("shell")["installers"], *table("powershell")["installers"])
    known = [each if "://" in each else f"https://{each}" for each in listed]
    twins = [each.removesuffix(".sh") + ending for each in known if each.endswith(".sh") for ending in _OF_WINDOWS]
    return (*known, *twins)

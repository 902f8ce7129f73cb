"""Whether an address is an installer that its vendor documents; the list is in the tables of shell and powershell."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.values import HOLE

__all__ = ["is_installer", "runs_installer", "saves_installer"]

_UNSAFE: Final = re.compile(r"[0-9a-fA-F]{40}|/pull/|\.\.|[%$@`{}\\" + re.escape(HOLE) + "]")
_ENDING: Final = re.compile(r"(?:\.(?:sh|bash|ps1|cmd|bat))?(?:[?#].*)?")
_ADDRESS: Final = re.compile(r"https?://[^\s\"'`|;)>]+")
_FETCHING: Final = re.compile(
    r"(?i)\b(?:curl|wget|irm|iwr|Invoke-(?:RestMethod|WebRequest)|DownloadFile|urlretrieve)\b"
)
_PIPED: Final = re.compile(
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


def runs_installer(command: str) -> bool:
    """True for a plain ``curl address | sh``, in any shell, of one such address."""
    found = _PIPED.fullmatch(command.strip().strip("`\"'"))
    return found is not None and is_installer(found["url"])


def saves_installer(text: str, name: str) -> bool:
    """True when every command of `text` that saves something under `name` fetches such an address."""
    lines = [line for line in text.replace("\\\n", " ").split("\n") if name in line and _FETCHING.search(line)]
    addresses = [_ADDRESS.findall(line) for line in lines]
    return bool(addresses) and all(urls and all(map(is_installer, urls)) for urls in addresses)


def _is_below(url: str, known: str) -> bool:
    if url.startswith(known.rstrip("/") + "/"):
        return True
    is_path = known.count("/") > 2 and not known.endswith("/")
    return is_path and url.startswith(known) and bool(_ENDING.fullmatch(url, len(known)))


@cache
def _installers() -> tuple[str, ...]:
    listed = (*table("shell")["installers"], *table("powershell")["installers"])
    return tuple(known if "://" in known else f"https://{known}" for known in listed)

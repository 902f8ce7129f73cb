"""A package as a file or a command names it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["Ecosystem", "Named", "normal", "source_of"]


class Ecosystem(StrEnum):
    """Where a package comes from, in the words of package URLs (purl-spec)."""

    PYPI = "pypi"
    NPM = "npm"
    GEM = "gem"
    GO = "golang"
    CARGO = "cargo"
    BREW = "brew"


@dataclass(frozen=True)
class Named:
    """One naming of a package at ``[start, end)`` of the text it was read from.

    `spec` is the version or range as written. `source` is the address when it comes from no registry. `index` is
    another registry given beside it. `runs` is True for a runner such as ``npx``, which executes it at once.
    """

    ecosystem: Ecosystem
    name: str
    spec: str = ""
    start: int = 0
    end: int = 0
    source: str = ""
    index: str = ""
    runs: bool = False

    @property
    def pinned(self) -> str:
        """The one version that `spec` allows, or an empty text."""
        found = _EXACT.match(self.spec.strip())
        return found[1] if found and "*" not in found[1] else ""


_EXACT: Final = compiled(r"^(?:={2,3}|=|@|v)?\s*v?(\d[\w.!+*-]*)$")
_REMOTE: Final = compiled(r"(?:git\+|https?://|git://|ssh://|git@|github:|gitlab:|bitbucket:|gist:|hg\+|svn\+)\S*")
_SHORT: Final = compiled(r"^[\w.-]+/[\w.-]+(?:#[\w./-]+)?$")


def source_of(text: str, *, shorthand: bool = False) -> str:
    """The address in a version field, or an empty text; `shorthand` also takes npm's ``owner/repository``."""
    found = _REMOTE.search(text)
    if found:
        return found[0]
    return text if shorthand and _SHORT.match(text) else ""


def normal(ecosystem: Ecosystem, name: str) -> str:
    """The name as its registry compares it (PEP 503 for PyPI)."""
    return re.sub(r"[-_.]+", "-", name).lower() if ecosystem is Ecosystem.PYPI else name.lower()

"""Installers that a page documents for the very product that the tool is about, from that product's own host."""

from __future__ import annotations

from collections.abc import Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.engines.installers import is_own_address
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.services import services

__all__ = ["own_installers"]

_RULE = "shell-download-execution"
_PAGES = (".md", ".mdx", ".markdown")


def own_installers(raws: Sequence[Raw], named: frozenset[str]) -> frozenset[str]:
    """Subjects of downloads that are run, all of whose addresses belong to the product that the tool is named after.

    `named` are the words of the tool's own name and description, marked by ``=`` (`named_services`). Whoever wrote the
    page then also owns the host, as far as can be seen. A word that stands for a service of many tools, or for
    nobody, counts for nothing; and only what a page shows is excused, never a program or a setting.
    """
    known = services()
    nobody = known.generic.union(table("shell")["names_of_nobody"])
    own = {word[1:] for word in named if word.startswith("=")}
    words = frozenset(word for word in own - nobody if not known.is_shared(word))
    found = {raw.subject for raw in raws if raw.finding.rule == _RULE and raw.subject and _is_shown(raw)}
    return frozenset(subject for subject in found if all(is_own_address(url, words) for url in subject.split(" ")))


def _is_shown(raw: Raw) -> bool:
    finding = raw.finding
    plain = all(step.startswith(("fence", "inline")) for step in finding.provenance)
    return plain and finding.location.path.lower().endswith(_PAGES)

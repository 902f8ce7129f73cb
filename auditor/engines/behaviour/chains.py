"""Acts that mean harm together: the chains of rules/tables/acts.yaml, in one file and close to each other.

A chain that goes `across` counts wherever its acts stand in the tool.
A chain with `unnamed` is harm only in a tool whose documents say nothing of the kind: else it is shown, since a word
of a long page may be about something else. Of its first act, what `plain` matches is none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from skillkeep.auditor.engines.behaviour.acts import Act
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.tables import table

__all__ = ["chained"]

_ANNOUNCED: Final = "announced-behaviour"

Chained = tuple[str, Act, str]  # a rule, the act to show, and what stands together, in words


def chained(acts: Sequence[Act], documents: Documents) -> Iterator[Chained]:
    """The first place of every chain in every file. `acts` are sorted."""
    files: dict[str, dict[str, list[Act]]] = defaultdict(lambda: defaultdict(list))
    for act in acts:
        files[act.path][act.kind].append(act)
    chains = table("acts")["chains"]
    first = {act.kind: act for act in reversed(acts)}
    for chain in (each for each in chains if each.get("across")):
        if first.keys() >= set(chain["acts"]):
            found = [first[kind] for kind in chain["acts"]]
            yield chain["rule"], found[0], _shown(found)
    for kinds in files.values():
        for chain in (each for each in chains if not each.get("across")):
            groups = [kinds.get(kind, []) for kind in chain["acts"]]
            if "plain" in chain:
                groups[0] = [act for act in groups[0] if not re.search(chain["plain"], act.text)]
            found = _together(groups, chain.get("lines", 0))
            if found:
                announced = "unnamed" in chain and documents.says(chain["unnamed"])
                yield _ANNOUNCED if announced else chain["rule"], found[0], _shown(found)


def _shown(found: Sequence[Act]) -> str:
    """What stands together, in words; the file is named where it is another one than the first's."""
    own = found[0].path
    places = [f"{'' if each.path == own else each.path + ' '}line {each.line}: " for each in found]
    return ", ".join(place + " ".join(each.text.split())[:40] for place, each in zip(places, found, strict=True))


def _together(groups: list[list[Act]], lines: int) -> list[Act]:
    """One act of each group, all within `lines` of the first group's; empty when there is none."""
    if not all(groups):
        return []
    for first in groups[0]:
        near = [_near(group, first.line, lines) for group in groups[1:]]
        if all(near):
            return [first, *(each for each in near if each)]
    return []


def _near(group: list[Act], line: int, lines: int) -> Act | None:
    at = bisect_left(group, line - lines, key=lambda act: act.line)
    return group[at] if at < len(group) and group[at].line <= line + lines else None

"""The jobs of confined workers: JSON-able object in, JSON-able object out. Started by `skillkeep.confined` only."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

__all__ = ["discover", "fetch"]


def fetch(request: dict[str, Any]) -> dict[str, Any]:
    """Bring a source into quarantine. Request: `FetchOrder`; answer: ``commit``, ``proven``, ``observations``."""
    from skillkeep.ingest.fetchers.interface import FetchOrder, fetcher_for

    os.umask(0o022)
    order = FetchOrder.from_wire(request)
    return fetcher_for(order.kind).fetch(order)


def discover(request: dict[str, Any]) -> dict[str, Any]:
    """Find the tools in a fetched tree and cut out the chosen ones.

    Request: ``tree``, ``into``, ``name`` (for a tool that does not name itself), ``select``, ``all``, ``view``
    (`TreeLimits`), ``cut`` (`CutLimits`), ``room`` (bytes for all tools). Answer: ``found``, a list of all candidates,
    and ``cut``, one entry for each chosen one: ``index`` into ``found`` (and name of its folder), and ``observations``
    or ``error``.
    """
    from skillkeep.ingest.choice import choose
    from skillkeep.ingest.cut import CutLimits, cut
    from skillkeep.ingest.discovery import discover as find
    from skillkeep.ingest.discovery import unmarked
    from skillkeep.ingest.observations import to_wire
    from skillkeep.tree import TreeLimits, TreeView

    os.umask(0o022)
    with TreeView.open(request["tree"], TreeLimits(**request["view"])) as view:
        found = find(view, request["name"])
        found += unmarked(view, request["select"], found)
        chosen = choose(found, tuple(request["select"]), everything=request["all"])
        into = Path(request["into"])
        into.mkdir(mode=0o700)
        limits = CutLimits(**request["cut"])
        room = int(request["room"])  # links let each of many tools copy the same large files

        def one(index: int) -> dict[str, Any]:
            nonlocal room
            here = replace(limits, total_bytes=min(limits.total_bytes, room))
            notes, size = cut(view, found[index].path, into / str(index), here)
            room -= size
            return {"index": index, "observations": to_wire(notes.all())}

        return {
            "found": [asdict(candidate) for candidate in found],
            "cut": [_attempt(one, index) for index in chosen],
        }


def _attempt(one: Callable[[int], dict[str, Any]], index: int) -> dict[str, Any]:
    """One tool that cannot be cut must not keep the others out."""
    from skillkeep.errors import SkillkeepError

    try:
        return one(index)
    except SkillkeepError as error:
        return {"index": index, "error": error.to_json()}

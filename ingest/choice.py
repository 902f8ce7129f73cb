"""Which of the found tools are taken: the only one, the selected ones, or all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillkeep.ingest.discovery import Candidate
from skillkeep.ingest.errors import IngestError
from skillkeep.near import did_you_mean

__all__ = ["choose"]

_LISTED = 200


def choose(found: Sequence[Candidate], select: tuple[str, ...], *, everything: bool) -> list[int]:
    """Indices into `found`. `select` holds names or paths (a slash at the end says path) and reaches owned tools too;
    `everything` leaves those out.

    Raises `IngestError`: `no_artifact`, `unknown_artifact`, and `choose_artifact` when there are several and none is
    chosen; the context lists what there is.
    """
    if not found:
        raise IngestError(
            "no_artifact",
            "the source holds no skill, plugin, MCP configuration or script",
            "Point --path at the folder of the tool.",
        )
    if select:
        return sorted({_named(found, wanted) for wanted in select})
    free = [index for index, candidate in enumerate(found) if candidate.owner is None]
    if everything or len(free) == 1:
        return free
    raise IngestError(
        "choose_artifact",
        f"the source holds {len(free)} tools: {', '.join(found[index].name for index in free[:20])}"
        + (", …" if len(free) > 20 else ""),
        "Choose with --select NAME (it may be repeated), or take all with --all."
        + (" With --json all are listed." if len(free) > 20 else ""),
        artifacts=[_shown(found[index]) for index in free[:_LISTED]],
    )


def _named(found: Sequence[Candidate], wanted: str) -> int:
    for index, candidate in enumerate(found):
        if wanted == candidate.name:  # no name ends in a slash
            return index
    for index, candidate in enumerate(found):
        if wanted.strip("/") == candidate.path:
            return index
    raise IngestError(
        "unknown_artifact",
        "no tool of the source has the selected name",
        did_you_mean(wanted, [each.name for each in found]) or "See what there is: run the command without --select.",
        selected=wanted,
        artifacts=[_shown(candidate) for candidate in found[:_LISTED]],
    )


def _shown(candidate: Candidate) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "kind": str(candidate.kind),
        "path": candidate.path,
        "description": candidate.description[:200],
    }

"""What `vault update` asks of the door, made from what the vault knows of a tool."""

from __future__ import annotations

from collections.abc import Sequence

from skillkeep.ingest.request import IngestRequest
from skillkeep.vault.interface import ToolRecord

__all__ = ["update_request"]


def update_request(
    record: ToolRecord,
    *,
    ref: str | None = None,
    confirm: bool = False,
    expect: str | None = None,
    repeat: Sequence[str] = (),
) -> IngestRequest:
    """The request that takes in `record`'s tool again, from the same place of the same source, under its name."""
    return IngestRequest(
        source=record.source,
        ref=ref or record.ref,
        name=record.name,
        select=(f"{record.artifact_path}/",),  # the slash says that a path is meant, never a name
        confirm=confirm,
        expect=expect,
        least_tier=record.tier,
        repeat=repeat,
    )

"""The registry as the seeds' ``vetted_tools.json``: what a person or another program reads."""

from __future__ import annotations

from typing import Any

from skillkeep.digest import parse_digest
from skillkeep.vault.interface import ToolRecord
from skillkeep.vault.registry import Registry

__all__ = ["export", "record_json"]


def export(registry: Registry) -> dict[str, Any]:
    """``{"tools": {name: {…, "previous": […]}}}``, names sorted, each with its archived versions, newest first."""
    tools = {}
    for record in registry.all_current():
        entry = record_json(record)
        del entry["name"], entry["current"]
        archived = [found.record for found in registry.versions(record.name) if not found.record.current]
        entry["previous"] = [_archived_json(each) for each in archived]
        tools[record.name] = entry
    return {"tools": tools}


def record_json(record: ToolRecord) -> dict[str, Any]:
    """One record as JSON data. `vetted_path` is the folder that runs; timestamps are RFC 3339."""
    revoked = record.revoked
    return {
        "name": record.name,
        "sha256": parse_digest(record.digest),
        "digest": record.digest,
        "tier": int(record.tier),
        "kind": record.kind,
        "verdict": record.verdict,
        "source": record.source,
        "source_key": record.source_key,
        "ref": record.ref,
        "commit": record.commit,
        "artifact_path": record.artifact_path,
        "vetted_path": str(record.path),
        "vetted_at": record.approved_at,
        "vetted_by": record.approved_by,
        "confirmed": record.confirmed,
        "grants": list(record.grants),
        "current": record.current,
        "revoked": None if revoked is None else {"reason": revoked.reason, "at": revoked.at, "by": revoked.by},
    }


def _archived_json(record: ToolRecord) -> dict[str, Any]:
    wanted = (
        "sha256",
        "digest",
        "tier",
        "verdict",
        "ref",
        "commit",
        "vetted_path",
        "vetted_at",
        "vetted_by",
        "revoked",
    )
    entry = record_json(record)
    return {key: entry[key] for key in wanted}

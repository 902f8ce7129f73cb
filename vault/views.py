"""What the commands show: values of the vault as JSON data and as plain lines. Prints nothing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillkeep.cli.output import columns
from skillkeep.text import escape
from skillkeep.vault.difference import Change, VersionDiff
from skillkeep.vault.export import record_json
from skillkeep.vault.interface import HistoryEntry, Mismatch, Tier, ToolRecord, VaultedTool

__all__ = [
    "diff_json",
    "diff_text",
    "history_json",
    "history_text",
    "list_text",
    "mismatch_json",
    "mismatch_text",
    "short",
    "show_json",
    "show_text",
    "tool_json",
]

_TIERS = {Tier.LOCAL: "1 local", Tier.TRUSTED: "2 trusted", Tier.UNKNOWN: "3 unknown"}
_SHORT = len("sha256:") + 12


def short(digest: str) -> str:
    """A digest as long as people compare it; commands accept it as a prefix."""
    return digest[:_SHORT]


def list_text(records: Sequence[ToolRecord]) -> str:
    """One line a tool."""
    rows = [
        (each.name, _TIERS[each.tier], _state(each), each.kind, short(each.digest), each.approved_at, each.source)
        for each in records
    ]
    return columns(rows, ("NAME", "TIER", "VERDICT", "KIND", "DIGEST", "VAULTED", "SOURCE"))


def _state(record: ToolRecord) -> str:
    return "revoked" if record.revoked else record.verdict


def show_json(record: ToolRecord, versions: Sequence[ToolRecord], report: Mapping[str, Any] | None) -> dict[str, Any]:
    """Everything known about one record."""
    return {
        **record_json(record),
        "versions": [
            {"digest": each.digest, "current": each.current, "vetted_at": each.approved_at} for each in versions
        ],
        "report": dict(report) if report is not None else None,
    }


def show_text(record: ToolRecord, versions: Sequence[ToolRecord], report: Mapping[str, Any] | None) -> str:
    """Everything known about one record, a fact a line."""
    findings = (report or {}).get("findings")
    facts: list[tuple[str, str]] = [
        ("name", record.name),
        ("digest", record.digest),
        ("kind", record.kind),
        ("tier", _TIERS[record.tier]),
        ("verdict", record.verdict),
        ("findings", str(len(findings)) if isinstance(findings, list) else "not recorded"),
        ("source", record.source),
        ("ref", record.ref or "-"),
        ("commit", record.commit or "-"),
        ("path in source", record.artifact_path or "."),
        ("vaulted", f"{record.approved_at} by {record.approved_by}, confirmed: {record.confirmed}"),
        ("grants", ", ".join(record.grants) or "none"),
        ("files", str(record.path)),
        ("current", "yes" if record.current else "no, archived"),
        ("earlier versions", ", ".join(short(each.digest) for each in versions if not each.current) or "none"),
    ]
    if record.revoked:
        facts.append(("REVOKED", f"{record.revoked.at} by {record.revoked.by}: {record.revoked.reason}"))
    return "\n".join(f"{label + ':':<18}{escape(value)}" for label, value in facts)


def tool_json(tool: VaultedTool) -> dict[str, Any]:
    """A verified tool."""
    return {
        "name": tool.name,
        "digest": tool.digest,
        "tier": int(tool.tier),
        "kind": tool.kind,
        "vetted_path": str(tool.path),
        "grants": list(tool.grants),
    }


def mismatch_json(found: Mismatch) -> dict[str, Any]:
    """One difference between a vaulted copy and its digest; the path is escaped."""
    return {
        "name": found.name,
        "digest": found.digest,
        "kind": str(found.kind),
        "path": escape(found.path),
        "detail": escape(found.detail),
    }


def mismatch_text(found: Sequence[Mismatch]) -> str:
    """One line a difference."""
    rows = [(each.name, short(each.digest), str(each.kind), each.path or "-", escape(each.detail)) for each in found]
    return columns(rows, ("NAME", "DIGEST", "WHAT", "PATH", "DETAIL"))


def history_json(entry: HistoryEntry) -> dict[str, Any]:
    """One event."""
    return {
        "event": entry.event,
        "at": entry.at,
        "by": entry.by,
        "digest": entry.digest,
        "tier": int(entry.tier),
        "verdict": entry.verdict,
        "source": entry.source,
        "ref": entry.ref,
        "commit": entry.commit,
        "detail": entry.detail,
        "current": entry.current,
    }


def history_text(entries: Sequence[HistoryEntry]) -> str:
    """One line an event, oldest first; ``*`` marks the version that is current now."""
    rows = [
        (
            entry.at,
            entry.event,
            ("*" if entry.current else " ") + short(entry.digest),
            _TIERS[entry.tier],
            entry.verdict,
            entry.by,
            f"{entry.source}{'#' + entry.ref if entry.ref else ''}" if entry.event == "admit" else entry.detail,
        )
        for entry in entries
    ]
    return columns(rows, ("WHEN", "EVENT", " DIGEST", "TIER", "VERDICT", "WHO", "SOURCE OR REASON"))


def diff_json(diff: VersionDiff) -> dict[str, Any]:
    """Every change, its path and lines escaped."""
    return {"name": diff.name, "old": diff.old, "new": diff.new, "changes": [_change_json(c) for c in diff.changes]}


def _change_json(change: Change) -> dict[str, Any]:
    return {"what": change.what, "path": escape(change.path), "note": change.note, "lines": list(change.lines)}


def diff_text(diff: VersionDiff) -> str:
    """A unified diff with a line before each file; nothing in it can act on a terminal."""
    lines = [f"{diff.name}: {short(diff.old)} -> {short(diff.new)}"]
    for change in diff.changes:
        lines.append(f"{change.what}: {escape(change.path)}{' (' + change.note + ')' if change.note else ''}")
        lines += change.lines
    return "\n".join(lines if diff.changes else [*lines, "no difference"])

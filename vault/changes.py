"""What a decision writes into the registry. Each function runs inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from skillkeep.digest import parse_digest
from skillkeep.manifest import Manifest
from skillkeep.text import escape
from skillkeep.vault.errors import VaultError
from skillkeep.vault.interface import Admission
from skillkeep.vault.refusals import name_taken
from skillkeep.vault.registry import Stamp, StoredTool

__all__ = ["check_not_revoked", "check_owner", "collect", "enter", "point_at", "revoke"]

_APPROVAL = """
    INSERT INTO approvals (digest, tier, name, kind, verdict, source, source_key, ref, commit_id, artifact_path,
                           confirmed, grants, report, approved_at, approved_by)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_OBJECT = """
    INSERT INTO objects (digest, files, bytes, stored_at, state) VALUES (?, ?, ?, ?, 'stored')
    ON CONFLICT (digest) DO UPDATE SET state = 'stored', signature = NULL
"""
_TOOL = """
    INSERT INTO tools (name, source_key, approval, grants, unsettled) VALUES (?, ?, ?, ?, 1)
    ON CONFLICT (name) DO UPDATE SET approval = excluded.approval, grants = excluded.grants, unsettled = 1
"""


def check_owner(connection: sqlite3.Connection, name: str, source_key: str) -> None:
    """Raise `VaultError` (`name_taken`) when `name` belongs to another source."""
    row = connection.execute("SELECT source_key FROM tools WHERE name = ?", (name,)).fetchone()
    if row and row["source_key"] != source_key:
        raise name_taken(name, row["source_key"], source_key)


def check_not_revoked(connection: sqlite3.Connection, digest: str) -> None:
    """Raise `VaultError` (`revoked`) when the approval of `digest` was withdrawn."""
    query = "SELECT reason, at FROM revocations WHERE digest = ?"
    row = connection.execute(query, (parse_digest(digest),)).fetchone()
    if row:
        raise VaultError(
            "revoked",
            f"this version was revoked on {row['at']}: {escape(row['reason'])}",
            "It stays blocked. Ingest a version with other contents, or roll back: vault history NAME.",
            digest=digest,
        )


def enter(connection: sqlite3.Connection, admission: Admission, manifest: Manifest, stamp: Stamp) -> None:
    """Store the object's row, the approval, the event, and point the name at it. Grants are replaced."""
    hex_digest = parse_digest(admission.digest)
    connection.execute(_OBJECT, (hex_digest, len(manifest), manifest.total_bytes, stamp.at))
    grants = json.dumps(list(admission.grants))
    values = (
        hex_digest,
        int(admission.tier),
        admission.name,
        admission.kind,
        admission.verdict,
        admission.source,
        admission.source_key,
        admission.ref,
        admission.commit,
        admission.artifact_path,
        admission.confirmed,
        grants,
        json.dumps(admission.report, sort_keys=True),
        stamp.at,
        stamp.by,
    )
    approval = connection.execute(_APPROVAL, values).lastrowid
    connection.execute(_TOOL, (admission.name, admission.source_key, approval, grants))
    _event(connection, admission.name, approval, "admit", stamp, admission.confirmed)


def point_at(connection: sqlite3.Connection, target: StoredTool, stamp: Stamp) -> None:
    """Make an earlier approval the current one. Grants only shrink: those given both then and now stay."""
    name = target.record.name
    row = connection.execute("SELECT grants FROM tools WHERE name = ?", (name,)).fetchone()
    kept = [grant for grant in json.loads(row["grants"]) if grant in target.record.grants]
    connection.execute(
        "UPDATE tools SET approval = ?, grants = ?, unsettled = 1 WHERE name = ?",
        (target.approval, json.dumps(kept), name),
    )
    _event(connection, name, target.approval, "rollback", stamp, target.record.digest)


def revoke(
    connection: sqlite3.Connection, digest: str, reason: str, stamp: Stamp, affected: Iterable[StoredTool]
) -> None:
    """Withdraw the approval of `digest`, known or not, for good; the first reason stays."""
    connection.execute(
        "INSERT INTO revocations (digest, reason, at, by) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (parse_digest(digest), reason, stamp.at, stamp.by),
    )
    for found in affected:
        _event(connection, found.record.name, found.approval, "revoke", stamp, reason)


def collect(connection: sqlite3.Connection, digests: Iterable[str]) -> None:
    """Count these objects (64 hex digits each) as gone, before their files go."""
    connection.executemany(
        "UPDATE objects SET state = 'collected', signature = NULL WHERE digest = ?",
        [(digest,) for digest in digests],
    )


def _event(
    connection: sqlite3.Connection, name: str, approval: int | None, event: str, stamp: Stamp, detail: str
) -> None:
    connection.execute(
        "INSERT INTO events (name, approval, event, at, by, detail) VALUES (?, ?, ?, ?, ?, ?)",
        (name, approval, event, stamp.at, stamp.by, detail),
    )

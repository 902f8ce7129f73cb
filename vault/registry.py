"""What is approved, under which name, since when: queries and changes on the registry's tables.

Every look-up goes through an index; nothing here reads a file of a tool. Digests are stored as 64 hex digits and
leave as ``sha256:<hex>``.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from skillkeep.digest import parse_digest, spell
from skillkeep.value import Value
from skillkeep.vault.database import Database
from skillkeep.vault.interface import HistoryEntry, Revocation, Tier, ToolRecord
from skillkeep.vault.layout import Layout

__all__ = ["Registry", "Stamp", "StoredTool"]

_RECORD = """
    SELECT a.*, t.approval = a.id AS is_current, t.grants AS present_grants,
           r.reason AS revoked_reason, r.at AS revoked_at, r.by AS revoked_by, o.signature AS signature
    FROM approvals a
    JOIN tools t ON t.name = a.name
    JOIN objects o ON o.digest = a.digest
    LEFT JOIN revocations r ON r.digest = a.digest
"""


class Stamp(Value):
    """When (RFC 3339) and by whom a change is made."""

    at: str
    by: str


class StoredTool(Value):
    """A record with what the registry knows about its object and itself beyond the public record."""

    record: ToolRecord
    approval: int
    signature: str | None


class Registry:
    """The tables of one vault."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.database = Database(layout.registry)

    def approved(self, digest: str, tier: Tier) -> ToolRecord | None:
        """A standing approval of `digest` that counts for `tier`: given at that tier or a less trusted one."""
        where = "WHERE a.digest = ? AND a.tier >= ? AND o.state = 'stored' AND r.digest IS NULL"
        found = self._one(f"{where} ORDER BY is_current DESC, a.id DESC LIMIT 1", parse_digest(digest), int(tier))
        return found.record if found else None

    def current(self, name: str) -> StoredTool | None:
        """What `name` stands for now."""
        if not name.isascii():  # no tool's name, and maybe no text at all, but bytes of a command line
            return None
        return self._one("WHERE t.name = ? AND a.id = t.approval", name)

    def version(self, name: str, digest: str) -> StoredTool | None:
        """The newest approval of `digest` under `name` whose object is stored."""
        where = "WHERE a.name = ? AND a.digest = ? AND o.state = 'stored' ORDER BY a.id DESC LIMIT 1"
        return self._one(where, name, parse_digest(digest))

    def before(self, current: StoredTool) -> StoredTool | None:
        """The approval that came before `current` under the same name, with other bytes, stored, not revoked."""
        where = "WHERE a.name = ? AND a.id < ? AND a.digest <> ? AND o.state = 'stored' AND r.digest IS NULL"
        hex_digest = parse_digest(current.record.digest)
        return self._one(f"{where} ORDER BY a.id DESC LIMIT 1", current.record.name, current.approval, hex_digest)

    def versions(self, name: str) -> list[StoredTool]:
        """Every stored version of `name`, newest approval first, each digest once."""
        where = "WHERE a.name = ? AND o.state = 'stored' ORDER BY a.id DESC"
        seen: dict[str, StoredTool] = {}
        for found in self._all(where, name):
            if found.record.digest not in seen or found.record.current:
                seen[found.record.digest] = found
        return list(seen.values())

    def holders(self, digest: str) -> list[StoredTool]:
        """For every name that ever stood for `digest`: its newest approval of these bytes, by name."""
        found = self._all("WHERE a.digest = ? ORDER BY a.name, a.id", parse_digest(digest))
        return list({stored.record.name: stored for stored in found}.values())

    def all_current(self) -> list[ToolRecord]:
        """The current record of every name, by name."""
        return [found.record for found in self._all("WHERE a.id = t.approval ORDER BY a.name")]

    def names(self) -> list[str]:
        """Every name that stands for a tool."""
        with self.database.session() as connection:
            return [row["name"] for row in connection.execute("SELECT name FROM tools")]

    def history(self, name: str) -> list[HistoryEntry]:
        """Every event of `name`, oldest first."""
        if not name.isascii():
            return []
        query = """
            SELECT e.name, e.event, e.at, e.by, e.detail, a.digest, a.tier, a.verdict, a.source, a.ref, a.commit_id,
                   t.approval = a.id AS is_current
            FROM events e JOIN approvals a ON a.id = e.approval JOIN tools t ON t.name = e.name
            WHERE e.name = ? ORDER BY e.id
        """
        with self.database.session() as connection:
            return [_history_entry(row) for row in connection.execute(query, (name,))]

    def report(self, name: str, digest: str) -> dict[str, Any] | None:
        """The audit report that the newest approval of this version rested on, as JSON data."""
        query = "SELECT report FROM approvals WHERE name = ? AND digest = ? ORDER BY id DESC LIMIT 1"
        with self.database.session() as connection:
            row = connection.execute(query, (name, parse_digest(digest))).fetchone()
        return dict(json.loads(row["report"])) if row else None

    def clean_versions(self, source_key: str) -> int:
        """How many different digests of a source were approved with PASS and not revoked since."""
        query = """
            SELECT count(DISTINCT a.digest) FROM approvals a LEFT JOIN revocations r ON r.digest = a.digest
            WHERE a.source_key = ? AND a.verdict = 'PASS' AND r.digest IS NULL
        """
        with self.database.session() as connection:
            return int(connection.execute(query, (source_key,)).fetchone()[0])

    def revocation(self, digest: str) -> Revocation | None:
        """Why a digest may not run, if it was revoked."""
        with self.database.session() as connection:
            row = connection.execute("SELECT * FROM revocations WHERE digest = ?", (parse_digest(digest),)).fetchone()
        return Revocation(spell(row["digest"]), row["reason"], row["at"], row["by"]) if row else None

    def stored_digests(self) -> set[str]:
        """The hex digits of every object that the registry counts as stored."""
        with self.database.session() as connection:
            return {row["digest"] for row in connection.execute("SELECT digest FROM objects WHERE state = 'stored'")}

    def is_stored(self, hex_digest: str) -> bool:
        """True when an approval rests on this object."""
        query = "SELECT 1 FROM objects WHERE digest = ? AND state = 'stored'"
        with self.database.session() as connection:
            return connection.execute(query, (hex_digest,)).fetchone() is not None

    def unsettled(self) -> list[str]:
        """Names whose links may lag behind the registry."""
        with self.database.session() as connection:
            return [row["name"] for row in connection.execute("SELECT name FROM tools WHERE unsettled = 1")]

    def settle(self, name: str) -> None:
        """The links of `name` are as the registry says."""
        with self.database.note() as connection:
            connection.execute("UPDATE tools SET unsettled = 0 WHERE name = ?", (name,))

    def sign(self, hex_digest: str, signature: str) -> None:
        """Remember the stat signature of an object whose every byte was just verified."""
        with self.database.note() as connection:
            connection.execute("UPDATE objects SET signature = ? WHERE digest = ?", (signature, hex_digest))

    def _one(self, where: str, *values: object) -> StoredTool | None:
        return next(iter(self._all(where, *values)), None)

    def _all(self, where: str, *values: object) -> list[StoredTool]:
        with self.database.session() as connection:
            return [self._stored(row) for row in connection.execute(f"{_RECORD} {where}", values)]

    def _stored(self, row: sqlite3.Row) -> StoredTool:
        revoked = None
        if row["revoked_at"] is not None:
            revoked = Revocation(spell(row["digest"]), row["revoked_reason"], row["revoked_at"], row["revoked_by"])
        record = ToolRecord(
            name=row["name"],
            digest=spell(row["digest"]),
            tier=Tier(row["tier"]),
            kind=row["kind"],
            verdict=row["verdict"],
            source=row["source"],
            source_key=row["source_key"],
            ref=row["ref"],
            commit=row["commit_id"],
            artifact_path=row["artifact_path"],
            confirmed=row["confirmed"],
            grants=tuple(json.loads(row["present_grants"] if row["is_current"] else row["grants"])),
            approved_at=row["approved_at"],
            approved_by=row["approved_by"],
            current=bool(row["is_current"]),
            path=self._layout.tree(row["digest"]),
            revoked=revoked,
        )
        return StoredTool(record, row["id"], row["signature"])


def _history_entry(row: sqlite3.Row) -> HistoryEntry:
    return HistoryEntry(
        name=row["name"],
        digest=spell(row["digest"]),
        event=row["event"],
        at=row["at"],
        by=row["by"],
        tier=Tier(row["tier"]),
        verdict=row["verdict"],
        source=row["source"],
        ref=row["ref"],
        commit=row["commit_id"],
        detail=row["detail"],
        current=bool(row["is_current"]),
    )

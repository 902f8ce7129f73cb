"""Pending confirmations: what somebody was shown, so that a later confirmation binds to exactly that.

One review for each artifact of a source; a newer one replaces the older. They live in the registry, so they
survive a crash and are seen by every process, and hold nothing that runs.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

from skillkeep.digest import parse_digest, spell
from skillkeep.home import Home
from skillkeep.vault.database import Database
from skillkeep.vault.interface import Review, Tier
from skillkeep.vault.layout import Layout

__all__ = ["Reviews"]

Pending = list[Review]

_RECORD = """
    INSERT OR REPLACE INTO reviews
        (source_key, artifact_path, name, digest, tier, verdict, manifest, report, seen_at, command)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class Reviews:
    """The pending confirmations of the vault below `home`. Every call raises what `Database` raises."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._database = Database(Layout(Path(os.path.realpath(home.vault))).registry)

    def pending(self, source_key: str, artifact_path: str) -> Review | None:
        """The review of this artifact that waits for a confirmation, if any."""
        query = "SELECT * FROM reviews WHERE source_key = ? AND artifact_path = ?"
        with self._database.session() as connection:
            row = connection.execute(query, (source_key, artifact_path)).fetchone()
        return _review(row) if row else None

    def record(self, review: Review) -> None:
        """Remember what was shown, in place of an earlier review of the same artifact."""
        self._home.ensure()
        values = (
            review.source_key,
            review.artifact_path,
            review.name,
            parse_digest(review.digest),
            int(review.tier),
            review.verdict,
            review.manifest,
            json.dumps(review.report, sort_keys=True),
            review.seen_at,
            review.command,
        )
        with self._database.write() as connection:
            connection.execute(_RECORD, values)

    def clear(self, source_key: str, artifact_path: str) -> None:
        """Forget the review: it was confirmed, or the artifact is gone. A missing one is fine."""
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM reviews WHERE source_key = ? AND artifact_path = ?", (source_key, artifact_path)
            )

    def all(self) -> Pending:
        """Every pending review, oldest first."""
        with self._database.session() as connection:
            return [_review(row) for row in connection.execute("SELECT * FROM reviews ORDER BY seen_at, name")]


def _review(row: sqlite3.Row) -> Review:
    return Review(
        source_key=row["source_key"],
        artifact_path=row["artifact_path"],
        name=row["name"],
        digest=spell(row["digest"]),
        tier=Tier(row["tier"]),
        verdict=row["verdict"],
        manifest=row["manifest"],
        report=json.loads(row["report"]),
        seen_at=row["seen_at"],
        command=row["command"],
    )

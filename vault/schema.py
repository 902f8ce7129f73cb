"""The registry's tables. Data only.

Rules that must hold whatever the code does are written here as constraints: a FAIL cannot be stored (law 2), a
tier is 1 to 3, a name has one owner, an approval belongs to a known object.
"""

from __future__ import annotations

__all__ = ["SCHEMA", "SCHEMA_VERSION"]

SCHEMA_VERSION = 1

SCHEMA = (
    """
    CREATE TABLE objects (
        digest TEXT PRIMARY KEY CHECK (length(digest) = 64),
        files INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        stored_at TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('stored', 'collected')),
        signature TEXT
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE approvals (
        id INTEGER PRIMARY KEY,
        digest TEXT NOT NULL REFERENCES objects (digest),
        tier INTEGER NOT NULL CHECK (tier BETWEEN 1 AND 3),
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        verdict TEXT NOT NULL CHECK (verdict IN ('PASS', 'WARN') OR (verdict = 'BYPASSED' AND tier = 1)),
        source TEXT NOT NULL,
        source_key TEXT NOT NULL,
        ref TEXT,
        commit_id TEXT,
        artifact_path TEXT NOT NULL,
        confirmed TEXT NOT NULL,
        grants TEXT NOT NULL,
        report TEXT NOT NULL,
        approved_at TEXT NOT NULL,
        approved_by TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX approvals_by_digest ON approvals (digest, tier)",
    "CREATE INDEX approvals_by_name ON approvals (name, id)",
    "CREATE INDEX approvals_by_source ON approvals (source_key, artifact_path)",
    """
    CREATE TABLE tools (
        name TEXT PRIMARY KEY,
        source_key TEXT NOT NULL,
        approval INTEGER NOT NULL REFERENCES approvals (id),
        grants TEXT NOT NULL,
        unsettled INTEGER NOT NULL CHECK (unsettled IN (0, 1))
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX tools_by_approval ON tools (approval)",
    "CREATE INDEX tools_unsettled ON tools (name) WHERE unsettled = 1",
    """
    CREATE TABLE revocations (
        digest TEXT PRIMARY KEY CHECK (length(digest) = 64),
        reason TEXT NOT NULL,
        at TEXT NOT NULL,
        by TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        approval INTEGER NOT NULL REFERENCES approvals (id),
        event TEXT NOT NULL CHECK (event IN ('admit', 'rollback', 'revoke')),
        at TEXT NOT NULL,
        by TEXT NOT NULL,
        detail TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX events_by_name ON events (name, id)",
    """
    CREATE TABLE reviews (
        source_key TEXT NOT NULL,
        artifact_path TEXT NOT NULL,
        name TEXT NOT NULL,
        digest TEXT NOT NULL,
        tier INTEGER NOT NULL CHECK (tier BETWEEN 1 AND 3),
        verdict TEXT NOT NULL,
        manifest TEXT NOT NULL,
        report TEXT NOT NULL,
        seen_at TEXT NOT NULL,
        command TEXT NOT NULL,
        PRIMARY KEY (source_key, artifact_path)
    ) STRICT, WITHOUT ROWID
    """,
)

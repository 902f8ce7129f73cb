"""Opens the registry's SQLite file: one connection for each piece of work, closed at its end.

None is kept beyond that, so none crosses a fork or a thread, and none outlives a vault that was moved away.
WAL lets readers go on while somebody writes; ``synchronous=FULL`` puts a commit on the disk before it returns.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from skillkeep.errors import SkillkeepError
from skillkeep.files import FileLock, io_errors
from skillkeep.vault.errors import VaultError
from skillkeep.vault.schema import SCHEMA, SCHEMA_VERSION

__all__ = ["Database"]

_BUSY_SECONDS = 20.0
_FULL = ("full", "disk i/o error", "readonly", "unable to open")


class Database:
    """The registry file at `path`; made, with its tables, at the first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open = threading.local()

    @contextlib.contextmanager
    def session(self) -> Iterator[sqlite3.Connection]:
        """One connection for everything this thread does with the registry in the ``with`` block.

        Opening costs little, closing after a write costs a checkpoint: so an operation of many steps is one session.
        Raises `VaultError` (`registry_broken`, `vault_busy`), `SkillkeepError` (`io_error`).
        """
        with _database_errors(self._path):
            current: sqlite3.Connection | None = getattr(self._open, "connection", None)
            if current is not None:
                yield current
                return
            with contextlib.closing(self._connect()) as connection:
                self._open.connection = connection
                try:
                    yield connection
                finally:
                    self._open.connection = None

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed and on the disk when the block ends, undone when it raises."""
        with self.session() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def note(self) -> Iterator[sqlite3.Connection]:
        """A transaction whose loss in a power failure costs only work: it does not wait for the disk."""
        with self.session() as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with self.write():
                    yield connection
            finally:
                connection.execute("PRAGMA synchronous = FULL")

    def _connect(self) -> sqlite3.Connection:
        with io_errors("open the registry"):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC  # SQLite alone would follow a link
            os.close(os.open(self._path, flags, 0o600))
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA trusted_schema = OFF")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                version = self._create(connection)
            if version != SCHEMA_VERSION:
                raise _broken(self._path, f"its version is {version}, this Skillkeep knows {SCHEMA_VERSION}")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> int:
        """Make the tables once, whoever comes first; going over to WAL cannot wait for others by itself."""
        with FileLock(self._path.with_name(".registry.lock")):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                version: int = connection.execute("PRAGMA user_version").fetchone()[0]
                if version == 0:
                    for statement in SCHEMA:
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                    version = SCHEMA_VERSION
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        return version


@contextlib.contextmanager
def _database_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error).lower()
        if "locked" in text or "busy" in text:
            raise VaultError(
                "vault_busy",
                f"the registry stayed locked for {_BUSY_SECONDS:.0f} seconds",
                "Another Skillkeep process is writing; wait for it, or end it if it hangs.",
                path=str(path),
            ) from error
        if any(word in text for word in _FULL):
            raise SkillkeepError(
                "io_error",
                f"the registry cannot be written: {error}",
                "Free some disk space, check the folder's permissions, and try again.",
                path=str(path),
            ) from error
        raise _broken(path, str(error)) from error
    except sqlite3.DatabaseError as error:
        raise _broken(path, str(error)) from error


def _broken(path: Path, what: str) -> VaultError:
    return VaultError(
        "registry_broken",
        f"the registry cannot be used: {what}",
        "Nothing runs from it. Restore registry.sqlite3 from a backup, or move it away and ingest the tools again.",
        path=str(path),
    )

"""The private folder in which a fetched source waits, and its removal, whatever happens.

``<home>/quarantine/<random>/`` (0700) holds ``owner.json``, ``lock`` and ``work/``; only ``work`` is writable for the
confined workers. The owner holds a lock on ``lock`` for as long as it lives: the kernel drops it when the process
dies in any way, and the next start removes every folder whose lock is free.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from skillkeep.errors import SkillkeepError
from skillkeep.files import FileLock, io_errors, remove_tree, write_atomic
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.kernel.procfs import started_at

__all__ = ["Quarantine", "sweep"]

_DOOR = ".lock"  # held while a folder is made or looked at, so that nobody sweeps a half-made one
_TRIES = 5


class Quarantine:
    """One quarantine folder, from ``with`` to its end."""

    def __init__(self, home: Home) -> None:
        self._base = home.quarantine
        self.root = home.quarantine / secrets.token_hex(16)
        self._lock = FileLock(self.root / "lock")

    @property
    def work(self) -> Path:
        """The only folder that workers may write to."""
        return self.root / "work"

    def __enter__(self) -> Quarantine:
        with io_errors("make a quarantine folder"), FileLock(self._base / _DOOR):
            self.root.mkdir(mode=0o700)
            self._lock.acquire()
        try:
            with io_errors("make a quarantine folder"):
                write_atomic(self.root / "owner.json", json.dumps(_owner()).encode() + b"\n")
                self.work.mkdir(mode=0o700)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._remove()

    def _remove(self) -> None:
        try:
            _remove(self.root)
        finally:
            self._lock.release()


def sweep(home: Home, journal: Journal) -> list[str]:
    """Remove every quarantine folder whose owner is gone; run at every start. Returns their names.

    A folder that cannot be removed now is left for the next start. Raises `SkillkeepError` (`io_error`).
    """
    removed = []
    with io_errors("look into the quarantine"), FileLock(home.quarantine / _DOOR):
        for name in sorted(os.listdir(home.quarantine)):
            if name == _DOOR:
                continue
            folder = home.quarantine / name
            lock = FileLock(folder / "lock")
            try:
                if folder.is_dir() and not folder.is_symlink() and not lock.acquire(wait=False):
                    continue
                _remove(folder)
            except SkillkeepError:
                continue
            finally:
                lock.release()
            removed.append(name)
    if removed:
        journal.append("quarantine.swept", durable=False, folders=removed)
    return removed


def _remove(folder: Path) -> None:
    """Remove a folder; a process that is just being killed may still write into it, so not only once."""
    for attempt in range(_TRIES):
        try:
            remove_tree(folder)
            return
        except SkillkeepError:
            if attempt == _TRIES - 1:
                raise


def _owner() -> dict[str, object]:
    """Who made the folder, for a person who finds it: process id and its start (clock ticks since boot)."""
    return {"pid": os.getpid(), "started_ticks": started_at(os.getpid())}

"""Runs whose end is not written down yet: ``open_runs/<run id>`` in the home, locked by whoever runs it.

The file is there before the tool starts, with room for the record, and beside it lies room for the journal's line: a
tool that fills the disk cannot keep its own end out of either. It is empty while the tool runs; then it holds the
record and what the journal has to be told, and in the end it becomes ``runs/<run id>/run.json``. What could not be
written stays, for the next run to write down. Where a file system gives no room ahead (ZFS), only that is left.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skillkeep.errors import SkillkeepError
from skillkeep.files import FileLock, fsync_dir, io_errors, is_full, write_all
from skillkeep.home import Home
from skillkeep.journal import Journal

__all__ = ["OpenRun", "settle"]

_ID = re.compile(r"[0-9a-f]{16}")
_RECORD_ROOM = 256 << 10  # 200 attempts and 264 denials are the most that a record holds
_JOURNAL_ROOM = 128 << 10
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_UNTOLD = "untold"


class OpenRun:
    """One run, from before its start until its end is written down. Made by `begin`, over with `end` or `forget`."""

    def __init__(self, home: Home, run_id: str, fd: int) -> None:
        self._runs, self._run_id, self._fd = home.runs, run_id, fd
        self._path = _folder(home) / run_id
        self._room = _folder(home) / f"{run_id}.room"

    @classmethod
    def begin(cls, home: Home, run_id: str, known_bytes: int) -> OpenRun:
        """Take the room that the end needs, for facts of `known_bytes` too. Raises `SkillkeepError` (`io_error`)."""
        with io_errors("make room for the record of the run"):
            _folder(home).mkdir(mode=0o700, exist_ok=True)
            home.runs.mkdir(mode=0o700, exist_ok=True)
        with _only_one(home), io_errors("make room for the record of the run"):
            (home.runs / run_id).mkdir(mode=0o700)
            run = cls(home, run_id, -1)
            try:
                run._fd = _with_room(run._path, _RECORD_ROOM + 2 * known_bytes)
                fcntl.flock(run._fd, fcntl.LOCK_EX)
                os.close(_with_room(run._room, _JOURNAL_ROOM + known_bytes))
            except BaseException:
                run.forget()
                raise
        return run

    def forget(self) -> None:
        """Nothing ran: no trace of it stays here."""
        self._give_room_back()
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        with contextlib.suppress(OSError):
            os.rmdir(self._runs / self._run_id)
        self.close()

    def close(self) -> None:
        """Let go of it. What is left here is what the next run finds."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def end(
        self, journal: Journal, event: str, facts: Mapping[str, Any], ended_at: str, record: Mapping[str, Any] | None
    ) -> tuple[str, ...]:
        """Write down how it ended: the journal's line, then the record, if there is one. What cannot be, in words.

        Does not raise for that: what is missing is written down by the next run, from what stays here.
        """
        untold = {**(record or {}), _UNTOLD: {"event": event, "ended_at": ended_at, **facts}}
        kept = not self._try("", self._write, untold)
        said = self._try("the journal does not have its end yet", self._tell, journal, event, facts)
        self._give_room_back()
        if said and not kept:
            said += self._try("its record cannot be written", self._write, untold)
        elif not said:
            said = self._try("its record is not in its place yet", self.finish, record)
            if said and not kept:
                self.forget()  # nothing of it is here, and the journal has its end
        self.close()
        return said

    def _try(self, problem: str, step: Callable[..., None], *words: Any) -> tuple[str, ...]:
        """Nothing when it worked, else the problem in words."""
        try:
            step(*words)
        except SkillkeepError as error:
            return (f"{problem}: {error.message}",)
        return ()

    def finish(self, record: Mapping[str, Any] | None) -> None:
        """The journal has its end: the record goes where it belongs. Raises `SkillkeepError` (`io_error`)."""
        if record is None:
            self.forget()
            return
        self._write(record, last=True)
        folder = self._runs / self._run_id
        with io_errors("record the run", folder):
            folder.mkdir(mode=0o700, exist_ok=True)
            os.rename(self._path, folder / "run.json")
            fsync_dir(folder)

    def settle(self, journal: Journal) -> bool:
        """Write down the end of a run that is not ours; False when nobody knows it, which is then what is told."""
        self._give_room_back()
        try:  # behind it stand the rest of the room, and of what was longer
            record, _ = json.JSONDecoder().raw_decode(self._path.read_text("ascii"))
            untold = record.pop(_UNTOLD, None)
        except (ValueError, AttributeError):
            journal.append("run.unended", durable=True, run_id=self._run_id)
            self.forget()
            return False
        if untold is not None:
            journal.append(str(untold.pop("event")), durable=True, late=True, **untold)
            self._write(record, last=True)
        with contextlib.suppress(SkillkeepError):  # said when it ended; the record is safe here
            self.finish(record or None)
        return True

    def _tell(self, journal: Journal, event: str, facts: Mapping[str, Any]) -> None:
        """Add a line to the journal; once more, with the room that was kept, when the disk is full."""
        try:
            journal.append(event, **facts)
        except SkillkeepError as error:
            if not (isinstance(error.__cause__, OSError) and is_full(error.__cause__)):
                raise
            self._give_room_back()
            journal.append(event, **facts)

    def _give_room_back(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._room)

    def _write(self, body: Mapping[str, Any], *, last: bool = False) -> None:
        """In place, over the room that was taken."""
        data = json.dumps(body, indent=1, sort_keys=True).encode("ascii") + b"\n"
        with io_errors("record the run", self._path):
            os.lseek(self._fd, 0, os.SEEK_SET)
            write_all(self._fd, data)
            if last:
                os.ftruncate(self._fd, len(data))
                os.fsync(self._fd)


def settle(home: Home, journal: Journal) -> tuple[str, ...]:
    """Write down what earlier runs could not. The ids of those whose end nobody knows, as the journal says now.

    Raises `SkillkeepError` (`io_error`, `journal_broken`) when the journal still cannot be written.
    """
    if not _waiting(home):
        return ()
    with _only_one(home):
        return tuple(run_id for run_id in _waiting(home) if _is_unended(home, journal, run_id))


def _waiting(home: Home) -> list[str]:
    try:
        return [name for name in sorted(os.listdir(_folder(home))) if _ID.fullmatch(name)]
    except FileNotFoundError:
        return []


def _is_unended(home: Home, journal: Journal, run_id: str) -> bool:
    path = _folder(home) / run_id
    with io_errors("write down how an earlier run ended", path):
        try:
            run = OpenRun(home, run_id, fd := os.open(path, _FLAGS))
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(fd), os.stat(path)) and not run.settle(journal)
        except (BlockingIOError, FileNotFoundError):  # it runs, or is over by now
            return False
        finally:
            run.close()


def _with_room(path: Path, size: int) -> int:
    fd = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.posix_fallocate(fd, 0, size)
    except (AttributeError, OSError) as error:  # no such call on this system, or for this file system
        if isinstance(error, OSError) and is_full(error):
            os.close(fd)
            raise
        write_all(fd, bytes(size))
    return fd


def _only_one(home: Home) -> FileLock:
    return FileLock(_folder(home) / ".lock")


def _folder(home: Home) -> Path:
    return home.root / "open_runs"

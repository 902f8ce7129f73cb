"""Where dry runs wait: ``dry_runs/<id>/`` in the home, with a record and the contents of new files."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from skillkeep.errors import SkillkeepError
from skillkeep.files import FileLock, io_errors, remove_tree, write_atomic
from skillkeep.home import Home
from skillkeep.runner.dryrun.change import DryRun
from skillkeep.runner.errors import RunnerError

__all__ = ["DryRuns"]

_ID = re.compile(r"[0-9a-f]{1,16}")
_UNFINISHED = ".tmp"


class DryRuns:
    """The dry runs of one home. One that is being collected is not listed; a killed one is swept at the next."""

    def __init__(self, home: Home) -> None:
        self._root = home.root / "dry_runs"

    @contextlib.contextmanager
    def collecting(self, identity: str) -> Iterator[Path]:
        """A folder to collect in; `keep` within it. Whatever is not kept at the end is removed."""
        folder = self._root / f"{identity}{_UNFINISHED}"
        with io_errors("make a folder for a dry run"):
            self._root.mkdir(mode=0o700, exist_ok=True)
        lock = FileLock(folder / "lock")
        with FileLock(self._root / ".lock"), io_errors("make a folder for a dry run"):
            self._sweep()
            folder.mkdir(mode=0o700)
            lock.acquire()
        try:
            yield folder
        finally:
            lock.release()
            with contextlib.suppress(SkillkeepError):  # swept by the next; a run may be over that has a result
                remove_tree(folder)

    def keep(self, run: DryRun) -> None:
        """Keep what was collected for `run`. Raises `SkillkeepError` (`io_error`)."""
        folder = self._root / f"{run.id}{_UNFINISHED}"
        self._write(folder, run)
        with io_errors("keep a dry run"):
            os.rename(folder, self._root / run.id)

    def blobs(self, run: DryRun, number: int) -> Path:
        """Where the contents of new files of its folder `number` are."""
        return self._root / run.id / str(number)

    def load(self, identity: str) -> DryRun:
        """The dry run of that id, or of the only one that begins so. Raises `RunnerError` (`no_dry_run`)."""
        found = [name for name in self._names() if _ID.fullmatch(identity) and name.startswith(identity)]
        if len(found) != 1:
            many = f"{len(found)} dry runs begin with" if found else "there is no dry run"
            hint = "`runner dry-run list` names those that wait."
            raise RunnerError("no_dry_run", f"{many} {identity!r}", hint)
        return self._read(found[0])

    def waiting(self) -> tuple[DryRun, ...]:
        """All that wait, the oldest first."""
        runs = [self._read(name) for name in self._names()]
        return tuple(sorted(runs, key=lambda run: (run.made_at, run.id)))

    @contextlib.contextmanager
    def locked(self, run: DryRun) -> Iterator[DryRun]:
        """Nobody else commits or drops `run` meanwhile. Raises `RunnerError` (`no_dry_run`, `dry_run_busy`)."""
        folder = self._root / run.id
        if not folder.is_dir():
            raise RunnerError("no_dry_run", f"the dry run {run.id} is gone", "It was committed or dropped meanwhile.")
        lock = FileLock(folder / "lock")
        if not lock.acquire(wait=False):
            raise RunnerError("dry_run_busy", f"the dry run {run.id} is being committed", "Try again in a moment.")
        try:
            yield self._read(run.id)
        finally:
            lock.release()

    def left_over(self, run: DryRun, paths: tuple[frozenset[str], ...]) -> DryRun:
        """Keep of `run` only the changes of these paths of each folder, all that was not committed."""
        kept = tuple(
            replace(folder, changes=tuple(change for change in folder.changes if change.path in wanted))
            for folder, wanted in zip(run.folders, paths, strict=True)
        )
        left = replace(run, folders=kept)
        self._write(self._root / run.id, left)
        return left

    def remove(self, run: DryRun) -> None:
        """Forget it, at once for everybody else."""
        going = self._root / f"{run.id}{_UNFINISHED}"
        with contextlib.suppress(FileNotFoundError), io_errors("forget a dry run"):
            os.rename(self._root / run.id, going)
        remove_tree(going)

    def _names(self) -> list[str]:
        try:
            return [name for name in os.listdir(self._root) if _ID.fullmatch(name)]
        except FileNotFoundError:
            return []

    def _read(self, name: str) -> DryRun:
        try:
            return DryRun.from_json(json.loads((self._root / name / "record.json").read_bytes()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = f"Remove {self._root / name}; nothing of it was committed unless the journal says so."
            raise RunnerError("no_dry_run", f"the record of the dry run {name} is damaged", hint) from error

    def _write(self, folder: Path, run: DryRun) -> None:
        write_atomic(folder / "record.json", json.dumps(run.to_json(), indent=1).encode("ascii") + b"\n")

    def _sweep(self) -> None:
        """Remove what a killed run left: an unfinished folder whose lock nobody holds. What will not go stays."""
        for name in os.listdir(self._root):
            if name.endswith(_UNFINISHED):
                lock = FileLock(self._root / name / "lock")
                with contextlib.suppress(SkillkeepError):  # one that was dropped may be gone by now
                    if lock.acquire(wait=False):
                        remove_tree(self._root / name)
                lock.release()

"""All environments of one home: opened by project, listed, stopped, deleted, collected when idle."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillkeep.errors import SkillkeepError
from skillkeep.files import io_errors, remove_tree
from skillkeep.home import Home
from skillkeep.near import did_you_mean
from skillkeep.runner.environments.ending import kill_all, processes_of
from skillkeep.runner.environments.environment import Environment
from skillkeep.runner.environments.errors import EnvironmentsError
from skillkeep.runner.environments.folder import Folder, folder_at
from skillkeep.runner.environments.names import candidates
from skillkeep.runner.environments.place import Lock, Place, Record, every_place, place_of
from skillkeep.runner.environments.project import base_policy, plan_of, real_project, require_strange
from skillkeep.runner.environments.standing import Standing
from skillkeep.runner.environments.start import build
from skillkeep.runner.interface import SandboxPolicy
from skillkeep.runner.native.plan import Plan
from skillkeep.text import printable_path

if TYPE_CHECKING:
    from skillkeep.settings import SandboxSettings

__all__ = ["IDLE_SECONDS", "Environments", "Seen"]

IDLE_SECONDS = 2 * 3600.0
"""An environment in which nothing has run for so long is stopped when another one is made, or by `gc`."""
_LEAVING_SECONDS = 60.0
_PAUSE_SECONDS = 0.01
_SLOTS = 1 << 22


@dataclass(frozen=True)
class Seen:
    """An environment as it is now. `state`: running, stopped, broken, or elsewhere: it may run in a pid namespace that
    cannot be seen from here. `processes` counts all but its holder."""

    name: str
    project: str
    state: str
    busy: bool
    processes: int
    idle_seconds: float
    project_exists: bool


class Environments:
    """The environments below `home`; `settings` give new ones their limits."""

    def __init__(self, home: Home, settings: SandboxSettings) -> None:
        self._home, self._settings = home, settings

    def open(
        self, project: str | Path, policy: SandboxPolicy | None = None, *, read_only: bool | None = None
    ) -> Environment:
        """The environment of a project's folder, made and started when it has to be; the caller closes it.

        `policy` and `read_only` None take what it runs with, or the settings and a writable project. Raises
        EnvironmentsError (`project_unusable`, `project_replaced`, `environment_differs`, `environment_busy` when it
        cannot be seen from here), RunnerError.
        """
        real = real_project(self._home, project)
        place, presence, made = self._enter_place(real)
        try:
            wanted = plan_of(place, real, policy or base_policy(self._settings), read_only=bool(read_only))
            if not read_only:
                require_strange(real)
            asked = policy is not None or read_only is not None
            standing = self._standing(place, presence, wanted, asked=asked)
            return Environment(place, standing, presence, lambda: self._standing(place, presence, wanted, asked=False))
        except BaseException:
            if made:
                _unmake(place, presence)
            presence.close()
            raise

    def find(self, name_or_path: str) -> Place:
        """The place of an environment that exists, by its name or by its project's folder.

        Raises EnvironmentsError (`environment_not_found`) with the names that come close.
        """
        for place in every_place(self._home):
            if place.name == name_or_path:
                return place
        with contextlib.suppress(EnvironmentsError):
            real = real_project(self._home, name_or_path)
            for name in candidates(real):
                place = place_of(self._home, name)
                record = place.record()
                if record is not None and record.project == real:
                    return place
        names = [place.name for place in every_place(self._home)]
        hint = did_you_mean(name_or_path, names) or "List them: runner env list"
        raise EnvironmentsError("environment_not_found", f"there is no environment {name_or_path!r}", hint)

    def seen(self) -> Iterator[Seen]:
        """Every environment, by name."""
        for place in every_place(self._home):
            yield self.look(place)

    def look(self, place: Place) -> Seen:
        """One environment as it is now."""
        try:
            record = place.record()
        except EnvironmentsError:
            record = None
        if record is None:
            return Seen(place.name, "", "broken", place.is_busy(), 0, place.idle_seconds(), False)
        standing = place.standing()
        busy = place.is_busy()
        processes = 0 if standing is None else len(processes_of(standing)) - 1
        state = "running" if standing is not None else "elsewhere" if place.is_elsewhere() else "stopped"
        exists = os.path.isdir(record.project)
        return Seen(place.name, record.project, state, busy, max(processes, 0), place.idle_seconds(), exists)

    def adopt(self, place: Place) -> None:
        """Have the folder that lies at its project's path now as its project; its home stays.

        Raises EnvironmentsError (`project_unusable`, `environment_not_found`), SkillkeepError (`io_error`).
        """
        with contextlib.closing(place.making_lock()) as making:
            making.own(wait=True)
            record = place.record()
            if record is None:
                raise EnvironmentsError("environment_not_found", "it was removed", "List them: runner env list")
            real = real_project(self._home, record.project)
            if real != record.project:
                raise EnvironmentsError(
                    "project_unusable",
                    f"a link lies where the project of {place.name} was",
                    "Move the project back, or open the folder that it leads to: that has an environment of its own.",
                )
            place.change_record(replace(record, folder=_folder_of(record)))

    def stop(self, place: Place, *, kill: bool = False) -> bool:
        """End everything in it and let go of its namespaces; its home stays. False when it did not run.

        Raises EnvironmentsError (`environment_busy`) when commands run in it, unless they are to be killed.
        """
        with self._alone(place, kill=kill) as killed:
            return _end(place) or killed

    def delete(self, place: Place, *, kill: bool = False) -> None:
        """Stop it and remove its home. Raises EnvironmentsError (`environment_busy`), SkillkeepError (`io_error`)."""
        with self._alone(place, kill=kill):
            _end(place)
            remove_tree(place.folder)

    def collect(self, idle_seconds: float = IDLE_SECONDS) -> list[str]:
        """Stop what nobody is in, in which nothing runs, and which was not used for `idle_seconds`; the names.

        What a killed holder left of control groups goes as well.
        """
        stopped = []
        for place in every_place(self._home):
            lock = place.lock()
            try:
                if place.idle_seconds() < idle_seconds and place.standing() is not None:
                    continue
                used = place.used
                if not lock.own(wait=False) or place.is_elsewhere():
                    continue
                standing = place.standing()
                if standing is not None and len(processes_of(standing)) > 1:
                    continue
                if _end(place):
                    stopped.append(place.name)
                os.utime(place.lock_file, (used, used))
            finally:
                lock.close()
        return stopped

    def _enter_place(self, project: str) -> tuple[Place, Lock, bool]:
        """The place of a project, with its record made when there is none, its lock, shared, and whether it is new."""
        for place in (place_of(self._home, name) for name in candidates(project)):
            presence = place.lock()
            try:
                presence.share()
                record, made = self._recorded(place, project)
            except BaseException:
                presence.close()
                raise
            if record.project == project:
                return place, presence, made
            presence.close()
        hint = "Delete one of them: runner env list"
        raise EnvironmentsError("environment_broken", "every name for this folder is taken", hint)

    def _recorded(self, place: Place, project: str) -> tuple[Record, bool]:
        """What the place is for, written when it is new, and whether it is; one half written is not left behind."""
        with contextlib.closing(place.making_lock()) as making:
            making.own(wait=True)
            record, made = place.record(), not place.folder.exists()
            if record is None:
                record = Record(place.name, project, self._free_slot(project), time.time())
                record = replace(record, folder=_folder_of(record))
                try:
                    place.write_record(record)
                except BaseException:
                    if made:
                        _remove(place)
                    raise
            return record, made

    def _free_slot(self, project: str) -> int:
        taken = set()
        for place in every_place(self._home):
            with contextlib.suppress(EnvironmentsError):
                record = place.record()
                if record is not None:
                    taken.add(record.slot)
        slot = int(hashlib.sha256(os.fsencode(f"{self._home.root}\0{project}")).hexdigest()[:8], 16) % _SLOTS
        while slot in taken:
            slot = (slot + 1) % _SLOTS
        return slot

    def _standing(self, place: Place, presence: Lock, wanted: Plan, *, asked: bool) -> Standing:
        """Where it runs, built when it does not. `presence` is shared, before and after."""
        with contextlib.closing(place.making_lock()) as making:
            making.own(wait=True)
            _check_in_sight(place)
            record, found = place.record(), place.standing()
            assert record is not None
            folder = _check_folder(place, record)
            if found is not None and _is_same_folder(found, record):
                _check_same(found, wanted, record, asked=asked)
                return found
            if found is not None:
                self._end_unused(place, presence)
            _end(place)
            build(place, record, wanted)
            built = place.standing()
            if built is not None and built.project != (folder.device, folder.inode):  # replaced just now
                _end(place)
                raise _replaced(record)
        if built is None:
            raise EnvironmentsError("environment_ended", "it ended as soon as it stood", "Try again.")
        self.collect()
        return built

    def _end_unused(self, place: Place, presence: Lock) -> None:
        """End one that shows a folder which is no longer there, if nobody else is in it."""
        presence.release()
        alone = presence.own(wait=False)
        if alone:
            _end(place)
        presence.share()
        if not alone:
            raise _busy(place, "its project's folder was replaced meanwhile")

    @contextlib.contextmanager
    def _alone(self, place: Place, *, kill: bool) -> Iterator[bool]:
        """Nobody else is in it for the block; whether commands had to be killed for that."""
        lock, killed = place.lock(), False
        try:
            _check_in_sight(place)
            if not lock.own(wait=False):
                if not kill:
                    raise _busy(place, "commands run in it")
                killed = place.last_standing() is not None
                # With nobody left in it, whoever waits for a command leaves; without a holder they do so by themselves.
                if (standing := place.standing()) is not None:
                    kill_all(standing)
                _left(place, lock)
            yield killed
        finally:
            lock.close()


def _left(place: Place, lock: Lock) -> None:
    """Wait until everybody has left."""
    deadline = time.monotonic() + _LEAVING_SECONDS
    while not lock.own(wait=False):
        if time.monotonic() > deadline:
            raise _busy(place, "a program that has it open does not leave it")
        time.sleep(_PAUSE_SECONDS)


def _unmake(place: Place, presence: Lock) -> None:
    """Remove a new one that never stood, if nobody else is in it."""
    presence.release()
    if presence.own(wait=False) and place.last_standing() is None:
        _remove(place)


def _remove(place: Place) -> None:
    """Remove one that never stood; why it never stood says more than why this fails."""
    with contextlib.suppress(SkillkeepError):
        remove_tree(place.folder)


def _check_same(found: Standing, wanted: Plan, record: Record, *, asked: bool) -> None:
    """Raise when an environment that runs has other limits or rights than those asked for."""
    # How many files one process may have open depends on the caller's own limit, too (`Plan.open_files`).
    same = replace(wanted, run_id=found.plan.run_id, open_files=found.plan.open_files)
    if asked and found.plan != same:
        raise EnvironmentsError(
            "environment_differs",
            f"the environment {record.name} runs with other limits or rights",
            f"Stop it first, its home is kept: runner env stop {record.name}",
        )


def _is_same_folder(standing: Standing, record: Record) -> bool:
    with contextlib.suppress(OSError):
        state = os.stat(record.project)
        return (state.st_dev, state.st_ino) == standing.project
    return False


def _folder_of(record: Record) -> Folder:
    with io_errors("look at the project's folder"):
        return folder_at(record.project)


def _check_folder(place: Place, record: Record) -> Folder:
    """Raise when another folder lies at the project's path than the one whose commands have made the home."""
    folder = _folder_of(record)
    if record.folder is None:
        place.change_record(replace(record, folder=folder))
    elif not record.folder.is_same(folder):
        raise _replaced(record)
    return folder


def _replaced(record: Record) -> EnvironmentsError:
    return EnvironmentsError(
        "project_replaced",
        f"the folder {printable_path(record.project)} is not the one that the environment {record.name} was made for",
        f"The same project, made or mounted anew: keep the home by `runner env adopt {record.name}`. Another one: "
        f"remove the home by `runner env delete {record.name}`, or move the first one back.",
    )


def _check_in_sight(place: Place) -> None:
    """Raise when it may run where nobody here can see it: no second one is made beside it, and its entry stays."""
    if place.is_elsewhere():
        raise EnvironmentsError(
            "environment_busy",
            f"the environment {place.name} was started from another pid namespace, and may still run there",
            f"Use it or stop it where it was started: outside this container, or in another one. If that has ended, "
            f"remove the file that says where it stands: {printable_path(str(place.standing_file))}",
        )


def _busy(place: Place, why: str) -> EnvironmentsError:
    return EnvironmentsError(
        "environment_busy", f"the environment {place.name} is in use: {why}", "End them, or repeat with --kill."
    )


def _end(place: Place) -> bool:
    """End what runs and remove its control groups and its entry; False when nothing ran. The lock is held alone.

    Raises EnvironmentsError (`environment_busy`) when it cannot be seen from here.
    """
    _check_in_sight(place)
    last, standing = place.last_standing(), place.standing()
    if standing is not None:
        kill_all(standing)
    if last is not None:
        for part in last.groups:
            with contextlib.suppress(OSError):
                os.rmdir(part.path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place.standing_file)
    return standing is not None

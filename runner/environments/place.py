"""The folder of one environment below the Skillkeep home, and who is in it at this moment.

``<home>/environments/<name>/``: `environment.json` (what it is for), `standing.json` (where it runs, if it does),
`home/` (the sandbox's own home), `passwd`, `lock`. Whoever has the environment open holds its lock shared, whoever
removes or stops it holds it alone; the kernel drops both with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from skillkeep.files import io_errors, write_atomic
from skillkeep.home import Home
from skillkeep.runner.environments.errors import EnvironmentsError
from skillkeep.runner.environments.folder import Folder
from skillkeep.runner.environments.names import NAME
from skillkeep.runner.environments.standing import Standing, is_alive, is_elsewhere

__all__ = ["Lock", "Place", "Record", "every_place", "place_of"]

_FOLDER = "environments"
_ACCOUNTS = (
    "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n",
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
)


@dataclass(frozen=True)
class Record:
    """What an environment is for. `slot` numbers its own ids where the runner is root; `created` is a Unix time.

    `folder` is what lay at `project` when it was made; None: that was not written down.
    """

    name: str
    project: str
    slot: int
    created: float
    folder: Folder | None = None


class Lock:
    """One holder of an environment's lock file."""

    def __init__(self, path: Path) -> None:
        with io_errors("open the lock of an environment"):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def share(self) -> None:
        """Be in it, waiting while somebody stops or removes it."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def own(self, *, wait: bool) -> bool:
        """Have it alone; with `wait` False, False at once when somebody is in it."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def note_use(self) -> None:
        """The environment was used just now; once it was given back for good, nothing."""
        if self._fd >= 0:
            os.utime(self._fd)

    def release(self) -> None:
        """Give it back; it can be taken again."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give it back for good."""
        if self._fd >= 0:
            self.release()
            fd, self._fd = self._fd, -1
            os.close(fd)


@dataclass(frozen=True)
class Place:
    """The paths of one environment."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def passwd(self) -> Path:
        return self.folder / "passwd"

    @property
    def standing_file(self) -> Path:
        return self.folder / "standing.json"

    @property
    def lock_file(self) -> Path:
        """Beside the folder, so that a waiting creator's lock outlives a removal."""
        return self.folder.parent / f".{self.name}.lock"

    def lock(self) -> Lock:
        """A lock of the environment, not taken yet."""
        return Lock(self.lock_file)

    def making_lock(self) -> Lock:
        """Held alone by whoever makes it stand, besides being in it."""
        return Lock(self.folder.parent / f".{self.name}.making")

    def waiting_lock(self) -> Lock:
        """Held alone by the one process for whose commands others wait ahead."""
        return Lock(self.folder.parent / f".{self.name}.waiting")

    @property
    def used(self) -> float:
        """When it was last used, in seconds since 1970."""
        with contextlib.suppress(OSError):
            return os.stat(self.lock_file).st_mtime
        return 0.0

    def record(self) -> Record | None:
        """What it is for; None when it does not exist. Raises EnvironmentsError (`environment_broken`)."""
        try:
            data = json.loads((self.folder / "environment.json").read_bytes())
            folder = data.pop("folder", None)
            return Record(**data, folder=None if folder is None else Folder(**folder))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise EnvironmentsError(
                "environment_broken",
                f"what is stored about the environment {self.name} cannot be read: {error}",
                f"Remove it: runner env delete {self.name}",
            ) from error

    def write_record(self, record: Record) -> None:
        """Make the folder, private to this user, and write what it is for."""
        with io_errors("make the folder of an environment"):
            os.makedirs(self.home, 0o700, exist_ok=True)
            for folder in (self.folder, self.home):
                os.chmod(folder, 0o700)
        account = f"{record.name}:x:1000:1000:{record.name}:/home/{record.name}:/bin/sh\n"
        text = "".join((_ACCOUNTS[0], account, _ACCOUNTS[1]))
        write_atomic(self.passwd, text.encode())
        with io_errors("make the accounts of an environment readable"):
            os.chmod(self.passwd, 0o644)  # for its own id, whatever the caller's umask says
        self.change_record(record)

    def change_record(self, record: Record) -> None:
        """Write what it is for. Raises SkillkeepError (`io_error`)."""
        write_atomic(self.folder / "environment.json", json.dumps(asdict(record)).encode())

    def standing(self) -> Standing | None:
        """Where it runs; None when it does not, what is written is of a holder that has ended, or `is_elsewhere`."""
        try:
            found = Standing.from_text(self.standing_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if is_alive(found) else None

    def last_standing(self) -> Standing | None:
        """Where it ran last, whether it still does or not."""
        try:
            return Standing.from_text(self.standing_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def is_elsewhere(self) -> bool:
        """Whether it cannot be said from here if it runs (`standing.is_elsewhere`)."""
        last = self.last_standing()
        return last is not None and is_elsewhere(last)

    def is_busy(self) -> bool:
        """Whether a command of this machine is in it at this moment."""
        lock = self.lock()
        try:
            return not lock.own(wait=False)
        finally:
            lock.close()

    def idle_seconds(self) -> float:
        """How long nobody has used it."""
        return max(0.0, time.time() - self.used)


def place_of(home: Home, name: str) -> Place:
    """The place of `name`, which may not exist. The folder of all environments is made, private to this user."""
    folder = home.root / _FOLDER
    with io_errors("make the folder of environments"):
        os.makedirs(folder, 0o700, exist_ok=True)
        if os.stat(folder).st_mode & 0o077:
            os.chmod(folder, 0o700)
    return Place(folder / name)


def every_place(home: Home) -> Iterator[Place]:
    """Every environment that exists, by name."""
    folder = home.root / _FOLDER
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return
    for name in names:
        if NAME.match(name):
            yield Place(folder / name)

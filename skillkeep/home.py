"""The Skillkeep home: ``$SKILLKEEP_HOME`` or ``~/.skillkeep``, private to its owner."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from skillkeep.errors import SkillkeepError
from skillkeep.files import io_errors
from skillkeep.value import Value

__all__ = ["Home"]


class Home(Value):
    """Where everything lives. `root` is absolute; the folders below it are made by `ensure`."""

    root: Path

    @classmethod
    def resolve(cls, environment: Mapping[str, str], override: str | Path | None = None) -> Home:
        """The home named by `override`, else ``SKILLKEEP_HOME``, else ``~/.skillkeep``.

        Raises `SkillkeepError` (`bad_home`) when no home folder is known or the path is not absolute.
        """
        named = os.fspath(override) if override else environment.get("SKILLKEEP_HOME", "")
        if not named:
            base = environment.get("HOME") or _passwd_home()
            if not base:
                raise _bad("no home folder is known for this user", "Set SKILLKEEP_HOME to a folder of yours.", "")
            named = os.path.join(base, ".skillkeep")
        if not os.path.isabs(named) or "\0" in named:
            raise _bad("the home has to be an absolute path", "Set SKILLKEEP_HOME to an absolute path.", named)
        return cls(Path(os.path.normpath(named)))

    @property
    def config(self) -> Path:
        """The configuration file, TOML; it may be missing."""
        return self.root / "config.toml"

    @property
    def skills(self) -> Path:
        """The user's own skills (tier 1)."""
        return self.root / "skills"

    @property
    def scripts(self) -> Path:
        """The user's own scripts (tier 1)."""
        return self.root / "scripts"

    @property
    def quarantine(self) -> Path:
        """Where fetched sources wait; one folder per ingest, always removed."""
        return self.root / "quarantine"

    @property
    def vault(self) -> Path:
        """Approved tools and the registry."""
        return self.root / "vetted_vault"

    @property
    def journal(self) -> Path:
        """The hash-chained journal."""
        return self.root / "journal"

    @property
    def runs(self) -> Path:
        """One folder per run with its ``run.json``."""
        return self.root / "runs"

    @property
    def suppressions(self) -> Path:
        """Warnings the user has accepted, TOML; it may be missing."""
        return self.root / "suppressions.toml"

    @property
    def reports(self) -> Path:
        """Reports of earlier audits, one folder per caller; made on the first write, may be removed at any time."""
        return self.root / "cache" / "reports"

    def ensure(self) -> Home:
        """Make the home and its folders (0700) and check that they are ours and no links. Returns itself.

        Raises `SkillkeepError` (`bad_home`, `io_error`).
        """
        with io_errors("make the Skillkeep home"):
            self.root.parent.mkdir(parents=True, exist_ok=True)
        for folder in (
            self.root,
            self.skills,
            self.scripts,
            self.quarantine,
            self.vault,
            self.journal,
            self.runs,
        ):
            _private_folder(folder)
        return self


def _private_folder(folder: Path) -> None:
    with io_errors("make a folder of the Skillkeep home"):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode):
        raise _bad("a part of the home is not a folder, or is a link", "Move it away; the folder is made anew.", folder)
    if info.st_uid != os.geteuid():
        raise _bad("the home belongs to another user", "Set SKILLKEEP_HOME to a folder of your own.", folder)
    if info.st_mode & 0o022:
        raise _bad("others may write to the home", f"Run: chmod go-w '{folder}'", folder)


def _passwd_home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return ""


def _bad(message: str, hint: str, path: str | Path) -> SkillkeepError:
    return SkillkeepError("bad_home", message, hint, path=os.fspath(path))

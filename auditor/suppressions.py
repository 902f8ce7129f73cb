"""Warnings the user has accepted: a file outside the tool, each entry bound to a digest, with reason, owner and expiry.

What an entry can do is little. It never lifts a FAIL (law 2), never makes an incomplete audit complete, never
applies to other bytes, and ends within a year. A suppressed warning stays in the report and says who accepted it.
The file may not lie inside what is audited: the physical folders above it are compared with the audited ones by
device and inode, so no link and no ``..`` hides where it is.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.interface import Finding, Report, Severity, Suppression
from skillkeep.auditor.verdict import verdict_of

__all__ = ["Suppressions", "apply_suppressions", "load_suppressions"]

_LONGEST = timedelta(days=366)
_MOST_BYTES = 1 << 20
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    rule: Words
    digest: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=10, max_length=500)]
    owner: Words
    expires: date
    path: str | None = None
    fingerprint: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")] | None = None

    def covers(self, finding: Finding) -> bool:
        return (
            self.rule == finding.rule
            and self.path in {None, finding.location.path}
            and self.fingerprint in {None, finding.fingerprint}
        )

    def __str__(self) -> str:
        return f"{self.rule} for {self.digest[:19]}… (owner {self.owner}, until {self.expires})"


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    suppress: tuple[_Entry, ...] = Field(default=(), max_length=10_000)


@dataclass(frozen=True)
class Suppressions:
    """What one file says; empty when there is none. `notes` go into every report it is applied to."""

    entries: tuple[_Entry, ...] = ()
    notes: tuple[str, ...] = ()


def load_suppressions(path: Path, today: date, audited: Sequence[Path], *, named: bool) -> Suppressions:
    """Read `path` for an audit of the folders `audited`; a file the user did not name may be missing.

    Raises `AuditError` (`bad_suppressions`): unreadable, a link, writable by others, inside an audited folder,
    malformed, an unknown key, an expiry more than a year away. The home's own file inside an audited folder (an
    audit of the whole home) is left out with a note instead.
    """
    try:
        stream = open(os.open(path, _FILE), "rb")  # noqa: SIM115 -- closed below
    except FileNotFoundError as error:
        if named:
            raise _bad("it does not exist", path) from error
        return Suppressions()
    except (OSError, ValueError) as error:
        raise _bad(getattr(error, "strerror", None) or str(error), path) from error
    with stream:
        info = os.fstat(stream.fileno())
        if not stat.S_ISREG(info.st_mode) or info.st_uid not in {0, os.geteuid()} or info.st_mode & stat.S_IWOTH:
            raise _bad("it is not a file of yours that only you may write", path)
        if _inside(path, audited):
            if named:
                raise _bad("it lies inside what is audited, which may not excuse itself", path)
            return Suppressions(notes=("suppressions not used: their file lies inside what is audited",))
        data = stream.read(_MOST_BYTES + 1)
    return Suppressions(_parsed(data, path, today))


def apply_suppressions(report: Report, suppressions: Suppressions, today: date) -> Report:
    """The report with accepted warnings marked, its verdict without them, and notes on entries without effect."""
    entries = [entry for entry in suppressions.entries if report.digest and entry.digest == report.digest]
    valid = [entry for entry in entries if entry.expires >= today]
    notes = list(suppressions.notes)
    notes += [f"suppression expired: {entry}" for entry in entries if entry.expires < today]
    findings = []
    for finding in report.findings:
        entry = next((entry for entry in valid if entry.covers(finding)), None)
        marked = None
        if entry is not None and finding.severity is Severity.FAIL:
            notes.append(f"suppression ignored, nothing lifts a FAIL: {entry}")
        elif entry is not None and finding.category == "audit":
            notes.append(f"suppression ignored, an incomplete audit stays incomplete: {entry}")
        elif entry is not None:
            marked = Suppression(entry.reason, entry.owner, entry.expires.isoformat())
        findings.append(replace(finding, suppression=marked))
    for entry in valid:
        if not any(entry.covers(finding) for finding in report.findings):
            notes.append(f"suppression without effect, nothing like it was found: {entry}")
    verdict = verdict_of(finding for finding in findings if finding.suppression is None)
    return replace(report, findings=tuple(findings), verdict=verdict, notes=tuple(dict.fromkeys(notes)))


def _parsed(data: bytes, path: Path, today: date) -> tuple[_Entry, ...]:
    if len(data) > _MOST_BYTES:
        raise _bad("it is larger than 1 MiB", path)
    try:
        entries = _File.model_validate(tomllib.loads(data.decode("utf-8"))).suppress
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _bad(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}", path) from error
    except ValueError as error:
        raise _bad(f"it cannot be read as TOML: {error}", path) from error
    for number, entry in enumerate(entries):
        if entry.expires > today + _LONGEST:
            raise _bad(f"suppress.{number}.expires: more than a year away", path)
    return entries


def _inside(path: Path, folders: Sequence[Path]) -> bool:
    """True when the file's physical folder is one of `folders` or below one."""
    roots = set()
    for folder in folders:
        with suppress(OSError, ValueError):
            info = os.stat(folder)
            roots.add((info.st_dev, info.st_ino))
    fd = os.open(path.parent, _FOLDER)
    seen = None
    try:
        while (here := _identity(fd)) != seen:
            if here in roots:
                return True
            seen = here
            above = os.open("..", _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = above
    finally:
        os.close(fd)
    return False


def _identity(fd: int) -> tuple[int, int]:
    info = os.fstat(fd)
    return info.st_dev, info.st_ino


def _bad(what: str, path: Path) -> AuditError:
    hint = "See docs/suppressions.md for what the file may hold and where it may lie."
    return AuditError("bad_suppressions", f"the suppressions cannot be used: {what}", hint, path=os.fspath(path))

"""What `auditor scan` is pointed at, made into a folder: a folder is itself, a file is copied into a private one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.errors import SkillkeepError
from skillkeep.scratch import scratch

__all__ = ["as_tree", "base_of"]

_ADDRESS: Final = compiled(r"[a-z][a-z+]+:/|[\w.-]+@[\w.-]+:")  # of a path, in which two slashes are one


@contextmanager
def as_tree(path: Path, most_bytes: int) -> Iterator[Path]:
    """The folder to audit for `path`. A single file is read once, without following a link.

    Raises `SkillkeepError`: `not_a_tree` for what is neither, `limit_exceeded`, `io_error`.
    """
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError) as error:
        raise _not_a_tree(path, getattr(error, "strerror", None) or str(error)) from error
    if stat.S_ISLNK(mode):
        raise _not_a_tree(path, "it is a link")
    if not stat.S_ISREG(mode):
        if not stat.S_ISDIR(mode):
            raise _not_a_tree(path, "it is neither a folder nor a regular file")
        yield path
        return
    data = _read(path, most_bytes)
    with scratch("scan") as folder:
        copy = folder / path.name
        copy.write_bytes(data)
        copy.chmod(0o700 if mode & 0o111 else 0o600)
        yield folder


def base_of(path: Path, *, alone: bool) -> str:
    """The POSIX path from the working folder to the folder `path` is or lies in. What lies outside of that has none
    when it is audited `alone`: with others, one name has to be one place."""
    folder = path if path.is_dir() else path.parent
    below = os.path.relpath(os.path.abspath(folder), os.getcwd())
    return "" if below == "." or (alone and below.split(os.sep)[0] == "..") else below


def _read(path: Path, most_bytes: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as stream:
            data = stream.read(most_bytes + 1)
    except OSError as error:
        raise SkillkeepError(
            "io_error", "the file cannot be read", "Check its permissions.", path=str(path), reason=error.strerror or ""
        ) from error
    if len(data) > most_bytes:
        hint = "Audit it in a folder; the report then says that it was too large to be read."
        raise SkillkeepError("limit_exceeded", "the file is larger than an audit reads", hint, limit=most_bytes)
    return data


def _not_a_tree(path: Path, reason: str) -> SkillkeepError:
    hint = "Give the path of an existing folder or file, not of a link to one."
    if _ADDRESS.match(str(path)):
        hint = "An audit reads what is on this machine; `skill ingest URL` fetches, audits, and asks before it keeps."
    return SkillkeepError("not_a_tree", "there is nothing at this path to audit", hint, path=str(path), reason=reason)

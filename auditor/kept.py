"""What takes long to make of the program or its rules lies beside them, in ``__pycache__``, as Python keeps bytecode.

Who can write there can write the program itself. It counts only whole, when it is nobody else's, and is written only
where Python would write bytecode, never by a confined worker.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

__all__ = ["keep", "kept_for", "read_kept", "states"]

_MOST_BYTES: Final = 16 << 20
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_kept(place: Path, digest: str = "") -> dict[str, Any] | None:
    """What was kept at `place`, for `digest` where one is given, or None. Raises `OSError`, `ValueError`.

    A file of somebody else's, or that others may write, is not read.
    """
    fd = os.open(place, _FILE)
    with open(fd, "rb") as stream:
        info, program = os.fstat(fd), os.stat(place.parent.parent)
        mine = info.st_uid in {program.st_uid, os.geteuid(), 0}
        if not stat.S_ISREG(info.st_mode) or not mine or info.st_mode & 0o022:
            return None
        head, _, body = stream.read(_MOST_BYTES).partition(b"\n")
    made_for, _, checksum = head.decode().partition(" ")
    if made_for != (digest or made_for) or checksum != hashlib.sha256(body).hexdigest():
        return None
    documents: dict[str, Any] = json.loads(body)
    return documents


def kept_for(place: Path) -> str:
    """The digest that what lies at `place` was made for, unread; empty when nothing does."""
    with suppress(OSError, ValueError), open(os.open(place, _FILE), "rb") as stream:
        return stream.readline(1000).decode().partition(" ")[0]
    return ""


def keep(place: Path, digest: str, documents: dict[str, Any]) -> None:
    """Write the documents whole or not at all. One that JSON would change is left out. Raises `OSError`."""
    same = {name: each for name, each in documents.items() if json.loads(json.dumps(each)) == each}
    body = json.dumps(same, separators=(",", ":")).encode()
    place.parent.mkdir(mode=0o755, exist_ok=True)
    temporary = place.with_name(f"{place.name}.{os.getpid()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        with open(fd, "wb") as stream:
            stream.write(f"{digest} {hashlib.sha256(body).hexdigest()}\n".encode() + body)
        os.replace(temporary, place)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def states(folder: str | Path, ending: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Size and time of change of every file below `folder` whose name ends so; what Python keeps beside is no part."""
    with os.scandir(folder) as listing:
        for item in listing:
            if item.is_dir(follow_symlinks=False):
                yield from states(item.path, ending) if item.name != "__pycache__" else ()
            elif item.name.endswith(ending):
                info = item.stat()
                yield item.path, (info.st_size, info.st_mtime_ns)

"""The manifest that lies beside an object's tree: what was approved, or nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from skillkeep.digest import sha256_bytes
from skillkeep.manifest import Manifest

__all__ = ["MANIFEST_BYTES", "load_manifest"]

MANIFEST_BYTES = 64 << 20
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def load_manifest(path: Path, hex_digest: str) -> Manifest | None:
    """The manifest file at `path`, or None unless it is there and hashes to `hex_digest`."""
    try:
        fd = os.open(path, _OPEN_FILE)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        try:
            data = stream.read(MANIFEST_BYTES)
        except OSError:
            return None
    if sha256_bytes(data) != hex_digest:
        return None
    return Manifest.from_text(data.decode("ascii"))

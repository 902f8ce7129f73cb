"""SHA-256, in the one spelling the whole project uses: ``sha256:<64 hex digits>``."""

from __future__ import annotations

import hashlib
import os
import re

from skillkeep.errors import SkillkeepError

__all__ = ["CHUNK", "DIGEST_PREFIX", "parse_digest", "sha256_bytes", "sha256_fd", "spell"]

DIGEST_PREFIX = "sha256:"
CHUNK = 1 << 18
_HEX = re.compile(r"[0-9a-f]{64}\Z")


def sha256_bytes(data: bytes) -> str:
    """The 64 hex digits of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_fd(fd: int) -> tuple[str, int]:
    """Hash an open file from its current position to its end: (64 hex digits, bytes read)."""
    state = hashlib.sha256()
    size = 0
    while chunk := os.read(fd, CHUNK):
        state.update(chunk)
        size += len(chunk)
    return state.hexdigest(), size


def spell(hex_digest: str) -> str:
    """``sha256:`` in front of 64 hex digits."""
    return DIGEST_PREFIX + hex_digest


def parse_digest(text: str) -> str:
    """The 64 hex digits of ``sha256:<hex>`` (upper case and a missing prefix are accepted).

    Raises `SkillkeepError` (`bad_manifest`) for anything else.
    """
    bare = text.strip().lower().removeprefix(DIGEST_PREFIX)
    if not _HEX.match(bare):
        raise SkillkeepError(
            "bad_manifest",
            "that is not a SHA-256 digest",
            "Write it as sha256: followed by 64 hexadecimal digits, as `vault show NAME` prints it.",
        )
    return bare

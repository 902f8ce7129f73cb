"""From a project's path to the name of its environment: the sanitised base name and four hex digits of a hash."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator

__all__ = ["NAME", "candidates", "sanitised"]

NAME = re.compile(r"[a-z][a-z0-9-]{0,26}-[0-9a-f]{4}\Z")
"""What a name looks like: it is also a valid user name on Linux (at most 32 letters)."""
_STEM_LETTERS = 27
_DIGITS = 4


def sanitised(base: str) -> str:
    """`base` in lower case, other letters as single dashes, beginning with a letter; ``project`` when none is left."""
    words = re.sub(r"[^a-z0-9]+", "-", base.lower()).strip("-")
    words = re.sub(r"^[^a-z]+", "", words)
    return words[:_STEM_LETTERS].strip("-") or "project"


def candidates(project: str) -> Iterator[str]:
    """Names for the project at an absolute path, the usual one first; the others for when a name is taken."""
    stem = sanitised(os.path.basename(project))
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()
    for start in range(0, len(digest), _DIGITS):
        yield f"{stem}-{digest[start : start + _DIGITS]}"

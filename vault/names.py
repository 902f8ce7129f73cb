"""Which names a tool may have. A name becomes a file name beside the vault's own files."""

from __future__ import annotations

import re

from skillkeep.digest import DIGEST_PREFIX
from skillkeep.errors import SkillkeepError
from skillkeep.text import escape

__all__ = ["check_name", "is_digest"]

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_FORM = (
    "A name has 1 to 64 lower-case letters, digits, dots, dashes or underscores and starts with a letter or digit; "
    "'objects' and 'registry' belong to the vault itself."
)
_WHOLE = "A digest is named whole, with its 64 digits: `vault show NAME` and `vault list --json` show it."
_RESERVED_STEMS = frozenset({"objects", "registry"})  # the vault's own entries, and SQLite's side files


def check_name(name: str) -> str:
    """Return `name` unchanged when a tool may have it: 1 to 64 of ``a-z0-9._-``, first a letter or digit.

    Refused besides: a bare SHA-256 (commands take names and digests alike) and the vault's own file names.
    Raises `SkillkeepError` (`bad_name`).
    """
    if not _NAME.match(name) or is_digest(name) or name.split(".")[0] in _RESERVED_STEMS:
        hint = _WHOLE if name.startswith(DIGEST_PREFIX) else _FORM
        raise SkillkeepError("bad_name", f"'{escape(name[:80])}' cannot be the name of a tool", hint, name=name[:200])
    return name


def is_digest(text: str) -> bool:
    """True when a command's argument is a whole SHA-256, with or without ``sha256:``, and so no name."""
    return bool(_DIGEST.match(text.removeprefix(DIGEST_PREFIX)))

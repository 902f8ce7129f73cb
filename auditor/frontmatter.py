"""The metadata on top of a SKILL.md (or agent, command, rule file): what the tool says about itself.

Format: agentskills.io specification; a block between two ``---`` lines at the very start of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.strict_yaml import load_yaml

__all__ = ["Frontmatter", "parse_frontmatter"]

_MAX_CHARACTERS = 64 << 10
_CLOSING = compiled(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_TOP_KEY = compiled(r"^([A-Za-z][\w-]*):(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Frontmatter:
    """`text` is the block without its fences (empty when there is none), starting at line 2 of the file.

    `body_line` is the file's line on which the body starts. `error` says why the block is not proper YAML;
    then `fields` holds what a line-by-line reader finds, the way tolerant agents read it.
    """

    text: str = ""
    body_line: int = 1
    fields: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    @property
    def present(self) -> bool:
        """True when the file starts with a block."""
        return self.body_line > 1

    @property
    def name(self) -> str:
        """The ``name`` field as text, or empty."""
        return _text(self.fields.get("name"))

    @property
    def description(self) -> str:
        """The ``description`` field as text, or empty."""
        return _text(self.fields.get("description"))

    @property
    def homepage(self) -> str:
        """The ``homepage`` field of the block, of its ``metadata`` or of an agent's part of that, as text, or empty."""
        more = self.fields.get("metadata")
        inner = (more, *more.values()) if isinstance(more, Mapping) else ()
        told = (each.get("homepage") for each in (self.fields, *inner) if isinstance(each, Mapping))
        return next((_text(each) for each in told if each), "")

    @property
    def allowed_tools(self) -> tuple[str, ...]:
        """``allowed-tools`` (or ``tools``) as a tuple; a string is split at commas, else at blanks."""
        value = self.fields.get("allowed-tools", self.fields.get("tools"))
        if isinstance(value, str):
            parts = value.split(",") if "," in value else re.findall(r"[^\s(]+(?:\([^)]*\))?", value)
            return tuple(part.strip() for part in parts if part.strip())
        return tuple(_text(item) for item in value) if isinstance(value, list) else ()


def parse_frontmatter(text: str) -> Frontmatter:
    """Read the block at the start of `text` (a byte order mark is skipped). Never raises."""
    text = text.removeprefix("\ufeff")
    first_end = text.find("\n")
    if first_end < 0 or text[:first_end].rstrip() != "---":
        return Frontmatter()
    closing = _CLOSING.search(text, first_end + 1)
    if closing is None:
        return Frontmatter(error="the block is never closed")
    block = text[first_end + 1 : closing.start()]
    return _parsed(block, text.count("\n", 0, closing.end()) + 2)


@lru_cache(maxsize=32)
def _parsed(block: str, body_line: int) -> Frontmatter:
    """Several engines ask about the same block in a row."""
    if len(block) > _MAX_CHARACTERS:
        return Frontmatter(block, body_line, _loose(block[:_MAX_CHARACTERS]), "the block is too large")
    try:
        fields = load_yaml(block, max_bytes=_MAX_CHARACTERS, max_depth=12)
    except AuditError as error:
        return Frontmatter(block, body_line, _loose(block), error.message)
    if fields is None:
        return Frontmatter(block, body_line, {})
    if not isinstance(fields, dict):
        return Frontmatter(block, body_line, {}, "the block is not a mapping")
    return Frontmatter(block, body_line, {str(key): value for key, value in fields.items()})


def _loose(block: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for match in _TOP_KEY.finditer(block):
        found.setdefault(match.group(1), match.group(2).strip().strip("\"'"))
    return found


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()

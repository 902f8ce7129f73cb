"""Programs that put files, or what they are told, where others read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from skillkeep.auditor.engines.tables import table

__all__ = ["MESSENGERS", "Publisher", "published_by", "words_of"]

MESSENGERS: Final = frozenset({"gh", "glab"})
"""What they are told is read by others as well, as is what the files hold that they are given."""

_BETWEEN: Final = frozenset({"&&", "||", ";", "|", "&"})


@dataclass(frozen=True)
class Publisher:
    """A program that publishes: at `host`, and (`folder`) all that lies below the working folder."""

    name: str
    host: str
    folder: bool


def published_by(words: Sequence[Any]) -> Publisher | None:
    """What the command of `words`, texts where they are known, publishes with; None where it publishes nothing."""
    commands = (list(part) for between, part in groupby(words, lambda word: word in _BETWEEN) if not between)
    return next((found for each in commands if (found := _publisher(each)) is not None), None)


def words_of(command: str) -> list[str]:
    """The words of a command line, as far as that matters here."""
    return command.replace(";", " ; ").replace('"', " ").replace("'", " ").split()


def _publisher(words: Sequence[Any]) -> Publisher | None:
    name, *told = words
    known = table("shell")["publishing"].get(name.rpartition("/")[2]) if isinstance(name, str) else None
    said = " ".join(word for word in told if isinstance(word, str) and not word.startswith("-")) + " "
    if known is None or not any(not each or said.startswith(f"{each} ") for each in known["words"]):
        return None
    return Publisher(name.rpartition("/")[2], known["host"], bool(known.get("folder")))

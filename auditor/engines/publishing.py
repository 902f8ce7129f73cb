"""Programs that put files, or what they are told, where others read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import secrets, table

__all__ = ["MESSENGERS", "Publisher", "is_below", "kept_at", "published_by", "publisher", "words_of"]

MESSENGERS: Final = frozenset({"gh", "glab"})
"""What they are told is read by others as well, as is what the files hold that they are given."""

_EVERYWHERE: Final = compiled(r"[/~]|[a-zA-Z]:|\.env\b")
_BETWEEN: Final = frozenset({"&&", "||", ";", "|", "&"})


@dataclass(frozen=True)
class Publisher:
    """A program that publishes: at `host`, and (`folder`) all that lies below the working folder."""

    name: str
    host: str
    folder: bool


_BEFORE_WORDS: Final = {"git": ("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path")}
"""Options that take a value and stand before what a program is told to do."""


def published_by(words: Sequence[Any]) -> Publisher | None:
    """What the command of `words`, texts where they are known, publishes with; None where it publishes nothing."""
    commands = (list(part) for between, part in groupby(words, lambda word: word in _BETWEEN) if not between)
    return next((found for each in commands if (found := _publisher(each)) is not None), None)


def words_of(command: str) -> list[str]:
    """The words of a command line, as far as that matters here."""
    return command.replace(";", " ; ").replace('"', " ").replace("'", " ").split()


def publisher(name: str, arguments: Sequence[str]) -> Publisher | None:
    """What the program `name` publishes with, where its `arguments` say that it does."""
    known = table("shell")["publishing"].get(name)
    if known is None:
        return None
    valued = _BEFORE_WORDS.get(name, ())
    pairs = zip(["", *arguments], arguments, strict=False)
    said = " ".join(word for before, word in pairs if not word.startswith("-") and before not in valued) + " "
    if not any(not each or said.startswith(f"{each} ") for each in known["words"]):
        return None
    return Publisher(name, known["host"], bool(known.get("folder")))


def is_below(name: str) -> bool:
    """True for a file below the working folder that is published with it: settings are not."""
    return _EVERYWHERE.match(name) is None


def kept_at(paths: Iterable[str]) -> frozenset[str]:
    """The labels of the secrets that lie at `paths`."""
    return frozenset(f"secret:{what}" for path in paths if (what := secrets().path(path)) is not None)


def _publisher(words: Sequence[Any]) -> Publisher | None:
    name, *told = words
    if not isinstance(name, str):
        return None
    return publisher(name.rpartition("/")[2], [word for word in told if isinstance(word, str)])

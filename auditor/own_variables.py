"""Variables that the tool's own scripts set: what they are made of is judged where they are set."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from posixpath import dirname, normpath

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.lazily import lazily
from skillkeep.auditor.services import services

__all__ = ["set_variables"]

_READ = "code-credential-env"
_SENT = "code-credential-sent"
_VALUABLE = frozenset({"PRIVATE", "PASSWORD", "PASSWD", "ROOT", "MASTER", "SIGNING", "ENCRYPTION", "ADMIN"})
_SHELLS = (".sh", ".bash", ".zsh")
_SOURCED = lazily(
    r"(?m)^[ \t]*(?:source|\.)[ \t]+[\"']?[^\s;&|#]{0,3}[^\n;&|#]{0,80}?/(?P<tail>[\w./-]{1,80}\.(?:ba|z)?sh)\b"
)
_VALUE = r"(?P<value>\"[^\"\n]*\"?|'[^'\n]*'|[^\s\"';&|]+)"


def set_variables(raws: Sequence[Raw], text_of: Callable[[str], str]) -> frozenset[str]:
    """Names that are nobody's key and are read only where a shell script of the tool has set them (`text_of` a path).

    That is a script that this one has read in before (``. ./common.sh``), or the command itself (``TOKEN="$t" node``).
    One that sets them to what they are (``${TOKEN:-}``) or to a variable of any name (``${!name}``) sets nothing.
    """
    read: dict[str, list[Raw]] = defaultdict(list)
    for raw in raws:
        if raw.subject and raw.finding.rule in {_READ, _SENT}:
            read[raw.subject].append(raw)
    known = services()
    return frozenset(
        name
        for name, listed in read.items()
        if not known.is_shared(name)
        and not (_is_valuable(name) and any(raw.finding.rule == _SENT for raw in listed))
        and all(_is_set(name, raw, text_of) for raw in listed)
    )


def _is_valuable(name: str) -> bool:
    return not _VALUABLE.isdisjoint(name.upper().split("_"))


def _is_set(name: str, raw: Raw, text_of: Callable[[str], str]) -> bool:
    at = raw.finding.location
    if not at.path.endswith(_SHELLS):
        return False
    lines = text_of(at.path).split("\n")
    inside = bool(raw.finding.provenance) and 0 < at.line <= len(lines)
    if inside and (found := _before_command(name).search(lines[at.line - 1])) is not None:
        return _tells(found["value"], name)
    return any(_sets(text_of(path), name) for path in _sourced(at.path, "\n".join(lines[: max(at.line - 1, 0)])))


def _before_command(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s;&|])(?:\w+=(?:\"[^\"\n]*\"|[^\s\"']*)[ \t]+)*{name}={_VALUE}[ \t]+[^\s;&|#]")


def _sets(text: str, name: str) -> bool:
    """True where `text` sets the variable, and always to something else."""
    values = [
        found["value"] for found in re.finditer(rf"(?m)^[ \t]*(?:export[ \t]+|local[ \t]+)?{name}={_VALUE}", text)
    ]
    return bool(values) and all(_tells(value, name) for value in values)


def _tells(value: str, name: str) -> bool:
    return bool(value.strip("\"'")) and not re.search(rf"\b{name}\b", value) and "${!" not in value


def _sourced(path: str, text: str) -> Iterator[str]:
    """The scripts beside `path`, or below, that `text` reads in."""
    for found in _SOURCED.finditer(text):
        yield normpath(f"{dirname(path) or '.'}/{found['tail']}")

"""Variables that the tool's own scripts set: what they are made of is judged where they are set."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from posixpath import dirname, normpath

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.lazily import lazily
from skillkeep.auditor.own_keys import is_valuable
from skillkeep.auditor.services import services

__all__ = ["set_variables"]

_READ = "code-credential-env"
_SENT = "code-credential-sent"
_SHELLS = (".sh", ".bash", ".zsh")
_SOURCED = lazily(
    r"(?m)^[ \t]*(?:source|\.)[ \t]+[\"']?[^\s;&|#]{0,3}[^\n;&|#]{0,80}?/(?P<tail>[\w./-]{1,80}\.(?:ba|z)?sh)\b"
)
_NAMED = re.compile(r"\$\{?([A-Za-z_]\w*)")
_MOST_STEPS = 4
_VALUE = r"(?P<value>\"[^\"\n]*\"?|'[^'\n]*'|[^\s\"';&|]+)"


def set_variables(raws: Sequence[Raw], text_of: Callable[[str], str]) -> frozenset[str]:
    """Names that are nobody's key and are read only where a shell script of the tool has set them (`text_of` a path).

    That is a script that this one has read in before (``. ./common.sh``), or the command itself (``TOKEN="$t" node``).
    One that sets them to what they are (``${TOKEN:-}``), to a variable of any name (``${!name}``) or to another secret
    of the environment, in however many steps, sets nothing.
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
        and not (is_valuable(name) and any(raw.finding.rule == _SENT for raw in listed))
        and all(_is_set(name, raw, text_of) for raw in listed)
    )


def _is_set(name: str, raw: Raw, text_of: Callable[[str], str]) -> bool:
    at = raw.finding.location
    if not at.path.endswith(_SHELLS):
        return False
    lines = text_of(at.path).split("\n")
    inside = bool(raw.finding.provenance) and 0 < at.line <= len(lines)
    if inside and (found := _before_command(name).search(lines[at.line - 1])) is not None:
        return _tells(found["value"], name, "\n".join(lines))
    return any(_sets(text_of(path), name) for path in _sourced(at.path, "\n".join(lines[: max(at.line - 1, 0)])))


def _before_command(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s;&|])(?:\w+=(?:\"[^\"\n]*\"|[^\s\"']*)[ \t]+)*{name}={_VALUE}[ \t]+[^\s;&|#]")


def _sets(text: str, name: str) -> bool:
    """True where `text` sets the variable, and always to something else; it may be empty at first."""
    values = [value for value in _given(text, name) if value.strip("\"'")]
    return bool(values) and all(_tells(value, name, text) for value in values)


def _given(text: str, name: str) -> list[str]:
    set_to = re.finditer(rf"(?m)^[ \t]*(?:export[ \t]+|local[ \t]+|readonly[ \t]+)?{name}={_VALUE}", text)
    return [found["value"] for found in set_to]


def _tells(value: str, name: str, text: str, steps: int = _MOST_STEPS) -> bool:
    """True for a value that is neither empty nor made of `name`, nor of a secret that `text` has from elsewhere."""
    if not value.strip("\"'") or "${!" in value or re.search(rf"\b{name}\b", value):
        return False
    for other in set(_NAMED.findall(value)):
        given = _given(text, other)
        if given and not (steps and all(_tells(each, other, text, steps - 1) for each in given)):
            return False
        asked = re.search(rf"\bread\b[^\n;|&]*\b{other}\b", text)
        if not given and secrets().variable(other) and not asked:
            return False
    return True


def _sourced(path: str, text: str) -> Iterator[str]:
    """The scripts beside `path`, or below, that `text` reads in."""
    for found in _SOURCED.finditer(text):
        yield normpath(f"{dirname(path) or '.'}/{found['tail']}")

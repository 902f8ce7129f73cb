"""Variables that the tool's own scripts set, which are judged where they are set, and other names of a declared one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from posixpath import dirname, normpath

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.own_keys import is_valuable
from skillkeep.auditor.services import services

__all__ = ["other_names", "set_variables"]

_READ = "code-credential-env"
_SENT = "code-credential-sent"
_SHELLS = (".sh", ".bash", ".zsh")
_SOURCED = compiled(
    r"(?m)^[ \t]*(?:source|\.)[ \t]+[\"']?[^\s;&|#]{0,3}[^\n;&|#]{0,80}?/(?P<tail>[\w./-]{1,80}\.(?:ba|z)?sh)\b"
)
_NAMED = compiled(r"\$\{?([A-Za-z_]\w*)")
_OR_ELSE = compiled(  # what stands between the names: the first one's end, "or else", and how the second is asked for
    r"[\"'\])]{0,3}(?:,[ \t]*(?:None|\"\"|''))?\)?(?:\.trim\(\)|\.strip\(\))?[ \t]*(?:or|\|\||\?\?|,)[ \t]*"
    r"(?:os\.environ\.get\(|os\.environ\[|os\.getenv\(|environ\.get\(|getenv\(|process\.env[.\[])[\"']?"
    r"|:-\$\{?"
)
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


def other_names(raws: Sequence[Raw], declared: frozenset[str], text_of: Callable[[str], str]) -> frozenset[str]:
    """Keys of no other service that every line which reads one takes instead of a declared one, and as that one.

    ``os.environ.get("ACME_KEY") or os.environ.get("OLD_ACME_KEY")``: what may be done with the one is done with it.
    """
    known = services()
    read = [raw for raw in raws if raw.subject and raw.finding.rule == _READ]
    names = {raw.subject for raw in read} - declared
    names = {name for name in names if not known.is_shared(name) and not is_valuable(name)}
    read = [raw for raw in read if raw.subject in names]
    texts = {path: text_of(path).split("\n") for path in {raw.finding.location.path for raw in read}}
    lines: dict[str, list[str]] = defaultdict(list)
    for raw in read:
        at = raw.finding.location
        lines[raw.subject] += texts[at.path][max(at.line - 1, 0) :][:1] or [""]
    asked = [name for name in declared if secrets().variable(name)]
    return frozenset(
        name
        for name, some in lines.items()
        if all(any(_is_akin(name, other) and _is_instead(name, other, line) for other in asked) for line in some)
    )


def _is_akin(name: str, declared: str) -> bool:
    """True for names that have a word of a service in common, and for one that says nothing of a service."""
    words = services().words(name)
    return (
        not words
        or name.replace("_", "") == declared.replace("_", "")
        or not set(words).isdisjoint(services().words(declared))
    )


def _is_instead(name: str, declared: str, line: str) -> bool:
    """True where `line` takes one of the two variables, or else the other, whose names stand nowhere else in it."""
    first, second = (re.search(rf"(?<![\w]){each}(?!\w)", line) for each in (declared, name))
    if first is None or second is None or line.count(name) > 1 or line.count(declared) > 1:
        return False
    between = line[min(first.end(), second.end()) : max(first.start(), second.start())]
    return _OR_ELSE.fullmatch(between) is not None


def _is_set(name: str, raw: Raw, text_of: Callable[[str], str]) -> bool:
    at = raw.finding.location
    if not at.path.endswith(_SHELLS):
        return False
    lines = text_of(at.path).split("\n")
    inside = bool(raw.finding.provenance) and 0 < at.line <= len(lines)
    if inside and (found := _before_command(name).search(lines[at.line - 1])) is not None:
        return _tells(found["value"], name, "\n".join(lines))
    if inside and _is_exported(name, "\n".join(lines)):
        return True
    return any(_sets(text_of(path), name) for path in _sourced(at.path, "\n".join(lines[: max(at.line - 1, 0)])))


def _is_exported(name: str, text: str) -> bool:
    """True where a script sets the variable at its left margin, and hands it on there to what it starts."""
    handed = re.search(rf"(?m)^export[ \t]+(?:[A-Za-z_]\w*[ \t]+){{0,40}}{name}(?=[ \t;]|$)", text)
    return handed is not None and re.search(rf"(?m)^{name}=", text) is not None and _sets(text, name)


def _before_command(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s;&|])(?:\w+=(?:\"[^\"\n]*\"|[^\s\"']*)[ \t]+)*{name}={_VALUE}[ \t]+[^\s;&|#]")


def _sets(text: str, name: str) -> bool:
    """True where `text` sets the variable, and to nothing but something else; it may be empty until then."""
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

"""One key taken, or left, out of a file of many: ``grep '^ACME_KEY=' ~/.openclaw/.env``, ``jq -r .acme.key``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.site import Call
from skillkeep.auditor.engines.tables import secrets

__all__ = ["is_start_up_line", "leaves_rest", "named_key"]

_LINES: Final = compiled(r"\^(?:export )?(?P<name>[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]*)*_?)=?(?:\.[*+]|\.)?\$?")
_EXPORT: Final = compiled(r"\^?export [A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)*=?")
_NAMED: Final = r"(?:export )?(?P<name>[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)+)="
_PRINTED: Final = {  # the option, and the program of sed or awk, that print one line or what is set there
    ("sed", "-n"): compiled(rf"(?:s([/|#])\^{_NAMED}\1\1|/\^{_NAMED.replace('name', 'line')}/)p"),
    ("awk", "-F="): compiled(rf"/\^{_NAMED}/ ?\{{ ?print \$2;? ?(?:exit ?)?\}}"),
}
_FIELD: Final = compiled(
    r"""\.(?P<name>[a-z][a-z0-9]{2,}(?:[_-][a-z0-9]+)*)(?:\.[A-Za-z]\w*|\["[\w-]+"\]){0,3}(?: // (?:empty|null|""))?"""
)
_FILTER: Final = compiled(r"-(?:[EePrhsoqm]|m1|Eo|oE|oP|hs|sh)|--raw-output|--max-count=1|-1|1")
_START_UP: Final = "a shell start-up file"  # of rules/tables/secrets.yaml
_SEARCHING: Final = frozenset({"grep", "egrep"})
_ONE_LINE: Final = r"\^(?:export )?[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)*="
_DROPPED: Final = {"sed": compiled(rf"/{_ONE_LINE}(?:\.\*)?\$?/d"), "grep": compiled(_ONE_LINE)}
_DROPPING: Final = {"sed": compiled(r"-[Eerins]|-i\.bak|--in-place"), "grep": compiled(r"-[Eihs]{0,3}v[Eihs]{0,3}")}


def named_key(call: Call, path: str) -> str:
    """The variable that `call` takes out of the file at `path`, or an empty text when it takes more or something else.

    A beginning that ends in ``_`` stands for all variables of a service; ``ACME_KEY`` is what a field of ``acme`` is.
    """
    printed = _PRINTED.get((call.name, call.arguments[0])) if call.arguments else None
    rest = [each for each in call.arguments[printed is not None :] if not _FILTER.fullmatch(each)]
    if len(rest) != 2 or rest[1] != path:
        return ""
    if printed is not None:
        found = printed.fullmatch(rest[0])
        return "" if found is None else next(each for each in found.groupdict().values() if each)
    if call.name in _SEARCHING and (found := _LINES.fullmatch(rest[0])) is not None:
        name = found["name"]
        return f"{name}KEY" if name.endswith("_") else name if "_" in name else ""
    if call.name == "jq" and (found := _FIELD.fullmatch(rest[0])) is not None:
        return f"{found['name'].replace('-', '_').upper()}_KEY"
    return ""


def leaves_rest(call: Call, path: str) -> bool:
    """True for ``sed '/^ACME_KEY=/d' file > new``: a file without one line of its own, which nobody is shown."""
    if call.name not in _DROPPED:
        return False
    options = [each for each in call.arguments if _DROPPING[call.name].fullmatch(each)]
    rest = [each for each in call.arguments if each and each not in options]
    into = any(operator in {">", ">|"} for operator, _ in call.command.redirects)
    if len(rest) != 2 or rest[1] != path or _DROPPED[call.name].fullmatch(rest[0]) is None:
        return False
    return into if call.name == "grep" else into or any(each.startswith(("-i", "--in")) for each in options)


def is_start_up_line(words: Sequence[str]) -> bool:
    """True for ``grep 'export ACME_KEY' ~/.bashrc``: of what the user's shell runs at every start, one assignment."""
    rest = [each for each in words[1:] if not _FILTER.fullmatch(each)]
    if not words or words[0] not in _SEARCHING or len(rest) != 2:
        return False
    place = secrets().persistence(rest[1])
    assigns = _EXPORT.fullmatch(rest[0]) or (_LINES.fullmatch(rest[0]) if rest[0].endswith("=") else None)
    return assigns is not None and place is not None and place.what == _START_UP

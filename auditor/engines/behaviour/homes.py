"""A home folder under another name: a variable that holds it, and what is walked or removed by that name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from skillkeep.auditor.patterns import PatternSet

__all__ = ["home_uses"]

_HOME: Final = (
    r"(?:\bhomedir\(\)|\bPath\.home\(\)|\bexpanduser\([ \t]{0,4}[\"']~/?[\"'][ \t]{0,4}\)|\bUserHomeDir\(\)"
    r"|\bDir\.home\b|\bhome_dir\(\)|\benv\.(?:HOME|USERPROFILE)\b|\benviron\[[\"'](?:HOME|USERPROFILE)[\"']\]"
    r"|\$(?:\{HOME\}|HOME)\b|\$env:USERPROFILE\b|\beval[ \t]+echo[ \t]+~|\bSpecialFolder\.UserProfile\b)"
)
_NAMED: Final = (
    r"(?:^|[\s;(])(?:self\.|this\.|@|\$this->|\$)?(?P<name>[A-Za-z_]\w{0,40})"
    r"(?:[ \t]{0,4},[ \t]{0,4}\w{1,20})?[ \t]{0,4}:?=(?:[^=\n][^\n]{0,100}?)??" + _HOME + r"[)\"'; \t?.\w]{0,24}$"
)
_WALKS: Final = (
    r"\b(?:walk|readdir|readdirSync|scandir|listdir|ReadDir|Walk|WalkDir|read_dir|new|glob|each_child|GetFiles)"
    r"\([ \t]{0,4}&?NAME[ \t]{0,4}[,)]|NAME\.(?:iterdir|rglob|glob)\(|\bfind[ \t]+[\"']?NAME[\"']?[ \t]"
)
_REMOVES: Final = (
    r"\b(?:rmtree|RemoveAll|rmSync|remove_dir_all|rm_rf?|rimraf|Delete)\([ \t]{0,4}&?NAME[ \t]{0,4}[,)]"
    r"|\brm[ \t]+-\w*r\w*[ \t]+(?:--[ \t]+)?[\"']?NAME[\"']?(?:/\*)?(?:[ \t;&|\n]|$)"
)
_MOST: Final = 10


def home_uses(data: bytes) -> Iterator[tuple[str, int, int]]:
    """``(kind, start, end)`` where a variable with the home is walked (`home`) or removed (`home_gone`).

    `data` is UTF-8, and so are the offsets.
    """
    found = (data[slice(*hit.groups["name"])].decode() for hit in _assigned().find(0, data))
    names = list(dict.fromkeys(found))[:_MOST]
    if not names:
        return
    name = rf"(?:self\.|this\.|@|\$this->|\$)?\{{?(?:{'|'.join(map(re.escape, names))})\b\}}?"
    uses = PatternSet([_WALKS.replace("NAME", name), _REMOVES.replace("NAME", name)])
    for index, kind in enumerate(("home", "home_gone")):
        for hit in uses.find(index, data):
            yield kind, hit.start, hit.end


@cache
def _assigned() -> PatternSet:
    return PatternSet([_NAMED])

"""What a lock file takes from where: npm's, yarn's, pnpm's, uv's and poetry's, read as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.dependencies.model import Ecosystem

__all__ = ["LOCKS", "Taken", "taken"]


class Taken(NamedTuple):
    """One locked package: from which address, whether its content is fixed by a hash, and where the address stands."""

    ecosystem: Ecosystem
    name: str
    address: str
    hashed: bool
    start: int


_NPM: Final = compiled(  # the object of a package, with lists and objects of its own before the address
    r"\"(?:[^\"\n]{0,200}node_modules/)?(?P<name>(?:@[\w.-]{1,60}/)?[\w.-]{1,100})\"\s{0,9}:\s{0,40}\{"
    r"(?P<body>[^{}]{0,2000}?(?:\{[^{}]{0,4000}\}[^{}]{0,2000}?){0,6}?"
    r"\"resolved\"\s{0,9}:\s{0,9}\"(?P<to>[^\"\n]{4,500})\"[^{}]{0,1000})"
)
_YARN: Final = compiled(
    r"^\"?(?P<name>(?:@[\w.-]{1,60}/)?[\w.-]{1,100})@[^\n]{1,1000}:\n"
    r"(?P<body>(?:[ \t][^\n]*\n)*?[ \t]+resolved[ \t]+\"(?P<to>[^\"\n]{4,500})\"(?:\n[ \t]+[^\n]*)*)",
    re.MULTILINE,
)
_PNPM: Final = compiled(
    r"^[ \t]+[\"']?/?(?P<name>(?:@[\w.-]{1,60}/)?[\w.-]{1,100})[@/][\w.()+-]{1,200}[\"']?:[ \t]*\n"
    r"(?P<body>[ \t]+resolution:[ \t]*\{[^}\n]{0,400}?\btarball:[ \t]*[\"']?(?P<to>https?://[^\s,}\"']{4,500})[^}\n]{0,300}\})",
    re.MULTILINE,
)
_PYTHON: Final = compiled(
    r"^name[ \t]*=[ \t]*\"(?P<name>[\w.-]{1,100})\"\n(?P<body>(?:(?!\[\[package)[^\n]*\n){0,400}?"
    r"(?:source[ \t]*=[ \t]*\{[ \t]*(?:registry|url)[ \t]*=[ \t]*\"|url[ \t]*=[ \t]*\")(?P<to>https?://[^\"\n]{4,500})\")",
    re.MULTILINE,
)
_BUN: Final = compiled(
    r"^[ \t]+\"[^\"\n]{1,200}\": \[\"(?P<name>(?:@[\w.-]{1,60}/)?[\w.-]{1,100})@[^\"\n]{1,100}\"(?P<body>, "
    r"\"(?P<to>https?://[^\"\n]{4,500})\"[^\n]{0,4000})",
    re.MULTILINE,
)
_INDEX: Final = compiled(r"\"(?P<name>[\w.-]{1,100})\": \{[^{}]{0,4000}?\"index\": \"(?P<index>[\w.-]{1,60})\"")
_SOURCE: Final = compiled(r"\{[^{}]{0,400}\"name\": \"(?P<name>[\w.-]{1,60})\"[^{}]{0,200}\}")
_SOURCE_URL: Final = compiled(r"\"url\": \"(?P<to>https?://[^\"\n]{4,500})\"")
LOCKS: Final = {
    "bun.lock": (Ecosystem.NPM, _BUN),
    "pipfile.lock": (Ecosystem.PYPI, _INDEX),
    "package-lock.json": (Ecosystem.NPM, _NPM),
    "npm-shrinkwrap.json": (Ecosystem.NPM, _NPM),
    "yarn.lock": (Ecosystem.NPM, _YARN),
    "pnpm-lock.yaml": (Ecosystem.NPM, _PNPM),
    "uv.lock": (Ecosystem.PYPI, _PYTHON),
    "poetry.lock": (Ecosystem.PYPI, _PYTHON),
}
"""By the file's name, lower-cased."""
_HASH: Final = compiled(
    r"\bintegrity\b[\"']?[ \t]*:?[ \t]*[\"']?sha\d|\"sha512-|#[0-9a-f]{40}\b|\bhash[ \t]*=[ \t]*\"sha\d|\bsha256:"
)
_HASHED_ELSEWHERE: Final = frozenset(
    {"uv.lock", "poetry.lock", "pipfile.lock"}
)  # each file of a package has its own hash there


def taken(name: str, text: str) -> Iterator[Taken]:
    """Every package that the lock `name` (lower-cased) takes from an address that it tells."""
    ecosystem, pattern = LOCKS[name]
    if pattern is _INDEX:
        sources = {each["name"]: _SOURCE_URL.search(each[0]) for each in _SOURCE.finditer(text)}
        for found in pattern.finditer(text):
            if (source := sources.get(found["index"])) is not None:
                yield Taken(ecosystem, found["name"], source["to"], True, found.start("index"))
        return
    for found in pattern.finditer(text):
        hashed = name in _HASHED_ELSEWHERE or bool(_HASH.search(found["body"]))
        yield Taken(ecosystem, found["name"], found["to"], hashed, found.start("to"))

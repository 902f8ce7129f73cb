"""Names that are one slip away from a popular one: an edit, a swap, a look-alike character, a lost separator."""

from __future__ import annotations

from functools import cache
from typing import Final

from skillkeep.auditor.engines.dependencies.model import Ecosystem, normal
from skillkeep.auditor.engines.tables import table

__all__ = ["imitated"]

_SHORTEST: Final = 5
_LONGEST: Final = 60
_ALIKE: Final = str.maketrans("0135789", "olessbg")


def imitated(ecosystem: Ecosystem, name: str) -> str:
    """The popular name that `name` is mistaken for, or an empty text."""
    plain = normal(ecosystem, name)
    if ecosystem is Ecosystem.NPM and plain.startswith("@"):
        scope, _, rest = plain[1:].partition("/")
        found = _near("scopes", scope)
        return f"@{found}/{rest}" if found else ""
    return _near(str(ecosystem), plain) if ecosystem in {Ecosystem.NPM, Ecosystem.PYPI} else ""


def _near(group: str, name: str) -> str:
    names, bare, shorter = _index(group)
    if not _SHORTEST <= len(name) <= _LONGEST or name in names:
        return ""
    if not name.isascii():
        return next((names_of for names_of in names if _same_but_one(name, names_of)), "")
    for spelling in (_bare(name), _bare(name).translate(_ALIKE), _bare(name).replace("rn", "m").replace("vv", "w")):
        if spelling in bare:
            return bare[spelling]
    for variant in (name, *_shortened(name)):
        for known in shorter.get(variant, ()):
            if _one_slip(name, known):
                return known
    return ""


@cache
def _index(group: str) -> tuple[frozenset[str], dict[str, str], dict[str, tuple[str, ...]]]:
    """All honest names; popular names without separators; and each popular name under its one-shorter forms."""
    popular = [item for item in map(str, table("popular")[group]) if len(item) >= _SHORTEST]
    others = [*map(str, table("popular")[group]), *map(str, table("popular")["honest"])]
    shorter: dict[str, tuple[str, ...]] = {}
    for name in popular:
        for variant in {name, *_shortened(name)}:
            shorter[variant] = (*shorter.get(variant, ()), name)
    return frozenset(others), {_bare(name): name for name in popular}, shorter


def _bare(name: str) -> str:
    return name.replace("-", "").replace("_", "").replace(".", "")


def _shortened(name: str) -> set[str]:
    return {name[:at] + name[at + 1 :] for at in range(len(name))}


def _one_slip(name: str, known: str) -> bool:
    """One insertion, deletion, substitution or swap; a changed last character or digit is often an honest sibling."""
    if len(name) == len(known):
        differing = [at for at, (one, other) in enumerate(zip(name, known, strict=True)) if one != other]
        if len(differing) == 2:
            first, second = differing
            return second == first + 1 and name[first] == known[second] and name[second] == known[first]
        return len(differing) == 1 and len(name) > _SHORTEST and not name[differing[0]].isdigit()
    longer, short = (name, known) if len(name) > len(known) else (known, name)
    at = next(
        (index for index, (one, other) in enumerate(zip(longer, short, strict=False)) if one != other), len(short)
    )
    return len(short) >= _SHORTEST and not longer[at].isdigit() and longer[at] not in "-_."


def _same_but_one(name: str, known: str) -> bool:
    """A letter outside of ASCII stands for one of the known name."""
    return len(name) == len(known) and all(
        one == other or not one.isascii() for one, other in zip(name, known, strict=True)
    )

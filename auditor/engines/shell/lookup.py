"""The shell's table made ready once: sets to look names up in, and compiled patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import table

__all__ = ["CHANGING", "WRITING", "Lookup", "lookup"]

# What acts by the table's word, and what the engine itself knows.
_TABLES: Final = (
    "interpreters", "sources", "network", "decoders", "credential_stores", "writers", "prefixes", "carriers",
    "environment_dumps", "collecting", "publishing", "running_files", "compilers", "building", "dumping",
    "taking_along",
)  # fmt: skip
_ACTING: Final = (
    "interpreters",
    "sources",
    "network",
    "decoders",
    "credential_stores",
    "writers",
    "prefixes",
    "carriers",
    "running_files",
    "compilers",
    "building",
)
_BUILTINS: Final = frozenset(
    {"eval", "find", "fd", "gfind", "read", "mapfile", "readarray", "alias", "trap", "printenv"}
)
CHANGING: Final = frozenset(
    {"crontab", "launchctl", "systemctl", "git", "dd", "rm", "find", "shred", "wipefs", "cd", "pushd"}
)
WRITING: Final = frozenset({"echo", "printf", "cat"})  # they act when they write somewhere or feed another command
_MORE: Final = frozenset({"eval", "rm", "crontab", "launchctl", "alias", "trap", "dd"})


@dataclass(frozen=True)
class Lookup:
    """`telling`: commands that are judged one by one. `acting`: those whose arguments make a function matter.

    `carried`: those looked for behind a program that starts another one.
    """

    telling: frozenset[str]
    carried: frozenset[str]
    acting: frozenset[str]
    path_only: frozenset[str]
    collecting: frozenset[str]
    builtins: frozenset[str]
    run_later: frozenset[str]
    dumps: frozenset[str]
    preloads: frozenset[str]
    passing: tuple[str, ...]
    collected: re.Pattern[str]
    searched: re.Pattern[str]
    keepers: re.Pattern[str]


@cache
def lookup() -> Lookup:
    """The lookup of ``rules/tables/shell.yaml``."""
    data: dict[str, Any] = table("shell")
    return Lookup(
        telling=(_BUILTINS | CHANGING).union(*(data[kind] for kind in _TABLES)),
        carried=frozenset().union(*(data[kind] for kind in ("network", "decoders", "credential_stores"))),
        acting=_MORE.union(*(data[kind] for kind in _ACTING)) - WRITING,
        path_only=frozenset(data["path_only"]),
        collecting=frozenset(data["collecting"]),
        builtins=frozenset(data["builtins"]),
        run_later=frozenset(data["run_later"]),
        dumps=frozenset(data["environment_dumps"]),
        preloads=frozenset(data["preloads"]),
        passing=tuple(data["passing_folders"]),
        collected=compiled("|".join(data["collected"])),
        searched=compiled("|".join(data["searched"]), re.IGNORECASE),
        keepers=compiled(rf"(?:^|\.)(?:{'|'.join(map(re.escape, data['keepers']))})$"),
    )

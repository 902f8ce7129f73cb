"""What fetching and cutting can see that a tree on disk no longer shows. Each id is a rule of ``rules/tree.yaml``.

The auditor turns an `Observation` into a finding; this file is the one place where ingest writes the ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from skillkeep.auditor.interface import Observation

__all__ = ["INCOMPLETE", "LEAVING", "WHOLE_SOURCE", "Observations", "bounded", "from_wire", "to_wire"]

LINK_ABSOLUTE = "tree-link-absolute"
LINK_ESCAPING = "tree-link-escaping"
LINK_DANGLING = "tree-link-dangling"
LINK_CYCLE = "tree-link-cycle"
LINK_COPIED = "tree-link-copied"
HARDLINK = "tree-hardlink"
PATH_ESCAPE = "tree-path-escape"
PATH_TOO_LONG = "tree-path-too-long"
GIT_FOLDER = "tree-git-folder"
GIT_LOOKALIKE = "tree-git-lookalike"
GITLINK = "tree-gitlink"
SPECIAL_FILE = "tree-special-file"
DUPLICATE = "tree-duplicate-path"
NAME_CONTROL = "tree-name-control"
NAME_ENCODING = "tree-name-encoding"
NAME_COLLISION = "tree-name-collision"
TOO_LARGE = "tree-file-too-large"
TOO_DEEP = "tree-too-deep"
UNREADABLE = "tree-unreadable"
LFS_POINTER = "tree-lfs-pointer"
LOOKALIKE_OWNER = "source-lookalike-owner"
UNPROVEN_COMMIT = "source-unproven-commit"

# With one of these the copy is not the tool: the artifact is refused whatever the auditor says.
INCOMPLETE = frozenset({TOO_LARGE, TOO_DEEP, UNREADABLE})
# With one of these a folder of the user's own leads out of it, so it is not tier 1.
LEAVING = frozenset({LINK_ABSOLUTE, LINK_ESCAPING, LINK_DANGLING, LINK_CYCLE, SPECIAL_FILE, PATH_ESCAPE})
# These belong to no place in the tree: every artifact of the source carries them.
WHOLE_SOURCE = frozenset({PATH_ESCAPE, LOOKALIKE_OWNER, UNPROVEN_COMMIT})

_MOST_OF_A_RULE = 50


class Observations:
    """Collects observations in order. Their number is bounded by the entries a source may have."""

    def __init__(self) -> None:
        self._found: list[Observation] = []

    def add(self, rule: str, path: str, detail: str = "") -> None:
        """Note one; `path` is raw, `detail` may hold raw text."""
        self._found.append(Observation(rule, path, detail))

    def all(self) -> list[Observation]:
        """Everything noted so far."""
        return list(self._found)


def bounded(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """At most 50 of each rule one by one, the rest of it as a number."""
    kept: list[Observation] = []
    count: dict[str, int] = {}
    for item in observations:
        count[item.rule] = count.get(item.rule, 0) + 1
        if count[item.rule] <= _MOST_OF_A_RULE:
            kept.append(item)
    more = [(rule, number - _MOST_OF_A_RULE) for rule, number in count.items() if number > _MOST_OF_A_RULE]
    return (*kept, *(Observation(rule, "", f"{number} more of the same") for rule, number in more))


def to_wire(observations: Iterable[Observation]) -> list[list[str]]:
    """For a confined worker's answer."""
    return [[item.rule, item.path, item.detail] for item in observations]


def from_wire(raw: Sequence[Any]) -> list[Observation]:
    """Back from a worker, which may be hostile by now: anything malformed raises `ValueError`."""
    found = []
    for item in raw:
        rule, path, detail = item
        if not all(isinstance(part, str) for part in (rule, path, detail)):
            raise ValueError("an observation is not made of texts")
        found.append(Observation(rule, path, detail))
    return found

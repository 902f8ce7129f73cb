"""What fetching and cutting can see that a tree on disk no longer shows. Each id is a rule of ``rules/tree.yaml``.

The auditor turns an `Observation` into a finding; this file is the one place where ingest writes the ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from skillkeep.auditor.interface import Observation

__all__ = ["INCOMPLETE", "Observations", "from_wire", "to_wire"]

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

_MOST_OF_A_RULE = 50


class Observations:
    """Collects observations; of each rule at most 50 are kept one by one, the rest are counted."""

    def __init__(self) -> None:
        self._kept: list[Observation] = []
        self._count: dict[str, int] = {}

    def add(self, rule: str, path: str, detail: str = "") -> None:
        """Note one; `path` is raw, `detail` may hold raw text."""
        count = self._count[rule] = self._count.get(rule, 0) + 1
        if count <= _MOST_OF_A_RULE:
            self._kept.append(Observation(rule, path, detail))

    def all(self) -> list[Observation]:
        """Everything noted, in order, with one entry for what was only counted."""
        more = [
            Observation(rule, "", f"{count - _MOST_OF_A_RULE} more of the same")
            for rule, count in self._count.items()
            if count > _MOST_OF_A_RULE
        ]
        return self._kept + more


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

"""Where a symbolic link of a tree leads, decided from the tree's entries alone: the file system is never asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from skillkeep.tree import EntryKind, TreeEntry

__all__ = ["LinkFate", "LinkKind", "resolve_link"]

_MAX_HOPS = 40


class LinkKind(StrEnum):
    """How a link ends."""

    INSIDE = "inside"
    ESCAPING = "escaping"
    ABSOLUTE = "absolute"
    DANGLING = "dangling"
    CYCLE = "cycle"


@dataclass(frozen=True)
class LinkFate:
    """The end of a link: for `INSIDE`, `target` is the path of a file or folder entry of the tree."""

    kind: LinkKind
    target: str


def resolve_link(entries: Mapping[str, TreeEntry], path: str) -> LinkFate:
    """Follow the link at `path` through `entries` (path to entry), as the kernel would with the root as a wall.

    A target that climbs above the root at any point is `ESCAPING` even when it would come back. A folder link
    that leads to one of its own parents is `CYCLE`: its copy would never end.
    """
    entry = entries[path]
    assert entry.kind is EntryKind.LINK
    done = path.split("/")[:-1]
    todo = _components(entry.target or "")
    if (entry.target or "").startswith("/"):
        return LinkFate(LinkKind.ABSOLUTE, entry.target or "")
    hops = 1
    while todo:
        part = todo.pop(0)
        if part == "..":
            if not done:
                return LinkFate(LinkKind.ESCAPING, entry.target or "")
            done.pop()
            continue
        here = "/".join([*done, part])
        found = entries.get(here)
        if found is None:
            return LinkFate(LinkKind.DANGLING, entry.target or "")
        if found.kind is EntryKind.LINK:
            hops += 1
            if hops > _MAX_HOPS:
                return LinkFate(LinkKind.CYCLE, entry.target or "")
            if (found.target or "").startswith("/"):
                return LinkFate(LinkKind.ABSOLUTE, found.target or "")
            todo = _components(found.target or "") + todo
            continue
        if todo and found.kind is not EntryKind.FOLDER:
            return LinkFate(LinkKind.DANGLING, entry.target or "")
        done.append(part)
    target = "/".join(done)
    if not target or path.startswith(target + "/"):
        return LinkFate(LinkKind.CYCLE, entry.target or "")
    return LinkFate(LinkKind.INSIDE, target)


def _components(target: str) -> list[str]:
    return [part for part in target.split("/") if part not in {"", "."}]

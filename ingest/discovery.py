"""Finds the tools in a source: skills, Claude plugins, MCP servers, plain scripts. Reads markers, runs nothing.

Runs inside a confined worker. A plugin owns the skills and MCP configurations inside it, a skill those inside it:
they are audited and vaulted with their owner, and are listed on their own only when they are selected by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from skillkeep.ingest.markers import Facts, Marker, read_marker
from skillkeep.ingest.paths import split_path
from skillkeep.links import LinkKind, resolve_link
from skillkeep.tree import EntryKind, TreeEntry, TreeView

__all__ = ["Candidate", "Kind", "discover", "slug", "unmarked"]

_NAME = 64
_RESERVED = ("objects", "registry")
_SCRIPT_SUFFIXES = (
    ".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".ps1", ".lua", ".php", ".r", ".awk",
)  # fmt: skip


class Kind(StrEnum):
    """What an artifact is."""

    SKILL = "skill"
    PLUGIN = "plugin"
    MCP = "mcp"
    SCRIPT = "script"


_RANK = {Kind.PLUGIN: 0, Kind.SKILL: 1, Kind.MCP: 2, Kind.SCRIPT: 3}
_OWNS = {
    Kind.PLUGIN: {Kind.SKILL, Kind.MCP},
    Kind.SKILL: {Kind.SKILL, Kind.MCP},
    Kind.MCP: {Kind.MCP},
    Kind.SCRIPT: set[Kind](),
}


@dataclass(frozen=True)
class Candidate:
    """A tool found at `path` (POSIX, empty for the root). `owner` is the path of the tool it belongs to, or None."""

    name: str
    kind: Kind
    path: str
    description: str
    owner: str | None = None


def discover(view: TreeView, fallback_name: str) -> list[Candidate]:
    """Every tool of the tree, by path. `fallback_name` names a tool at the root that does not name itself.

    Without any marker, a tree that holds scripts is one script tool.
    """
    entries = {entry.path: entry for entry in view.entries}
    found: dict[str, Candidate] = {}
    for entry in view.entries:
        marker = Marker.of(entry.path)
        if marker is None or (text := _read(view, entries, entry)) is None:
            continue
        facts = read_marker(marker, text)
        if facts is None:
            continue
        candidate = _candidate(facts, marker.folder(entry.path), fallback_name)
        before = found.get(candidate.path)
        if before is None or _RANK[candidate.kind] < _RANK[before.kind]:
            found[candidate.path] = candidate
    if not found:
        found = _scripts(view, fallback_name)
    return _distinct(_owned(found))


def _read(view: TreeView, entries: dict[str, TreeEntry], entry: TreeEntry) -> str | None:
    """A marker's text, also through a link that stays inside; None when it is no readable file."""
    if entry.kind is EntryKind.LINK:
        fate = resolve_link(entries, entry.path)
        if fate.kind is not LinkKind.INSIDE:
            return None
        entry = entries[fate.target]
    if entry.kind is not EntryKind.FILE or entry.size > view.limits.file_bytes:
        return None
    return view.read(entry.path).decode("utf-8", "replace")


def _candidate(facts: Facts, path: str, fallback_name: str) -> Candidate:
    name = slug(facts.name) or slug(path.rpartition("/")[2]) or slug(fallback_name) or "tool"
    return Candidate(name, Kind(facts.kind), path, " ".join(facts.description.split())[:500])


def _scripts(view: TreeView, fallback_name: str) -> dict[str, Candidate]:
    base = _base(view.entries)
    inside = [entry for entry in view.files() if not base or entry.path.startswith(base + "/")]
    if not any(_is_script(view, entry) for entry in inside):
        return {}
    single = len(inside) == 1 and not base
    own = inside[0].path.rpartition("/")[2].rpartition(".")[0] if single else ""
    name = slug(own) or slug(base.rpartition("/")[2]) or slug(fallback_name) or "tool"
    return {base: Candidate(name, Kind.SCRIPT, base, "")}


def unmarked(view: TreeView, select: Iterable[str], found: Iterable[Candidate]) -> list[Candidate]:
    """Script tools for the folders and files without a marker that `select` names by a path with a slash at its end.

    This is how a tool that was once taken by ``--path`` is found again in its whole source.
    """
    marked = {candidate.path for candidate in found}
    paths = {wanted.strip("/") for wanted in select if wanted.endswith("/")} - marked
    entries = (view.get(path) for path in sorted(paths) if path)
    return [_unmarked(entry) for entry in entries if entry and entry.kind in {EntryKind.FILE, EntryKind.FOLDER}]


def _unmarked(entry: TreeEntry) -> Candidate:
    name = entry.path.rpartition("/")[2]
    own = name.rpartition(".")[0] if entry.kind is EntryKind.FILE else name
    return Candidate(slug(own) or "tool", Kind.SCRIPT, entry.path, "")


def _base(entries: Iterable[TreeEntry]) -> str:
    """The one folder that holds everything, as archives of repositories have it, or the root."""
    tops = {entry.path.partition("/")[0] for entry in entries}
    folders = [entry.path for entry in entries if entry.kind is EntryKind.FOLDER and "/" not in entry.path]
    return folders[0] if len(tops) == 1 and folders else ""


def _is_script(view: TreeView, entry: TreeEntry) -> bool:
    if entry.path.lower().endswith(_SCRIPT_SUFFIXES) or entry.executable:
        return True
    return 2 < entry.size <= view.limits.file_bytes and view.read(entry.path)[:2] == b"#!"


def _owned(found: dict[str, Candidate]) -> list[Candidate]:
    """Note for each candidate the nearest one above it that owns its kind."""
    owned = []
    for path in sorted(found):
        candidate = found[path]
        parts = split_path(path) if path else []
        above = ["/".join(parts[:depth]) for depth in range(len(parts) - 1, -1, -1)]
        owners = (here for here in above if here in found and candidate.kind in _OWNS[found[here].kind])
        owned.append(replace(candidate, owner=next(owners, None)))
    return owned


def _distinct(candidates: list[Candidate]) -> list[Candidate]:
    """Give candidates that share a name one made of their path, so that a name selects one tool."""
    count: dict[str, int] = {}
    for candidate in candidates:
        count[candidate.name] = count.get(candidate.name, 0) + 1
    renamed = [
        replace(each, name=slug(each.path.replace("/", "-")) or each.name) if count[each.name] > 1 else each
        for each in candidates
    ]
    taken: set[str] = set()
    distinct = []
    for each in renamed:
        name, number = each.name, 2
        while name in taken:
            name, number = f"{each.name[: _NAME - 5]}-{number}", number + 1
        taken.add(name)
        distinct.append(replace(each, name=name))
    return distinct


def slug(text: str) -> str:
    """`text` as a tool's name: 1 to 64 of ``a-z0-9._-``, or empty when nothing of it is left."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.strip().lower()).strip("-._")[:_NAME].rstrip("-._")
    if re.fullmatch(r"[0-9a-f]{64}", name) or name.split(".")[0] in _RESERVED:
        name = f"tool-{name[: _NAME - 5]}"
    return name

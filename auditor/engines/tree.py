"""What a tree holds besides text: links, special files, programs, archives, names that collide or hide."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from functools import cache

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.containers.inflate import bare_stream
from skillkeep.auditor.engines.containers.tars import is_tar
from skillkeep.auditor.engines.interface import Emitter, Engine, SourceFile, SourceTree
from skillkeep.auditor.engines.magic import READ_ARCHIVES, archive_kind, is_media, program_kind
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Location
from skillkeep.links import LinkKind, resolve_link
from skillkeep.tree import EntryKind, TreeEntry, UnreadReason

__all__ = ["ENGINE", "TreeEngine"]

_LINKS = {
    LinkKind.ABSOLUTE: "tree-link-absolute",
    LinkKind.ESCAPING: "tree-link-escaping",
    LinkKind.DANGLING: "tree-link-dangling",
    LinkKind.CYCLE: "tree-link-cycle",
    LinkKind.INSIDE: "tree-link-copied",
}
_UNREAD = {
    UnreadReason.TOO_LARGE: "tree-file-too-large",
    UnreadReason.TOO_MUCH: "tree-too-many",
    UnreadReason.TOO_MANY: "tree-too-many",
    UnreadReason.TOO_DEEP: "tree-too-deep",
}


_STEERING = compiled(r"[\0-\x1f\x7f]|[\x90\x98\x9b\x9d-\x9f](?:[\0-\x7f]|$)")
"""ASCII's control characters, and those of C1 that begin a sequence where one could follow."""


class TreeEngine(Engine):
    """See the module."""

    name = "tree"
    order = 10

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge the bytes of one file by what they are, not by their name."""
        head = file.data[:4096]
        at = file.place or Location(file.path)
        program = program_kind(head)
        if not file.whole:
            if program:
                emit.finding("tree-disguised-binary", at, program, f"Decoded text is a program ({program})")
            return
        name = file.known_as.rpartition("/")[2]
        suffix = name.rpartition(".")[2].lower() if "." in name else ""
        if head.startswith(b"version https://git-lfs.github.com/spec/"):
            emit.finding("tree-lfs-pointer", at, head[:120].decode("ascii", "replace"))
        if program or (suffix in _names("program_suffixes") and file.text is None and not archive_kind(head)):
            expected = not suffix or suffix in _names("program_suffixes")
            rule = "tree-native-binary" if expected else "tree-disguised-binary"
            emit.finding(rule, at, program or suffix, f"{program or suffix} program")
        elif file.text is None:
            _binary(file, suffix, at, emit)
        elif (archive := archive_kind(head)) and archive not in READ_ARCHIVES:
            emit.finding("tree-archive", at, archive, f"a {archive} archive")

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Judge entries, names and what fetching told."""
        entries = {entry.path: entry for entry in tree.entries}
        for entry in tree.entries:
            for rule, detail in (*_kind(entries, entry), *_name(entry)):
                emit.finding(rule, Location(entry.path), detail, detail)
        for unread in tree.unread:
            rule = _UNREAD.get(unread.reason, "tree-unreadable")
            emit.finding(rule, Location(unread.path), unread.detail, f"{unread.reason}: {unread.detail}".rstrip(": "))
        for first, second in _collisions(tree.entries):
            emit.finding("tree-name-collision", Location(second), first, f"the same name as {first} elsewhere")


def _binary(file: SourceFile, suffix: str, at: Location, emit: Emitter) -> None:
    head = file.data[:16]
    archive = archive_kind(head)
    if archive in READ_ARCHIVES or is_tar(file.data) or bare_stream(file.data):
        return  # the container engine tells
    if archive:
        emit.finding("tree-archive", at, archive, f"a {archive} archive")
    elif is_media(head):
        emit.finding("tree-binary", at, suffix, "a picture, font or document")
    else:
        emit.finding("tree-unknown-binary", at, suffix, "bytes of an unknown kind")


@cache
def _names(key: str) -> frozenset[str]:
    return frozenset(table("tree")[key])


def _kind(entries: dict[str, TreeEntry], entry: TreeEntry) -> Iterator[tuple[str, str]]:
    if entry.kind is EntryKind.LINK:
        fate = resolve_link(entries, entry.path)
        yield _LINKS[fate.kind], f"-> {entry.target}"
    elif entry.kind not in {EntryKind.FILE, EntryKind.FOLDER}:
        yield "tree-special-file", str(entry.kind)
    elif entry.kind is EntryKind.FILE:
        if entry.links > 1:
            yield "tree-hardlink", f"{entry.links} names"
        if entry.mode & 0o6000:
            yield "tree-setuid", oct(entry.mode)


def _name(entry: TreeEntry) -> Iterator[tuple[str, str]]:
    name = entry.path.rpartition("/")[2]
    raw = os.fsencode(name)
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        yield "tree-name-encoding", ascii(name)
        return
    if any(unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs"} for char in decoded):
        yield "tree-name-encoding" if _is_misread(decoded) else "tree-name-control", ascii(name)
    folded = "".join(char for char in decoded.casefold() if unicodedata.category(char) != "Cf").rstrip(". ")
    if folded == ".git" or folded.startswith((".git::", "git~1")):
        yield ("tree-git-folder" if decoded == ".git" else "tree-git-lookalike"), ascii(name)
    elif name.startswith(".") and name not in _names("known_hidden"):
        yield "tree-hidden-file", name


def _is_misread(name: str) -> bool:
    """True for UTF-8 that an archiver took for Latin-1, where no part of the name steers a terminal."""
    if _STEERING.search(name):
        return False
    try:
        meant = name.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return False
    return all(char.isprintable() for char in meant)


def _collisions(entries: tuple[TreeEntry, ...]) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for entry in entries:
        key = unicodedata.normalize("NFKC", entry.path).casefold()
        if key in seen:
            yield seen[key], entry.path
        else:
            seen[key] = entry.path


ENGINE = TreeEngine()

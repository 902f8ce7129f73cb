"""What a tree holds besides text: links, special files, programs, archives, names that collide or hide."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from functools import cache

from skillkeep.auditor.engines.interface import Emitter, Engine, SourceFile, SourceTree
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
_PROGRAMS = (
    (b"\x7fELF", "ELF"), (b"MZ", "Windows"), (b"\xfe\xed\xfa\xce", "Mach-O"), (b"\xfe\xed\xfa\xcf", "Mach-O"),
    (b"\xcf\xfa\xed\xfe", "Mach-O"), (b"\xce\xfa\xed\xfe", "Mach-O"), (b"\xca\xfe\xba\xbe", "Mach-O or Java class"),
    (b"\x00asm", "WebAssembly"), (b"dex\n", "Android"), (b"!<arch>\n", "static library"), (b"\x1bLua", "Lua bytecode"),
)  # fmt: skip
_ARCHIVES = (
    (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"), (b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!\x1a\x07", "rar"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"xar!", "xar"),
)  # fmt: skip
_MEDIA = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF", b"\x00\x01\x00\x00", b"OTTO", b"wOFF", b"wOF2", b"ttcf",
    b"\x00\x00\x01\x00", b"ID3", b"OggS", b"fLaC", b"BM", b"II*\x00", b"MM\x00*", b"SQLite format 3",
    b"\xd0\xcf\x11\xe0",
)  # fmt: skip


class TreeEngine(Engine):
    """See the module."""

    name = "tree"
    order = 10

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge the bytes of one file by what they are, not by their name."""
        head = file.data[:4096]
        at = file.segments[0].anchor if file.segments and file.segments[0].anchor else Location(file.path)
        program = _program(head)
        suffix = file.path.rpartition(".")[2].lower() if "." in file.path.rpartition("/")[2] else ""
        if file.depth:
            if program:
                emit.finding("tree-disguised-binary", at, program, f"Decoded text is a program ({program})")
            return
        if head.startswith(b"version https://git-lfs.github.com/spec/"):
            emit.finding("tree-lfs-pointer", at, head[:120].decode("ascii", "replace"))
        if program or (suffix in _names("program_suffixes") and file.text is None):
            expected = not suffix or suffix in _names("program_suffixes")
            rule = "tree-native-binary" if expected else "tree-disguised-binary"
            emit.finding(rule, at, program or suffix, f"{program or suffix} program")
        elif file.text is None:
            _binary(file, suffix, at, emit)

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
    archive = next((name for magic, name in _ARCHIVES if head.startswith(magic)), "")
    if archive == "zip" and suffix in _names("document_suffixes"):
        rule = "tree-native-binary" if b"vbaProject.bin" in file.data else "tree-binary"
        emit.finding(rule, at, suffix, "an office document" + (" with macros" if rule != "tree-binary" else ""))
    elif archive:
        emit.finding("tree-archive", at, archive, f"a {archive} archive")
    elif head.startswith(_MEDIA) or head[4:8] == b"ftyp":
        emit.finding("tree-binary", at, suffix, "a picture, font or document")
    else:
        emit.finding("tree-unknown-binary", at, suffix, "bytes of an unknown kind")


@cache
def _names(key: str) -> frozenset[str]:
    return frozenset(table("tree")[key])


def _program(head: bytes) -> str:
    for magic, name in _PROGRAMS:
        if head.startswith(magic):
            return "" if magic == b"MZ" and b"\0" not in head[:64] else name
    if len(head) >= 16 and head[2:4] == b"\r\n" and head[4:8] in {b"\0\0\0\0", b"\1\0\0\0", b"\3\0\0\0"}:
        return "Python bytecode"
    return ""


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
        yield "tree-name-control", ascii(name)
    folded = "".join(char for char in decoded.casefold() if unicodedata.category(char) != "Cf").rstrip(". ")
    if folded == ".git" or folded.startswith((".git::", "git~1")):
        yield ("tree-git-folder" if decoded == ".git" else "tree-git-lookalike"), ascii(name)
    elif name.startswith(".") and name not in _names("known_hidden"):
        yield "tree-hidden-file", name


def _collisions(entries: tuple[TreeEntry, ...]) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for entry in entries:
        key = unicodedata.normalize("NFKC", entry.path).casefold()
        if key in seen:
            yield seen[key], entry.path
        else:
            seen[key] = entry.path


ENGINE = TreeEngine()

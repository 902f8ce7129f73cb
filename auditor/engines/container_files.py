"""The container engine: opens archives, documents, pictures and bytecode, and has what is inside audited as files."""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.containers.ars import read_ar
from skillkeep.auditor.engines.containers.bytecode_judge import judge_bytecode
from skillkeep.auditor.engines.containers.inflate import bare_stream, inflate, is_bomb
from skillkeep.auditor.engines.containers.lures import judge_lures
from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity, Part
from skillkeep.auditor.engines.containers.office import OLE_MAGIC, judge_macros, judge_part
from skillkeep.auditor.engines.containers.pdf import read_pdf
from skillkeep.auditor.engines.containers.pickles import is_pickle, read_pickle
from skillkeep.auditor.engines.containers.pictures import is_picture, read_picture
from skillkeep.auditor.engines.containers.strings import commands_among
from skillkeep.auditor.engines.containers.tars import is_tar, read_tar
from skillkeep.auditor.engines.containers.zips import ends_as_zip, read_zip
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.magic import READ_ARCHIVES, SHORTCUT, archive_kind, is_media, program_kind
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Location

__all__ = ["ENGINE", "ContainerEngine"]

_PACKED_SUFFIX: Final = compiled(r"\.(?:gz|bz2|xz|tgz|tbz2?|txz|lzma|zz)$", re.IGNORECASE)
_ZIPAPP: Final = compiled(r"\.(?:pyzw?|pex)$", re.IGNORECASE)
_READ: Final = READ_ARCHIVES | {"tar", "zlib", "lzma"}
_WIDE_TEXT: Final = re.compile(rb"(?:[\x20-\x7e]\0){6,2000}")
_OFFICE_MARK: Final = b"[Content_Types].xml"
_ODF_MARK: Final = b"mimetypeapplication/vnd.oasis"
_SCRIPT_MARKS: Final = (b"#!/", b"<?php", b"<script", b"@echo")
_PLAIN_MARKS: Final = (b"version https", b"<svg", b"<?xml")


class ContainerEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "containers"
    order: ClassVar[int] = 8

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Open one file, when it is a container."""
        if not file.data:
            return
        kind = _kind(file)
        if kind:
            _open(kind, file, emit)
        if kind != "zip" and ends_as_zip(file.data):
            _open("zip", file, emit)
            if _ZIPAPP.search(file.known_as) and file.data.startswith(b"#!"):
                return  # an interpreter's line and a zip: the form of a Python application (PEP 441)
            emit.finding("container-polyglot", _place(file), kind, f"the file is also a zip archive{_inside(file)}")
        if (file.whole or file.text is None) and is_pickle(file.known_as, file.data):
            _open("pickle", file, emit)
        if file.text is None and kind in {"", "picture"}:
            _commands(file, emit)
        if file.whole:
            _name_and_content(file, emit)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Compare bytecode with the source beside it, and archives that stay closed with what the text says of them."""
        judge_lures(tree, emit)
        compiled = [file for file in tree.files if program_kind(file.head) == "Python bytecode"]
        by_path = {file.path: file for file in tree.files} if compiled else {}
        for file in compiled:
            judge_bytecode(by_path, file, emit)


def _kind(file: SourceFile) -> str:
    head = file.data[:16]
    archive = archive_kind(head)
    if archive in READ_ARCHIVES:
        return archive
    if head.startswith(OLE_MAGIC):
        return "ole"
    if head.startswith(b"%PDF-") or (file.text is None and b"%PDF-" in file.data[:1024]):
        return "pdf"
    if is_picture(head):
        return "picture"
    if head.startswith(SHORTCUT):
        return "shortcut"
    if is_tar(file.data):
        return "tar"
    return bare_stream(file.data) if file.text is None else ""


def _open(kind: str, file: SourceFile, emit: Emitter) -> None:
    place = _place(file)
    parent = _parent(file)
    office = kind == "zip" and (_OFFICE_MARK in file.data or _ODF_MARK in file.data[:200])
    shown = "office" if office else kind
    unread = False
    for part in _parts(kind, file, office):
        if isinstance(part, Oddity):
            unread |= part.rule == "tree-archive"
            emit.finding(part.rule, place, part.excerpt[:300], f"{part.message}{_inside(file)}", segment=parent)
        elif part.data:
            emit.derive(part.data, part.context, place, f"{shown}:{part.name[:200]}", parent, part.name)
    if kind in _READ and not unread:
        emit.finding("container-read", place, kind, f"what is packed as {shown} was audited{_inside(file)}")


def _commands(file: SourceFile, emit: Emitter) -> None:
    """Commands that a compiled program, a package or a model keeps whole."""
    for command in commands_among(file.data):
        emit.derive(command, Context.SHELL, _place(file), "strings", _parent(file))


def _parts(kind: str, file: SourceFile, office: bool) -> Part:
    budget = Budget()
    if kind == "zip":
        for part in read_zip(file.data, budget):
            if isinstance(part, Member) and office and isinstance(part.data, bytes):
                yield from judge_part(part.name, part.data)
            else:
                yield part
    elif kind == "tar":
        yield from read_tar(file.data, budget)
    elif kind == "ar":
        yield from read_ar(file.data, budget)
    elif kind == "pdf":
        yield from read_pdf(file.data, budget)
    elif kind == "picture":
        yield from read_picture(file.data, budget)
    elif kind == "shortcut":
        yield Member("arguments.cmd", "\n".join(each.decode("utf-16-le") for each in _WIDE_TEXT.findall(file.data)))
    elif kind == "pickle":
        yield from read_pickle(file.data)
    elif kind == "ole":
        yield from judge_macros(file.known_as, file.data)
    else:
        yield from _stream(kind, file, budget)


def _stream(kind: str, file: SourceFile, budget: Budget) -> Part:
    inflated = inflate(kind, file.data, budget.room())
    if is_bomb(kind, file.data, inflated):
        yield Oddity("container-bomb", kind, f"it unpacks to over {len(inflated.data) >> 20} MiB")
        return
    if not inflated.whole:
        yield Oddity("tree-archive", kind, f"a {kind} file was not read: {inflated.reason}")
    elif len(inflated.rest.strip(b"\0")) > 0:
        yield Oddity("container-trailing-data", repr(inflated.rest[:60]), "bytes follow after the end of the archive")
        yield Member("appended", inflated.rest)
    name = file.known_as.rpartition("/")[2]
    yield Member(_PACKED_SUFFIX.sub("", name) if _PACKED_SUFFIX.search(name) else f"{name}.unpacked", inflated.data)


def _name_and_content(file: SourceFile, emit: Emitter) -> None:
    """A name that says picture or text over content that is something else."""
    name = file.known_as.rpartition("/")[2]
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    head = file.data[:16]
    archive = archive_kind(head)
    place = _place(file)
    if archive and suffix in _suffixes() and not is_media(head):
        message = f"the name says {suffix}, the content is a {archive} archive{_inside(file)}"
        emit.finding("container-disguised", place, archive, message)
    elif file.text is not None and suffix in table("tree")["media_suffixes"] and not head.startswith(_PLAIN_MARKS):
        if head.lstrip().startswith(_SCRIPT_MARKS):
            message = f"the name says {suffix}, the content is a script{_inside(file)}"
            emit.finding("container-disguised", place, file.text[:80], message)
        emit.derive(file.text, None, place, f"text named {suffix}")
        emit.derive(file.text, Context.INSTRUCTION, place, f"prose named {suffix}")


@cache
def _suffixes() -> frozenset[str]:
    return frozenset((*table("tree")["media_suffixes"], *table("tree")["text_suffixes"]))


def _parent(file: SourceFile) -> Segment | None:
    """The part of another file that this one was found in."""
    return file.segments[0] if file.depth and file.segments else None


def _place(file: SourceFile) -> Location:
    return file.place or Location(file.path)


def _inside(file: SourceFile) -> str:
    return f" (in {file.name[:200]})" if file.name else ""


ENGINE = ContainerEngine()

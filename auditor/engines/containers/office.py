"""Office documents: what they fetch, start or run when they are opened, and the text in them.

Sources: ECMA-376 (parts and relationships), MS-OVBA 2.4.1 (compressed macro source), MS-DOC field codes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.containers.model import Member, Oddity, Part
from skillkeep.auditor.engines.interface import Context

__all__ = ["OLE_MAGIC", "judge_macros", "judge_part"]

OLE_MAGIC: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RELATION: Final = compiled(r"<(?:\w+:)?Relationship\b[^<>]{0,4000}>")
_ATTRIBUTE: Final = compiled(r"\b(Type|Target|TargetMode)\s*=\s*[\"']([^\"'<>]{0,2000})[\"']")
_LOADED: Final = frozenset(
    {"attachedTemplate", "oleObject", "frame", "subDocument", "externalLink", "externalLinkPath"}
)
_DDE: Final = compiled(r"\bDDE(?:AUTO)?\b\s*[\"\\\w]|<(?:\w+:)?ddeLink\b")
_FIELD: Final = compiled(r"<w:instrText\b[^<>]{0,200}>([^<]{0,4000})<|w:instr=\"([^\"<]{0,4000})\"")
_TAG: Final = compiled(r"<[^<>]*>")
_PARAGRAPH: Final = compiled(r"</(?:\w+:)?(?:p|si|row|tr)>")
_AUTOMATIC: Final = compiled(
    r"\b(?:Auto_?(?:Open|Close|Exec|New)|Document_(?:Open|New|Close)|Workbook_(?:Open|Activate|BeforeClose)"
    r"|Presentation_?Open|Slide_?Show_?Begin)\b",
    re.IGNORECASE,
)
_ACTS: Final = compiled(
    r"\b(?:Shell|CreateObject|GetObject|WScript|URLDownloadToFile|XMLHTTP|WinHttp|ADODB\.Stream|powershell|cmd\.exe"
    r"|CallByName|ShellExecute\w*|Environ|FileSystemObject|RegWrite|VirtualAlloc)\b",
    re.IGNORECASE,
)
_MODULE: Final = b"\x00Attribut"
_MOST_MODULES: Final = 200
_MOST_SOURCE: Final = 4 << 20


def judge_part(name: str, data: bytes) -> Part:
    """What one part of an Office or OpenDocument file (a member of its zip) does, and its text to be audited."""
    if name.endswith("vbaProject.bin") or data.startswith(OLE_MAGIC):
        yield from judge_macros(name, data)
        return
    if "/macrosheets/" in f"/{name}" or name.startswith(("Basic/", "Scripts/")):
        yield Oddity("office-macro", name, f"{name[:200]} holds macros")
    if not name.endswith((".xml", ".rels", ".vml")):
        yield Member(name, data)
        return
    text = data.decode("utf-8", "replace")
    if name.endswith(".rels"):
        yield from _relations(name, text)
        return
    fields = "".join(first or second for first, second in _FIELD.findall(text))
    if _DDE.search(html.unescape(fields)) or "ddeLink" in text:
        yield Oddity("office-dde", fields[:300], f"{name[:200]} starts a program through DDE")
    plain = html.unescape(_TAG.sub("", _PARAGRAPH.sub("\n", text)))
    if len(plain.strip()) > 40:
        yield Member(name, plain, Context.INSTRUCTION)


def _relations(name: str, text: str) -> Iterator[Oddity]:
    for relation in _RELATION.findall(text):
        found = dict(_ATTRIBUTE.findall(relation))
        kind = found.get("Type", "").rpartition("/")[2]
        if found.get("TargetMode") == "External" and kind in _LOADED:
            target = found.get("Target", "")
            yield Oddity("office-remote-part", target, f"{name[:200]} loads its {kind} from {target[:200]}")


def judge_macros(name: str, data: bytes) -> Part:
    """The macro source in a compound file: found by its first attribute line, wherever the stream lies."""
    sources = list(_modules(data))
    if not sources and b"_VBA_PROJECT" not in data and "_VBA_PROJECT".encode("utf-16-le") not in data:
        if not data.startswith(OLE_MAGIC) or name.endswith("vbaProject.bin"):
            yield Oddity("tree-archive", name, f"{name[:200]} holds macros that cannot be read")
        return
    source = "\n".join(sources)
    automatic, acts = _AUTOMATIC.search(source), _ACTS.search(source)
    if automatic and acts:
        yield Oddity("office-macro-autorun", acts[0], f"{automatic[0]} runs {acts[0]} when the document is used")
    else:
        yield Oddity("office-macro", name, f"{name[:200]} holds macros")
    if source:
        yield Member(f"{name}/source", source, Context.TEXT)


def _modules(data: bytes) -> Iterator[str]:
    left, place = _MOST_SOURCE, data.find(_MODULE)
    for _ in range(_MOST_MODULES):
        if place < 3 or left <= 0:
            return
        if data[place - 3] == 1:  # the signature byte of a compressed container
            text = _decompressed(data, place - 2, left)
            left -= len(text)
            yield text.decode("latin-1")
        place = data.find(_MODULE, place + 1)


def _decompressed(data: bytes, place: int, most: int) -> bytes:
    """MS-OVBA 2.4.1: chunks of at most 4096 bytes, each a row of literals and copies from the same chunk."""
    out = bytearray()
    while place + 2 <= len(data) and len(out) < most:
        header = int.from_bytes(data[place : place + 2], "little")
        if header >> 12 & 7 != 3:
            break
        stop = min(len(data), place + (header & 0xFFF) + 3)
        place += 2
        if not header & 0x8000:
            out += data[place : place + 4096]
        else:
            _chunk(data[place:stop], out)
        place = stop
    return bytes(out)


def _chunk(data: bytes, out: bytearray) -> None:
    start, at = len(out), 0
    while at < len(data):
        flags = data[at]
        at += 1
        for bit in range(8):
            if at >= len(data):
                return
            if not flags >> bit & 1:
                out.append(data[at])
                at += 1
                continue
            token = int.from_bytes(data[at : at + 2], "little")
            at += 2
            bits = max((len(out) - start - 1).bit_length(), 4)
            length, back = (token & (0xFFFF >> bits)) + 3, (token >> (16 - bits)) + 1
            if back > len(out) - start or len(out) - start > 4096:
                return
            for _ in range(length):
                out.append(out[-back])

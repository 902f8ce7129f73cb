"""Libraries that a block of a page signs with, and files of the tool that an import of them could find instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from skillkeep.auditor.engines.interface import Emitter, Segment, SourceTree

__all__ = ["note_signing", "report_imitated"]

_NOTE: Final = "signing"
_ELSEWHERE: Final = (  # behind the name of a library: where another one is taken from
    r"[\w/.-]{0,60}(?:[\"']\s{0,9}:\s{0,9}\[?\s{0,9}[\"']|[ \t]{0,3}@[ \t]{0,3})"
    r"(?:npm:|file:|link:|portal:|workspace:|git|https?:|\.{0,2}/)"
)


def note_signing(segment: Segment, libraries: Iterable[str], emit: Emitter) -> None:
    """Remember that the block `segment` sends what one of `libraries` made of a key."""
    emit.notes.setdefault(_NOTE, []).extend((segment, name) for name in sorted(libraries))


def report_imitated(tree: SourceTree, emit: Emitter) -> None:
    """Refuse each such block where a file of the tool has the library's name, or takes it from elsewhere: that may
    answer the key.
    """
    noted: list[tuple[Segment, str]] = emit.notes.get(_NOTE, [])
    names = {part.partition(".")[0] for file in tree.files if noted for part in file.path.split("/")}
    names |= {part.partition(".")[0] for entry in tree.entries if noted for part in entry.path.split("/")}
    for segment, library in noted:
        moved = re.compile(rf"(?<![\w.-]){re.escape(library)}{_ELSEWHERE}")
        if library in names or any(moved.search(each.text) for file in tree.files for each in file.segments):
            message = f"a file of the tool may be what {library} is, which is given a private key"
            emit.finding("code-credential-sent", segment.locate(0, 0), library, message, segment=segment)

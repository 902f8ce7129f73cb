"""Places of secrets that stand in a list beside a program which reads what the list names and sends it away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.behaviour.acts import Act, Acts, code_of
from skillkeep.auditor.engines.behaviour.strangers import READS, SENDS
from skillkeep.auditor.engines.behaviour.unasked import loaded_by
from skillkeep.auditor.engines.interface import SourceFile, SourceTree
from skillkeep.auditor.engines.tables import secrets

__all__ = ["Listed", "listed"]

Listed = tuple[str, int, str, Act]  # the list's path and line, the place of a secret, and the act that sends

_LISTS: Final = re.compile(r"(?i)\.(?:json|ya?ml|toml|ini|csv|tsv|txt|cfg|conf|dat|lst|list)$")
_VALUE: Final = re.compile(r"[^\s\"',;:=\[\]{}()]{4,200}")
_JOINT: Final = re.compile(r"[\"'`][ \t]{0,9}\+?[ \t]{0,9}[\"'`]")
_LONGEST: Final = 1 << 16
_SETTINGS: Final = re.compile(r"(?i)\b(?:deny|denied|block\w*|exclud\w*|ignor\w*|forbid\w*|protect\w*|redact\w*)\b")


def listed(tree: SourceTree) -> Iterator[Listed]:
    """The first secret's place of every list that a file which reads and sends names."""
    files = {file.path: file for file in tree.files if file.text is not None}
    for file in tree.files:
        if not _LISTS.search(file.path) or not file.text or len(file.text) > _LONGEST:
            continue
        name, found = file.path.rpartition("/")[2], _secret(file)
        if found is None:
            continue
        for other in tree.files:
            if other.path != file.path and _names(other, name) and (sent := _sends_what_it_reads(other, files)):
                yield file.path, *found, sent
                break


def _names(file: SourceFile, name: str) -> bool:
    """True where `name` stands in the file, in one piece or in pieces that are put together."""
    return name in (file.text or "") or (bool(code_of(file)) and name in _JOINT.sub("", file.text or ""))


def _sends_what_it_reads(file: SourceFile, files: dict[str, SourceFile]) -> Act | None:
    """The first act of sending of a program that reads as well, in this file or in one that it loads."""
    program = [file, *loaded_by(file, files).values()] if code_of(file) else []
    segments = [segment for each in program for segment in code_of(each)]
    acts = [act for each in map(Acts, segments) for act in each.those((*READS, *SENDS))]
    reads = any(act.kind in READS for act in acts)
    return next((act for act in acts if act.kind in SENDS), None) if reads else None


def _secret(file: SourceFile) -> tuple[int, str] | None:
    """The line and the place of the first secret; None also for a list of what shall be left alone."""
    text = file.text or ""
    if not secrets().near(text) or _SETTINGS.search(text):
        return None
    for number, line in enumerate(text.split("\n"), 1):
        for found in _VALUE.finditer(line):
            if "/" in found[0] and secrets().path(found[0]):
                return number, found[0]
    return None

"""Places of secrets that stand in a list beside a program which reads what the list names and sends it away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from skillkeep.auditor.engines.behaviour.acts import Act
from skillkeep.auditor.engines.behaviour.strangers import READS, SENDS
from skillkeep.auditor.engines.interface import SourceFile, SourceTree
from skillkeep.auditor.engines.tables import secrets

__all__ = ["Listed", "listed"]

Listed = tuple[str, int, str, Act]  # the list's path and line, the place of a secret, and the act that sends

_LISTS: Final = re.compile(r"(?i)\.(?:json|ya?ml|toml|ini|csv|tsv|txt|cfg|conf|dat|lst|list)$")
_VALUE: Final = re.compile(r"[^\s\"',;:=\[\]{}()]{4,200}")
_LONGEST: Final = 1 << 16
_SETTINGS: Final = re.compile(r"(?i)\b(?:deny|denied|block\w*|exclud\w*|ignor\w*|forbid\w*|protect\w*|redact\w*)\b")


def listed(tree: SourceTree, acts: Sequence[Act]) -> Iterator[Listed]:
    """The first secret's place of every list that a file which reads and sends names. `acts` are of all files."""
    read = {act.path for act in acts if act.kind in READS}
    sends = {act.path: act for act in reversed(acts) if act.kind in SENDS and act.path in read}
    if not sends:
        return
    texts = {file.path: file.text for file in tree.files if file.path in sends and file.text}
    for file in tree.files:
        if not _LISTS.search(file.path) or not file.text or len(file.text) > _LONGEST:
            continue
        name = file.path.rpartition("/")[2]
        sender = next((path for path, text in texts.items() if name in text and path != file.path), None)
        if sender and (found := _secret(file)):
            yield file.path, *found, sends[sender]


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

"""What one script fetches and saves, and another one runs or takes in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.scripts import spelled_out
from skillkeep.auditor.engines.interface import Context, Segment, SourceTree

__all__ = ["Handed", "handed_over"]

Handed = tuple[Segment, int, str, str, str]  # where it is run, the offset, the file's name, who saved it, and that text

_MOST: Final = 40
_NAME: Final = r"[\"']?(?P<to>[\w.~-]*[./][\w./~-]{2,80})"
_FETCHED: Final = re.compile(r"\b(?:curl|wget)\b")
_SAVED: Final = (
    re.compile(
        r"\b(?:curl|wget)\b[^\n|;]{0,300}?(?:[ \t]-[a-zA-Z]{0,6}[oO][ \t]+|[ \t]--output(?:-document)?[ =]|>>?[ \t]*)"
        + _NAME
    ),
    re.compile(r"\b(?:curl|wget)\b[^{}]{0,300}\n?[ \t]*\}[ \t]*>>?[ \t]*" + _NAME),
)


def handed_over(tree: SourceTree) -> Iterator[Handed]:
    """Every file that a script of the tree has filled from the network and that another script runs, once each."""
    scripts = [
        (file.path, segment, spelled_out(segment))
        for file in tree.files
        for segment in code_of(file)
        if segment.context is Context.SHELL
    ]
    saved = {
        found["to"].removeprefix("./"): (path, text)
        for path, _, text in scripts
        if _FETCHED.search(text)
        for pattern in _SAVED
        for found in pattern.finditer(text)
        if "://" not in found[0][found.start("to") - found.start() - 3 :]
    }
    for name, (by, source) in list(saved.items())[:_MOST]:
        run = re.compile(
            r"(?:^|[;&|(][ \t]*|\b(?:then|do|exec|sudo|nohup)[ \t]+)"
            r"(?:(?:\.|source|(?:ba|z|da)?sh|python3?|node)[ \t]+)"
            rf"(?:-\w+[ \t]+)*[\"']?(?:\./)?{re.escape(name)}(?![\w./-])",
            re.MULTILINE,
        )
        for path, segment, text in scripts:
            found = run.search(text) if path != by else None
            if found is not None:
                yield segment, found.start(), name, by, source
                break

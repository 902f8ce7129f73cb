"""The PowerShell engine: parses every PowerShell segment with tree-sitter-powershell and has its commands judged."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.powershell.batch import is_batch, judge_batch
from skillkeep.auditor.engines.powershell.judge import Judge, TooDeepError
from skillkeep.auditor.engines.powershell.site import Site
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.syntax import Syntax, UnparsedError, parse
from skillkeep.auditor.syntax.comments import readings

__all__ = ["ENGINE", "PowerShellEngine"]

_QUOTES: Final = str.maketrans("\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2013\u2014\u2015", "''''\"\"\"---")
# What the grammar does not know without quotes: a path that begins with a variable, ``--a=b``, and the words of a list
# (``a, b``).
# Strings, comments, attributes and the heads of classes come first.
_UNQUOTED: Final = compiled(
    r"@\"[ \t]*\n.*?\n\"@|@'[ \t]*\n.*?\n'@|<#.*?#>|#[^\n]*|'[^'\n]*'|\"(?:[^\"`\n]|`.)*\""
    r"|\[\w{1,40}\([^\]\n]*\)\]|\bclass[ \t][^\n{]*"
    r"|((?<=\s)--[A-Za-z][\w-]{0,40}=[^\s\"'`;|&(){}<>,$]{1,200}(?=[\s;|)}])"
    r"|(?<=[\s(,=])\$(?:env:)?\w+[\\/][^\s\"'`;|&(){}<>,]*"
    r"|(?<=[\s,])[A-Za-z_*][\w.*:\\/-]*(?=[ \t]*,)|(?:(?<=,)|(?<=,[ ]))[A-Za-z_*][\w.*:\\/-]*(?=[\s|;)}]|\Z))",
    re.DOTALL,
)
_GLUED: Final = compiled(r"(?<=[ \t])([A-Za-z-][\w-]{0,40})=(?=\"[^\"\n]{0,200}\$\()")  # nor ``name="$(…)"``
_MOST_LONG: Final = 2000  # texts that may go on over lines; each costs a look to the end
_FOREIGN: Final = compiled(r"[^\0-\x7f]")


class PowerShellEngine(Engine):
    """PowerShell by its syntax tree; batch files by their lines."""

    name: ClassVar[str] = "powershell"
    order: ClassVar[int] = 13

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge every PowerShell segment of the file."""
        for segment in file.of(Context.POWERSHELL):
            if is_batch(segment):
                judge_batch(segment, emit)
            else:
                self._segment(segment, emit)

    def _segment(self, segment: Segment, emit: Emitter) -> None:
        complete, known = False, set[tuple[str, int, str]]()
        try:
            for reading in readings(segment.text, segment.context):
                text, added, tree = _parsed(reading)
                site = Site(segment, emit, text, added, reported=known)
                Judge(site, table("powershell")).statements(tree.root)
                complete = complete or tree.complete
        except (TooDeepError, UnparsedError) as error:
            emit.incomplete(segment.path, str(error) or "its expressions are nested too deep to be judged")
            return
        if complete:
            emit.understood(segment)
        elif not segment.provenance and segment.path.endswith((".ps1", ".psm1")):
            emit.incomplete(segment.path, "a part of it is no PowerShell that the grammar knows")


def _parsed(text: str) -> tuple[str, list[int], Syntax]:
    """`text` as the grammar reads it best, where characters were added to it, and its tree."""
    if not text.isascii():  # PowerShell reads typographic quotes and dashes as plain ones
        text = _FOREIGN.sub("x", text.translate(_QUOTES))
    if "\r" in text:  # the grammar knows no text over lines that end as Windows ends them
        text = text.replace("`\r\n", " `\n").replace("\r\n", " \n")
    text = text.replace("` #", "`x_")  # an escaped blank begins no word, so that no comment begins there
    tree = parse(Context.POWERSHELL, text)
    if not tree.complete and _GLUED.search(text):
        apart = _GLUED.sub(r"\1 ", text)
        other = parse(Context.POWERSHELL, apart)
        text, tree = (apart, other) if len(other.errors) < len(tree.errors) else (text, tree)
    if tree.complete or sum(map(text.count, ("@", "<#"))) > _MOST_LONG:
        return text, [], tree
    pieces: list[str] = []
    added: list[int] = []
    at = 0
    for found in _UNQUOTED.finditer(text):
        if found[1]:
            pieces += [text[at : found.start(1)], '"', found[1], '"']
            added += [found.start(1) + len(added), found.end(1) + len(added) + 1]
            at = found.end(1)
    quoted = "".join(pieces) + text[at:]
    again = parse(Context.POWERSHELL, quoted) if added else tree
    return (quoted, added, again) if added and len(again.errors) <= len(tree.errors) else (text, [], tree)


ENGINE = PowerShellEngine()

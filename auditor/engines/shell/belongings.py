"""What a command takes of the user's as a whole (the home, folders of documents, databases), and who may not get it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import Host
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.lookup import lookup
from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["WHOLE", "Belongings", "stranger_among"]

WHOLE: Final = "whole:"  # how such a label begins; what follows says what was taken

_NOTHING: Final[frozenset[str]] = frozenset()
_HOME: Final = compiled(
    r"(?:~|/root|/(?:home|Users)(?:/[^/\s]{1,40})?)"
    r"(?:/(?:(?:My )?Documents|Desktop|Downloads|Pictures|Photos|Videos|Movies|Music|Library|OneDrive|Dropbox))?"
    r"(?:/{1,2}(?:\*|\.)?)?"
)
_REMOTE: Final = frozenset({"scp", "rsync", "sftp", "rcp"})  # the last operand is where it goes
_THERE: Final = compiled(r"(?:[\w.+-]+@)?[\w.\[\]-]+:|[a-z]+://")
_COPYING: Final = frozenset({"cp", "ditto"})  # so is that of these
_FINDING: Final = frozenset({"find", "gfind", "fd"})
_TARS: Final = frozenset({"tar", "gtar", "bsdtar"})
_MAKES: Final = compiled(r"-?\w*c\w*|--create")
_SENT_EACH: Final = compiled(r".*[@<]\{\}|-T|--upload-file")


class Belongings:
    """Tells one call at a time; `table` is that of the shell."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._dumping: dict[str, dict[str, list[str]]] = table["dumping"]
        self._packing = frozenset(table["taking_along"])

    def taken(self, call: Call) -> frozenset[str]:
        """The labels of what `call` prints, packs or copies to elsewhere."""
        if (known := self._dumping.get(call.name)) is not None:
            return self._dumped(call, known)
        if call.name in self._packing or (call.name in _FINDING and any(map(_SENT_EACH.fullmatch, call.arguments))):
            named = next((name for name in self._sources(call) if _HOME.fullmatch(name)), "")
            return frozenset({f"{WHOLE}all that lies in {named}"}) if named else _NOTHING
        return _NOTHING

    def _sources(self, call: Call) -> Iterator[str]:
        """What is packed, searched or copied, and from which folder; nothing of what comes from elsewhere."""
        each = list(zip(call.arguments, call.words, strict=False))
        if call.name in _REMOTE:
            if not call.operands or not _THERE.match(call.operands[-1]):
                return
            each = each[:-1]
        elif call.name in _COPYING:
            each = each[:-1]
        elif call.name in _TARS and not any(map(_MAKES.fullmatch, call.arguments)):
            return
        for text, word in each:
            if not text.startswith("-"):
                yield from (text,) if HOLE not in text else self._site.scope.each(word)

    def _dumped(self, call: Call, known: dict[str, list[str]]) -> frozenset[str]:
        """The label of a dump that is printed, or of the file that an option has it written to."""
        if "words" in known and not call.has(*known["words"]):
            return _NOTHING
        label, options = frozenset({f"{WHOLE}a database"}), known.get("file", ())
        for before, item in pairwise(("", *call.arguments)):
            name, _, glued = item.partition("=")
            if before in options or (glued and name in options):
                self._site.files.filled(item if before in options else glued, label)
        return label


def stranger_among(hosts: Iterable[Host]) -> str:
    """The first of `hosts` that is told, is nobody's example, lies elsewhere and sells no room to anybody."""
    for host in hosts:
        nobodys = host.near or host.shown or host.name.startswith("*") or "." not in host.name
        if not nobodys and lookup().keepers.search(host.name) is None:
            return host.name
    return ""

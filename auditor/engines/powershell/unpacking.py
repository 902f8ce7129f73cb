"""Folders that a PowerShell script has unpacked or cloned, and what is started or built in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.installers import is_watched
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.values import Value

if TYPE_CHECKING:
    from skillkeep.auditor.engines.powershell.calls import Call
    from skillkeep.auditor.engines.powershell.site import Site
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["built", "packages", "started_in", "unpack", "unpacked_into"]

_MOVING: Final = frozenset({"set-location", "cd", "push-location", "pushd", "sl", "chdir"})
_ARCHIVE: Final = compiled(r"\.(?:zip|tar|tgz|tar\.gz|7z|rar)$", re.IGNORECASE)
_CLONED: Final = compiled(r"(?:https?|ssh)://[\w.@-]+\.[\w-]+[:/]")


def unpack(call: Call, site: Site) -> None:
    """Remember where `call` unpacks what was fetched, what it clones from no forge, and where it goes."""
    if call.name in _MOVING and call.operands:
        site.here = site.file_name(call.operands[0], call.places[0])
    elif call.name == "expand-archive":
        archive, node = call.argument("-path")
        folder, place = call.argument("-destinationpath", 1)
        if not archive.text:
            archive, node = call.argument("-literalpath")
        unpacked_into(archive, node, folder if place is not None else None, place, site)
    elif call.name in {"tar", "7z", "unzip"}:
        named = [(value, call.nodes[name]) for name, value in call.options.items() if name in call.nodes]
        for value, node in [*zip(call.operands, call.places, strict=True), *named]:
            unpacked_into(value, node, Value("."), None, site)
    elif call.name == "git" and call.words[:1] == ["clone"]:
        given = [text for text in call.words[1:] if not text.startswith("-")]
        if given and _CLONED.match(given[0]) and not is_watched(given[0]):
            name = given[1] if len(given) > 1 else given[0].rstrip("/").rpartition("/")[2].removesuffix(".git")
            site.unpacked[site.file_name(Value(name), None)] = given[0]


def unpacked_into(archive: Value, node: Node | None, folder: Value | None, place: Node | None, site: Site) -> None:
    """`archive` is unpacked into `folder`, or beside its own name into one that is called the same."""
    labels, address = site.origin(archive, node)
    if "download" in labels:
        named = site.file_name(folder, place) if folder is not None else ""
        site.unpacked[named or _ARCHIVE.sub("", site.file_name(archive, node))] = address


def started_in(file: Value, node: Node | None, site: Site) -> str | None:
    """The address of the archive that the program `file` came out of, or None."""
    if not site.unpacked or not file.text:
        return None
    name = site.file_name(file, node)
    for folder, address in site.unpacked.items():
        bare = folder.rstrip("\\")
        if name.startswith(f"{bare}\\") or (bare == "." and file.text.startswith((".\\", "./"))):
            return address
    return _around(site) if file.text.startswith((".\\", "./")) else None


def _around(site: Site) -> str | None:
    """The address of the archive whose folder the script has changed into, or None."""
    return site.unpacked.get(site.here.rstrip("\\"), site.unpacked.get(".")) if site.here else None


def packages(call: Call) -> bool:
    """True for a program that builds or installs what it is given or stands in."""
    how = table("shell")["building"].get(call.name)
    behind = how.get("behind") if how is not None else None
    return how is not None and (behind is None or any(word in behind for word in call.words[:2]))


def built(call: Call, site: Site) -> str | None:
    """The address of what `call` builds where it stands, or None."""
    return _around(site) if site.unpacked and packages(call) else None

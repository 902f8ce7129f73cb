"""Archives that a script has fetched or decoded: the folder that each is unpacked in."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.connecting import first_url
from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["UNPACKING", "unpack"]

UNPACKING: Final = frozenset({"tar", "gtar", "bsdtar", "unzip", "7z", "7za", "ditto"})
_INTO: Final = {"unzip": ("-d",), "7z": ("-o",), "7za": ("-o",)}
_HIDING: Final = frozenset({"base64", "base32", "basenc", "xxd", "openssl", "uudecode", "gpg", "gpg2", "rev", "perl"})
_OWN: Final = compiled(r"\$(?:\{?BASH_SOURCE\b|\{?0(?![\w%#/]))")  # what ``tail -n +9 "$0"`` reads, readers do not
_FOLDER: Final = ("-C", "--directory")


def unpack(call: Call, labels: frozenset[str], before: list[Call], site: ShellSite) -> None:
    """Remember where `call` puts the files of an archive that was downloaded or decoded, or that is piped into it."""
    files = site.files
    keys = [key for text in call.arguments if (key := files.find(text)) is not None and "download" in files.labels[key]]
    piped = "download" in labels and bool(before)
    fetched = bool(keys) or piped
    if not fetched and not _is_hidden(call, labels, before, site):
        return
    if call.name.endswith("tar") and not any(_extracts(text) for text in call.arguments[:2]):
        return
    folder = _folder(call, site).rstrip("/") or "/"
    folders = {folder, *files.folders[-1:]} if folder == "." else {folder}
    files.in_place |= folders if folder == "." else set()
    if not fetched:
        files.hidden |= folders
        return
    url = files.urls.get(keys[0], "") if keys else next(filter(None, map(first_url, before)), "")
    files.unpacked |= dict.fromkeys(folders, url)


def _is_hidden(call: Call, labels: frozenset[str], before: list[Call], site: ShellSite) -> bool:
    """True for an archive that a decoder made, or that stands at the end of the script itself."""
    if any("decoded" in site.files.of(text) for text in call.arguments):
        return True
    hides = "decoded" in labels and any(each.name in _HIDING for each in before)
    return hides or any(_OWN.search(site.segment.text, each.command.start, each.command.end) for each in before)


def _extracts(text: str) -> bool:
    return text in {"--extract", "--get"} or (not text.startswith("--") and "x" in text and "/" not in text)


def _folder(call: Call, site: ShellSite) -> str:
    options = _INTO.get(call.name, _FOLDER)
    for number, (text, word) in enumerate(zip(call.arguments, call.words, strict=False)):
        for option in options:
            if text == option and number + 1 < len(call.words):
                return site.name(call.arguments[number + 1], call.words[number + 1])
            if text.startswith(option) and len(text) > len(option):
                return site.name(text, word).removeprefix(option).removeprefix("=")
    if call.name == "ditto" and len(call.operands) > 1:
        return call.operands[-1]
    return "."

"""What builds, installs or applies what a script has fetched: its author's code runs, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.installers import is_installer, is_watched
from skillkeep.auditor.engines.network import host_of, is_near
from skillkeep.auditor.engines.shell.calls import begins_behind
from skillkeep.auditor.engines.shell.connecting import first_url
from skillkeep.auditor.engines.shell.model import Word
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.values import HOLE
from skillkeep.auditor.interface import Severity

__all__ = ["build"]

_RULE: Final = "shell-download-execution"
_HERE: Final = compiled(r"^(?:\$\{?PWD\}?|\$\(pwd\)|`pwd`|\.)/")
_MOUNT: Final = compiled(r"(?P<host>[^:,=]{1,200}):(?P<inside>/[^:,]{0,200})(?::\w+)?")
_BETWEEN: Final = compiled(r"[\s;|&()\"'`]+")
_ADDRESS: Final = compiled(r"https?://[\w.-]+\.[\w-]+[:/]")
_REPOSITORY: Final = compiled(
    r"(?:(?:https?|ssh|git|svn)://(?:[^/@]{1,80}@)?|[\w.+-]{1,40}@)(?P<host>[\w.-]+\.[\w-]+)(?::\d+)?[:/]"
)
_CLONING: Final = {"git": ("clone",), "hg": ("clone",), "svn": ("export", "checkout", "co"), "bzr": ("branch",)}
_INPUT: Final = frozenset({"-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"})
_MODULE: Final = ("-m", "pip")


def build(call: Call, site: ShellSite, labels: frozenset[str], before: list[Call]) -> None:
    """Report where `call`, fed with `labels` by the calls `before` it, runs the code of what the script has fetched."""
    if call.name in _CLONING:
        _cloned(call, site)
    begun = _begun(call)
    if begun is None:
        return
    how, given = begun
    words = [site.name(text, word) for text, word in given]
    for address in _addresses(call, how, words):
        _report(call, site, address, [address])
    if "download" in labels and ((how.get("fed") and before) or not _INPUT.isdisjoint(words)):
        start = before[0].command.start if before else call.command.start
        asked = [
            url for first, last, urls in site.requests if start <= first and last <= call.command.end for url in urls
        ]
        _report(call, site, "its input", asked or [url for each in before if (url := first_url(each))])
    if site.files.labels:
        own = [f"{folder}{each}" for each in how.get("own", ()) for folder in ("", *_folders(words))]
        for word in (*words, *own, *_mounted(call, site)):
            key = site.files.find(_HERE.sub("", word))
            if key is not None and "download" in site.files.labels[key]:
                _report(call, site, key, site.files.urls.get(key, "").split(" "))
                return
    if site.files.unpacked and (found := _unpacked(words, site)) is not None:
        shown = any(step.startswith(("fence", "inline")) for step in site.segment.provenance)
        _report(call, site, *found, Severity.WARN if shown else None)


def _begun(call: Call) -> tuple[dict[str, Any], list[tuple[str, Word]]] | None:
    """What the table says of the call, and the arguments that it may take for files, folders and packages."""
    name, skipped = call.name, 0
    if name.startswith("python") and call.arguments[:2] == _MODULE:
        name, skipped = "pip", 2
    how: dict[str, Any] | None = table("shell")["building"].get(name)
    begins = begins_behind(call, how.get("behind")) if how is not None else None
    if how is None or (begins is None and (call.operands or not how.get("alone"))):
        return None
    given = list(zip(call.arguments, call.words, strict=False))[max(begins or 0, skipped) :]
    values = [(text.partition("=")[2] if text.startswith("-") and text != "-" else text, word) for text, word in given]
    return how, [(text, word) for text, word in values if text]


def _addresses(call: Call, how: dict[str, Any], words: list[str]) -> list[str]:
    """The addresses that the program takes what it runs from."""
    remote: list[str] | None = how.get("remote")
    if remote is None:
        return []
    named = [text for option, text in pairwise(("", *call.arguments)) if option in remote]
    named += [word for word in words if word.endswith(".tgz")]
    return [word for word in named if _ADDRESS.match(word) and not host_of(word).near]


def _cloned(call: Call, site: ShellSite) -> None:
    """``git clone address folder``: from a host that is no public forge, the same as an archive."""
    begins = begins_behind(call, _CLONING[call.name])
    given = [text for text in call.arguments[begins:] if not text.startswith("-")] if begins is not None else []
    found = next(filter(None, map(_REPOSITORY.match, given)), None)
    if found is not None and not is_near(found["host"]) and not is_watched(found["host"]):
        url = found.string
        after = given[given.index(url) + 1 :]
        folder = after[0] if after else re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git")
        if folder.strip("./"):
            site.files.unpacked[folder.rstrip("/")] = url


def _folders(words: list[str]) -> Iterator[str]:
    return (f"{word.rstrip('/')}/" for word in words if HOLE not in word)


def _unpacked(words: list[str], site: ShellSite) -> tuple[str, list[str]] | None:
    """The folder that is built, named or the one it is in now, and where its archive comes from."""
    here = site.files.folders[-1] if site.files.folders else ""
    for folder in (*words, here):
        bare = folder.rstrip("/")
        if bare and bare not in {".", ".."} and bare not in site.files.in_place:
            url = site.files.unpacked_in(f"{_HERE.sub('', bare)}/file")
            if url is not None:
                return bare, [url]
    return None


def _mounted(call: Call, site: ShellSite) -> Iterator[str]:
    """The files of this machine that a container's command names by the place where their folder is mounted."""
    mounts = [
        found
        for text, word in zip(call.arguments, call.words, strict=False)
        if (found := _MOUNT.fullmatch(site.name(text, word).strip("\"'")))
    ]
    for text in call.arguments if mounts else ():
        for part in _BETWEEN.split(text):
            for mount in mounts:
                inside = mount["inside"].rstrip("/")
                if part.startswith(f"{inside}/"):
                    yield _HERE.sub("", f"{mount['host'].rstrip('/')}/") + part[len(inside) + 1 :]


def _report(call: Call, site: ShellSite, what: str, urls: list[str], severity: Severity | None = None) -> None:
    """Code of somebody else's runs: refused, but of vendors' installers and of hosts that many look at."""
    told = [url for url in urls if url]
    if not told or all(HOLE in url or is_installer(url) or is_watched(host_of(url).name) for url in told):
        severity = Severity.WARN
    message = f"{call.name} runs what {what[:80]} says{f', which comes from {told[0][:120]}' if told else ''}"
    site.report(_RULE, call.command, message.replace(HOLE, "…"), subject=" ".join(told), severity=severity)

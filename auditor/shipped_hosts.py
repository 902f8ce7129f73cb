"""Hosts that a tool's own files of data and examples of settings name: whoever ships them chose them, not the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, SourceFile
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.services import hosts_in

__all__ = ["UNKNOWN", "reads_own_data", "shipped_hosts"]

UNKNOWN = "?"
"""Stands for a host that data of the tool may tell without spelling it; it is nobody's."""

_SPELLED = compiled(r"[\"'/]([^\"'/\n]{1,200})(?=[\"'])")  # the last part of a path
_PAGES = (".md", ".mdx", ".markdown", ".mdc", ".rst", ".html")
_OF_PACKAGES = compiled(
    r"(?i)(?:^|/)(?:(?:package|npm-shrinkwrap|composer)(?:-lock)?\.json"
    r"|(?:yarn|uv|poetry|cargo|bun|composer|gemfile|pipfile)\.lock"
    r"|pnpm-lock\.yaml|pyproject\.toml|setup\.cfg|go\.(?:mod|sum)|cargo\.toml|_?meta\.json|skill\.json|plugin\.json"
    r"|marketplace\.json|licen[cs]e[\w.]*)$"
)
_SET = compiled(  # in a page: a variable, or a member of a setting
    r"(?m)^[ \t$>]*(?:export[ \t]+|set[ \t]+|\$env:)?[\"']?[A-Za-z][\w.-]{1,40}[\"']?[ \t]*[=:][ \t]*[\"']?"
    r"(?P<url>https?://[^\s\"'`<>]{4,200})"
)
_BARE = compiled(
    r"(?:^|[\s\"':=@])(?P<host>(?:[a-z0-9-]{1,60}\.){1,5}[a-z]{2,24})(?::\d{1,5})?(?=[\s\"',/]|$)", re.IGNORECASE
)
_ENDINGS = frozenset(  # of files, not of hosts
    {"bin", "cfg", "conf", "css", "csv", "db", "env", "gz", "html", "ico", "ini", "jpeg", "jpg", "js", "json", "jsonl",
     "key", "lock", "log", "md", "mjs", "mp3", "mp4", "pdf", "pem", "png", "py", "sh", "sql", "sqlite", "svg", "toml",
     "ts", "tsx", "txt", "wav", "xml", "yaml", "yml", "zip"}
)  # fmt: skip


def shipped_hosts(files: Iterable[SourceFile]) -> frozenset[str]:
    """The names of machines elsewhere in data that lies beside the programs, and in what pages set; not of packages.

    Names that are kept for documentation, and those of one's own network, are nobody's.
    """
    found = {name for file in files for name in _named(file)}
    hosts = {name: host_of(name) for name in found}
    return frozenset(name for name, host in hosts.items() if not (host.near or host.shown or host.name == "*"))


def reads_own_data(files: Iterable[SourceFile]) -> bool:
    """True when a program names a file of the tool that spells no host as data would: an address may be made of it."""
    listed = list(files)
    data = [file for file in listed if not file.is_program and not (_is_data(file) and any(_named(file)))]
    names = {file.path.rpartition("/")[2] for file in data}
    spelled = (match[1] for file in listed if file.is_program for match in _SPELLED.finditer(file.text or ""))
    return any(name in names for name in spelled)


def _is_data(file: SourceFile) -> bool:
    path = file.path.lower()
    return not (file.text is None or file.is_program or path.endswith(_PAGES) or _OF_PACKAGES.search(path))


def _named(file: SourceFile) -> Iterator[str]:
    text, path = file.text, file.path.lower()
    if text is None or file.is_program or _OF_PACKAGES.search(path):
        return
    if path.endswith(_PAGES):
        for segment in file.of(Context.INSTRUCTION, Context.FENCED):
            yield from (host for match in _SET.finditer(segment.text) for host in hosts_in(match["url"]))
        return
    yield from (name.lower() for name in hosts_in(text))
    for match in _BARE.finditer(text):
        if match["host"].rpartition(".")[2].lower() not in _ENDINGS:
            yield match["host"].lower()

"""The manifest engine: what a skill says about itself, compared with the capability profile of its files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Emitter, Engine, SourceFile, SourceTree
from skillkeep.auditor.engines.network import is_near, registered_labels
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.frontmatter import Frontmatter, parse_frontmatter
from skillkeep.auditor.interface import Capability, Location

__all__ = ["ENGINE", "ManifestEngine"]

_NAME: Final = compiled(r"^[a-z0-9]+(?:-[a-z0-9]+)*$")
_PERMISSION: Final = compiled(r"^(?:Bash|Shell)\(\s*([\w./+-]+)\s*(?::\s*\*|\s+\*|\*)\s*\)$")
_OUTSIDE: Final = compiled(r"^(?:/|~|\$\{?HOME\b|%APPDATA%|[A-Za-z]:\\)")
_FINE: Final = compiled(
    r"^(?:/tmp\b|/var/tmp\b|/dev/|/private/tmp\b|/workspace\b|/mnt/|/proc/self/|/app\b|/data\b|/output)"
)
_DOCUMENTS: Final = (".md", ".mdx", ".mdc", ".txt", ".rst", ".json", ".yaml", ".yml", ".toml", ".html", ".lock")
_MOST_TEXT: Final = 200_000
_MOST: Final = 20


@dataclass(frozen=True)
class _Skill:
    file: SourceFile
    front: Frontmatter
    folder: str
    documents: tuple[str, ...]
    wants: tuple[Capability, ...]

    @cached_property
    def text(self) -> str:
        """What its documents say, lower-cased, one blank between words."""
        return _plain("\n".join(self.documents))

    def line(self, key: str) -> Location:
        """Where the front matter has `key`."""
        found = re.search(rf"^{re.escape(key)}[ \t]*:", self.front.text, re.MULTILINE)
        return Location(self.file.path, self.front.text.count("\n", 0, found.start()) + 2 if found else 1)

    def code(self, kind: str) -> Iterator[Capability]:
        """What files that are no documents want."""
        return (each for each in self.wants if each.kind == kind and not each.evidence.path.endswith(_DOCUMENTS))


class ManifestEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "manifest"
    order: ClassVar[int] = 90

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Judge every ``SKILL.md`` with the files of its folder."""
        for skill in _skills(tree):
            _name(skill, emit)
            _description(skill, emit)
            _promises(skill, emit)
            _hosts(skill, emit)
            _lists(skill, emit)


def _skills(tree: SourceTree) -> Iterator[_Skill]:
    manifests = {
        file.path.rpartition("/")[0]: file
        for file in tree.files
        if file.is_text and file.path.rpartition("/")[2].lower() == "skill.md"
    }
    wants: dict[str, list[Capability]] = {folder: [] for folder in manifests}
    documents: dict[str, list[str]] = {folder: [] for folder in manifests}
    for each in tree.capabilities:
        if (folder := _nearest(each.evidence.path, manifests)) is not None:
            wants[folder].append(each)
    for file in tree.files:
        if (folder := _nearest(file.path, manifests)) is not None and file.path.lower().endswith((".md", ".mdx")):
            documents[folder].append((file.text or "")[:_MOST_TEXT])
    for folder, file in manifests.items():
        front = parse_frontmatter(file.text or "")
        yield _Skill(file, front, folder, tuple(documents[folder]), tuple(wants[folder]))


def _nearest(path: str, folders: Iterable[str]) -> str | None:
    folder = path.rpartition("/")[0]
    while folder not in folders and folder:
        folder = folder.rpartition("/")[0]
    return folder if folder in folders else None


def _name(skill: _Skill, emit: Emitter) -> None:
    name, place = skill.front.name, skill.line("name")
    if not name:
        return
    if not name.isascii() and any(char.isascii() and char.isalpha() for char in name):
        emit.finding("manifest-name-lookalike", place, name[:120], f"the name mixes scripts: {ascii(name)[:120]}")
    elif not _NAME.match(name) or len(name) > 64:
        emit.finding("manifest-name", place, name[:120], f"the name {name[:80]} is not made of a-z, 0-9 and hyphens")
    elif skill.folder and name != skill.folder.rpartition("/")[2]:
        emit.finding("manifest-name", place, name, f"the folder is {skill.folder.rpartition('/')[2]}, the name {name}")


def _description(skill: _Skill, emit: Emitter) -> None:
    description = _plain(skill.front.description)
    if found := _pattern("hijack").search(description):
        emit.finding(
            "manifest-trigger-hijack", skill.line("description"), found[0], f"the description says: {found[0]}"
        )
    for tool in skill.front.allowed_tools:
        program = _PERMISSION.match(tool)
        if program and program[1].rpartition("/")[2] in table("manifest")["broad_programs"]:
            emit.finding("manifest-broad-permission", skill.line("allowed-tools"), tool, f"{tool} allows anything")


def _promises(skill: _Skill, emit: Emitter) -> None:
    description = _plain(skill.front.description)
    for kind, pattern in _promise_patterns():
        first = next((each for each in skill.code(kind) if not _is_harmless(each)), None)
        promise = (pattern.search(description) or pattern.search(skill.text)) if first else None
        if promise and first:
            emit.finding(
                "manifest-broken-promise", skill.line("description"), promise[0][:200],
                f"it says \"{promise[0].strip()[:80]}\", but {first.evidence.path} line {first.evidence.line} "
                f"{'connects to' if kind == 'network' else 'writes'} {first.value}",
            )  # fmt: skip


def _hosts(skill: _Skill, emit: Emitter) -> None:
    listed = _listed_hosts(skill.front.fields)
    seen: set[str] = set()
    for each in skill.code("network"):
        host = each.value.lower().rstrip(".")
        if is_near(host) or host in seen or len(seen) >= _MOST:
            continue
        seen.add(host)
        named = _main(host)
        if listed and not any(_main(other) == named for other in listed):
            emit.finding("manifest-host-beyond-list", each.evidence, host, f"{host} is not in the manifest's list")
        elif named not in skill.text and host not in skill.text:
            emit.finding("manifest-undeclared-host", each.evidence, host, f"no document names {host}")
            description = _plain(skill.front.description)
            if _pattern("local_purposes").search(description) and not _pattern("connected").search(description):
                message = f"it is described as local work, but connects to {host}"
                emit.finding("manifest-purpose-mismatch", each.evidence, host, message)


def _lists(skill: _Skill, emit: Emitter) -> None:
    bins = set(_below(skill.front.fields, {"bins", "anyBins"}))
    plain = set(table("manifest")["plain_binaries"])
    seen: set[str] = set()
    for each in skill.code("binary"):
        if bins and each.value not in bins | plain | seen and len(seen) < _MOST:
            seen.add(each.value)
            emit.finding("manifest-undeclared-binary", each.evidence, each.value, f"{each.value} is not listed")
    for each in skill.code("write"):
        if _OUTSIDE.match(each.value) and not _FINE.match(each.value) and each.value not in seen and len(seen) < _MOST:
            seen.add(each.value)
            emit.finding("manifest-writes-outside", each.evidence, each.value, f"writes {each.value[:160]}")


def _is_harmless(each: Capability) -> bool:
    """Local connections, and writes to nowhere, to temporary files, or to names only known when it runs."""
    if each.kind == "network":
        return is_near(each.value)
    return not _OUTSIDE.match(each.value) or bool(_FINE.match(each.value))


def _listed_hosts(fields: Any) -> set[str]:
    keys = set(table("manifest")["host_keys"])
    found = {re.sub(r"^\w+://", "", text).partition("/")[0].lstrip("*.").lower() for text in _below(fields, keys)}
    return {host for host in found if "." in host and " " not in host}


def _below(fields: Any, keys: set[str]) -> Iterator[str]:
    """The strings below any of `keys`, at any depth the front matter's reader allows."""
    stack: list[tuple[Any, bool]] = [(fields, False)]
    for _ in range(2_000):
        if not stack:
            return
        node, inside = stack.pop()
        if isinstance(node, dict):
            stack += [(value, inside or str(key) in keys) for key, value in node.items()]
        elif isinstance(node, list):
            stack += [(item, inside) for item in node]
        elif inside and isinstance(node, str):
            yield node


def _main(host: str) -> str:
    """The registered part of a host: two labels, or three below a country's second level."""
    return ".".join(registered_labels(host.split(":")[0].split(".")))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


@cache
def _pattern(key: str) -> re.Pattern[str]:
    return compiled(table("manifest")[key])


@cache
def _promise_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((item["kind"], compiled(item["pattern"])) for item in table("manifest")["promises"])


ENGINE = ManifestEngine()

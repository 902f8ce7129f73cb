"""Judges what a Ruby call touches: files with secrets, files that run later, the network, and what it deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.braces import braced
from skillkeep.auditor.engines.tables import secrets, subject_of
from skillkeep.auditor.engines.tree_site import TreeSite
from skillkeep.auditor.engines.values import HOLE, NOTHING, UNKNOWN, Value

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Reach"]

_SYSTEM: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_WRITE_MODE: Final = compiled(r"[wa][b+t]{0,2}")


class Reach:
    """Judges one call at a time."""

    def __init__(self, site: TreeSite, table: dict[str, Any]) -> None:
        self._site = site
        self._reading: dict[str, list[str]] = table["reading"]
        self._naming = frozenset(table["naming"])
        self._writing: dict[str, list[str]] = table["writing"]
        self._deleting: dict[str, list[str]] = table["deleting"]
        self._network = frozenset(table["network"])
        self._wiped = compiled(table["wiped"])

    def judge(self, node: Node, owner: str, name: str, given: list[Value]) -> frozenset[str]:
        """Judge ``owner.name(given)``; the labels of what it answers."""
        labels = self._files(node, owner, name, given)
        if owner in self._network or (name == "open" and any("://" in value.text for value in given)):
            labels |= self._connect(node, owner or "open", name, given)
        if name in self._deleting.get(owner, ()):
            for value in given:
                if any(self._wiped.match(part.text) for part in value.parts()):
                    self._site.report("shell-destructive", node, f"{owner}.{name} deletes what is not the tool's")
        return labels

    def written(self, node: Node, file: Value, labels: frozenset[str], address: str = "") -> None:
        """`file` is written with data that has `labels`."""
        self._site.fill(file, None, labels, address)
        if (meaning := secrets().persistence(file.text)) is not None:
            message = f"writes {meaning.what}: {file.text.replace(HOLE, '…')[:120]}"
            self._site.report("code-persistence", node, message, severity=meaning.severity)
        if file.text.startswith(("/", "~")) and not file.text.startswith(_SYSTEM):
            self._site.capability("write", file.text.replace(HOLE, "*")[:200], node)

    def is_written(self, owner: str, name: str, given: list[Value]) -> bool:
        """``File.open(path, "w")``."""
        opens = name in {"open", "new"} and owner in {"File", "Pathname", "IO"}
        return opens and len(given) > 1 and bool(_WRITE_MODE.fullmatch(given[1].text))

    def _files(self, node: Node, owner: str, name: str, given: list[Value]) -> frozenset[str]:
        labels = NOTHING
        if name in self._writing.get(owner, ()) and given:
            target = given[-1] if owner == "FileUtils" and len(given) > 1 else given[0]
            content = NOTHING.union(*(value.labels for value in given))
            if owner == "FileUtils":
                content |= self._site.origin(given[0], None)[0]
            self.written(node, target, content, self._site.addresses[-1] if self._site.addresses else "")
        elif self.is_written(owner, name, given):
            self.written(node, given[0], NOTHING)
        reads = name in self._reading.get(owner, ())
        for value in given:
            for part in value.parts():
                labels |= self._path(node, owner, name, part, reads=reads)
        return labels

    def _path(self, node: Node, owner: str, name: str, value: Value, *, reads: bool) -> frozenset[str]:
        text = value.text
        plain = text.strip(HOLE) and " " not in text.strip()
        what = next(filter(None, map(secrets().path, braced(text))), None) if plain else None
        if what is None:
            return self._site.origin(value, None)[0] if reads else NOTHING
        shown = text.replace(HOLE, "…")[:120]
        if reads or owner in self._network:
            message = f"{owner or name} reaches for {what}: {shown}"
            self._site.report(
                "code-credential-file", node, message, subject=subject_of(what), severity=secrets().reading(what)
            )
            return frozenset({f"secret:{what}"})
        if name in self._naming:
            self._site.report("code-credential-mention", node, f"{name} names the place of {what}: {shown}")
        return NOTHING

    def _connect(self, node: Node, owner: str, name: str, given: list[Value]) -> frozenset[str]:
        address = next((value for value in given if "://" in value.text), given[0] if given else UNKNOWN)
        self._site.connects(address, node, owner)
        self._site.sent(NOTHING.union(*(value.labels for value in given)), node, f"{owner}.{name}")
        return frozenset({"download"})

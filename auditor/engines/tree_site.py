"""Where the judges of one segment stand that was parsed into a syntax tree: what is known, and the way to report."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Segment
from skillkeep.auditor.engines.network import host_of, is_hidden
from skillkeep.auditor.engines.values import HOLE, NOTHING, Value
from skillkeep.auditor.interface import Location, Severity

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["TreeSite"]

_LONGEST_EXCERPT = 300
_QUOTES = compiled(r"[\"'`]")
_ORIGINS = frozenset({"download", "decoded"})


@dataclass(eq=False)
class TreeSite:
    """One parsed segment. Offsets of nodes are characters of `text`, in which `added` were put in (sorted).

    `files` are those that the code fills from elsewhere: labels and address by name.
    """

    segment: Segment
    emit: Emitter
    text: str
    added: list[int] = field(default_factory=list)
    variables: dict[str, Value] = field(default_factory=dict)
    files: dict[str, tuple[frozenset[str], str]] = field(default_factory=dict)
    addresses: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    reported: set[tuple[str, int, str]] = field(default_factory=set)
    steps: int = 0

    def source(self, node: Node) -> str:
        """The text of a node."""
        return self.text[node.start_byte : node.end_byte]

    def at(self, node: Node) -> Location:
        """The place of a node in the file."""
        start, end = (offset - bisect_left(self.added, offset) for offset in (node.start_byte, node.end_byte))
        return self.segment.locate(start, end)

    def report(
        self, rule: str, node: Node, message: str, *, subject: str = "", severity: Severity | None = None
    ) -> None:
        """Report `rule` at a node, once."""
        if (key := (rule, node.start_byte, subject)) in self.reported:
            return
        self.reported.add(key)
        excerpt = self.source(node)[:_LONGEST_EXCERPT]
        self.emit.finding(
            rule, self.at(node), excerpt, message, segment=self.segment, subject=subject, severity=severity
        )

    def capability(self, kind: str, value: str, node: Node) -> None:
        """The code wants `value`."""
        self.emit.capability(kind, value, self.at(node))

    def derive(self, text: str, context: Context | None, node: Node, via: str) -> None:
        """Have `text` audited as what it is; unknown parts become a name that says so."""
        marked = context is Context.POWERSHELL
        unknown = "$NOT_KNOWN" if marked else "${NOT_KNOWN}" if context is Context.SHELL else "NOT_KNOWN"
        self.emit.derive(text.replace(HOLE, unknown), context, self.at(node), via, self.segment)

    def connects(self, address: Value, node: Node, what: str) -> None:
        """Report the host of `address`, once each."""
        host = host_of(address.text, HOLE)
        self.addresses.append(address.text)
        self.capability("network", host.name, node)
        if "decoded" in address.labels and is_hidden(host, self.segment.text):
            self.report("code-hidden-address", node, f"{what} connects to {host.name}, which a decoder makes")
        if host.name in self.hosts:
            return
        self.hosts.add(host.name)
        if host.local:
            self.report("code-network", node, f"{what} connects to this machine", severity=Severity.INFO)
        elif host.bare:
            self.report("code-network-address", node, f"{what} connects to the bare address {host.name}")
        else:
            where = "an address made at run time" if host.name == "*" else host.name
            self.report("code-network", node, f"{what} connects to {where}", subject=host.name)

    def sent(self, labels: frozenset[str], node: Node, what: str) -> None:
        """Report the secrets among `labels` that flow into `what`."""
        for label in sorted(labels):
            if label.startswith("secret:"):
                name = label.partition(":")[2]
                subject = name if name.isidentifier() else ""
                self.report("code-credential-sent", node, f"{name} flows into {what}", subject=subject)
        if "environment" in labels:
            self.report("code-environment-sent", node, f"the environment flows into {what}")

    def fill(self, file: Value, node: Node | None, labels: frozenset[str], address: str = "") -> None:
        """`file` now holds something from elsewhere."""
        if origin := labels & _ORIGINS:
            self.files[self.file_name(file, node)] = (origin, address)

    def origin(self, file: Value, node: Node | None) -> tuple[frozenset[str], str]:
        """Labels of a file's content and the address it came from."""
        return self.files.get(self.file_name(file, node), (NOTHING, "")) if self.files else (NOTHING, "")

    def file_name(self, file: Value, node: Node | None) -> str:
        """What a file is called: its path, or the words that name it when the path is not known."""
        text = file.text if file.known or node is None else self.source(node)
        return _QUOTES.sub("", text).strip()

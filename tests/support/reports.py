"""Reports with what a hostile tool would put into them, and a reader of HTML that notices what it should not hold."""

from __future__ import annotations

from html.parser import HTMLParser

from skillkeep.auditor.interface import (
    Capability,
    Confidence,
    EngineRun,
    Finding,
    LedgerEntry,
    Location,
    Report,
    Severity,
    Suppression,
    Verdict,
    fingerprint_of,
)
from skillkeep.auditor.report.interface import Audited

EVIL = (
    "</code></pre><script>alert(1)</script><img src=x onerror=alert(1)> \x1b[31m\u202egnp.exe ``` | @team "
    "[x](javascript:alert(1)) https://evil.example.invalid\r\n::error::owned\n::set-output name=a::b %0A \udcff"
)


def finding(
    rule: str = "code-network",
    path: str = "a.py",
    line: int = 1,
    excerpt: str = "x",
    severity: Severity = Severity.WARN,
    suppression: Suppression | None = None,
) -> Finding:
    """A finding at the first columns of a line."""
    place = Location(path, line, 1 if line else 0, line, len(excerpt) + 1 if line else 0)
    return Finding(
        rule, "Connects to the network", severity, Confidence.HIGH, "egress", place, excerpt, "connects", "patterns",
        (), fingerprint_of(rule, path, excerpt), suppression,
    )  # fmt: skip


def report(*findings: Finding, verdict: Verdict = Verdict.WARN, notes: tuple[str, ...] = ()) -> Report:
    """A small whole report."""
    return Report(
        "sha256:" + "a" * 64, verdict, findings, (), (LedgerEntry("a.py", "audit", "read"),), "sha256:" + "b" * 64,
        (EngineRun("patterns", "ran", 1, 0.1, "1"),), 0.1, 1, notes,
    )  # fmt: skip


def hostile() -> Audited:
    """Every field that a tool, or a worker it took over, can fill holds `EVIL`."""
    place = Location(EVIL, 2, 1, 2, 9)
    whole = Finding(
        EVIL, EVIL, Severity.FAIL, Confidence.LOW, EVIL, place, EVIL, EVIL, EVIL, (EVIL,), EVIL,
        Suppression(EVIL, EVIL, EVIL),
    )  # fmt: skip
    data = Report(
        "sha256:" + "a" * 64, Verdict.FAIL, (whole, finding(path=EVIL, excerpt=EVIL)),
        (Capability(EVIL, EVIL, place), Capability("network", EVIL, place, declared=True)),
        (LedgerEntry(EVIL, EVIL, "failed", EVIL), LedgerEntry(EVIL, EVIL, EVIL, EVIL)), EVIL,
        (EngineRun(EVIL, "failed", 1, 0.1, EVIL, EVIL),), 0.1, 1, (EVIL,),
    )  # fmt: skip
    return Audited(EVIL, data, lambda _path: [EVIL, EVIL * 30, "end"], EVIL)


class Page(HTMLParser):
    """What a page holds: its tags, the attributes that could load or run something, its ids and inner links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[str]:
        """The values of every attribute of this name."""
        return [value for _, known, value in self.attributes if known == name]

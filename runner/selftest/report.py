"""The rows of a selftest as text: a matrix of attacks by sandbox, then every door that is open or cannot be tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skillkeep.cli.output import columns
from skillkeep.runner.selftest.row import Row, Verdict
from skillkeep.text import escape

__all__ = ["matrix", "summary"]

_SIGNS = {Verdict.CLOSED: "closed", Verdict.OPEN: "OPEN", Verdict.INTENDED: "intended", Verdict.UNTESTED: "-"}

_HEADS = {
    Verdict.OPEN: "OPEN, and should not be:",
    Verdict.INTENDED: "open on purpose, and why that harms nobody (intended):",
    Verdict.UNTESTED: "not testable here (-):",
}


def matrix(rows: Sequence[Row], *, everything: bool) -> str:
    """A line for each area, a column for each sandbox; below it the attacks that are not closed, or `everything`."""
    backends = list(dict.fromkeys(row.backend for row in rows))
    table: list[tuple[str, ...]] = []
    for area in dict.fromkeys(row.area for row in rows):
        mine = [row for row in rows if row.area == area]
        table.append((area, *(_count([row for row in mine if row.backend == name]) for name in backends)))
        for attack in dict.fromkeys(row.attack for row in mine):
            found = {row.backend: row for row in mine if row.attack == attack}
            if everything or any(row.verdict is not Verdict.CLOSED for row in found.values()):
                cells = (_SIGNS[found[name].verdict] if name in found else "" for name in backends)
                table.append((f"  {attack}", *cells))
    return "\n".join([columns(table, ("attack", *backends)), *_reasons(rows)])


def summary(rows: Sequence[Row]) -> str:
    """How many attacks ended how, for each sandbox."""
    backends = dict.fromkeys(row.backend for row in rows)
    return "\n".join(f"{name}: {_count([row for row in rows if row.backend == name])}" for name in backends)


def _count(rows: Sequence[Row]) -> str:
    counts = Counter(row.verdict for row in rows)
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]) or "none"


def _reasons(rows: Sequence[Row]) -> list[str]:
    """What is open first, then what is meant to be, each with what was seen or why."""
    lines = []
    for verdict in (Verdict.OPEN, Verdict.INTENDED, Verdict.UNTESTED):
        chosen = [row for row in rows if row.verdict is verdict]
        texts: dict[str, list[str]] = {}
        for row in chosen:
            why = row.title + ": " + row.seen if verdict is Verdict.OPEN else row.reason or row.seen
            texts.setdefault(f"{why} [{row.backend}]", []).append(row.attack)
        if texts:
            lines += ["", _HEADS[verdict]]
            lines += [escape(f"  {', '.join(names)}: {why}") for why, names in texts.items()]
    return lines

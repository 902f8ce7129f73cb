"""The rows of a selftest as text: a matrix of attacks by sandbox, then every door that is open or cannot be tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skillkeep.runner.selftest.row import Row, Verdict
from skillkeep.text import escape

__all__ = ["matrix", "summary"]

_SIGNS = {Verdict.CLOSED: "closed", Verdict.OPEN: "OPEN", Verdict.INTENDED: "intended", Verdict.UNTESTED: "-"}


def matrix(rows: Sequence[Row], *, everything: bool) -> str:
    """One line for each attack, one column for each sandbox; without `everything` only areas and what is not closed."""
    backends = list(dict.fromkeys(row.backend for row in rows))
    by_attack: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_attack.setdefault(row.attack, {})[row.backend] = row
    wide = max((len(name) for name in by_attack), default=0)
    head = f"{'attack':<{wide}}  " + "  ".join(f"{name:<8}" for name in backends)
    lines = [head.rstrip()]
    for area in dict.fromkeys(row.area for row in rows):
        mine = {name: found for name, found in by_attack.items() if next(iter(found.values())).area == area}
        counts = [_count([found[name] for found in mine.values() if name in found]) for name in backends]
        lines.append(f"{area}: " + "; ".join(f"{name} {count}" for name, count in zip(backends, counts, strict=True)))
        for name, found in mine.items():
            if everything or any(row.verdict is not Verdict.CLOSED for row in found.values()):
                cells = [_SIGNS[found[each].verdict] if each in found else "" for each in backends]
                lines.append((f"{name:<{wide}}  " + "  ".join(f"{cell:<8}" for cell in cells)).rstrip())
    return "\n".join(lines + _reasons(rows))


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
            texts.setdefault(f"{row.backend}: {why}", []).append(row.attack)
        if texts:
            lines += ["", f"{verdict.value}:"]
            lines += [escape(f"  {', '.join(names)} ({why})") for why, names in texts.items()]
    return lines

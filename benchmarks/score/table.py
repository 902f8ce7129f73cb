"""Counts, and the intervals they are worth: rates per slice with Wilson's 95 % interval, times, misses, false alarms.

Wilson (1927): the interval stays inside 0..1 and is right for small counts, where the usual one is not.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from score.measure import Measured

__all__ = ["AGGREGATES", "Rate", "as_json", "lists", "rate", "table"]

_Z = 1.959964
_SHOWN = 4


@dataclass(frozen=True)
class Rate:
    """`hits` of `total`, as a share with its 95 % interval."""

    hits: int
    total: int

    @property
    def share(self) -> float:
        """0..1."""
        return self.hits / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds, 0..1."""
        if not self.total:
            return 0.0, 1.0
        n, p = self.total, self.share
        scale = 1 + _Z * _Z / n
        middle = p + _Z * _Z / (2 * n)
        half = _Z * math.sqrt(p * (1 - p) / n + _Z * _Z / (4 * n * n))
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.hits:4d} of {self.total:4d}  {self.share:6.1%}  [{low:4.0%}, {high:4.0%}]"


def _in(*slices: str) -> Callable[[Measured], bool]:
    return lambda each: each.sample.slice in slices


AGGREGATES: tuple[tuple[str, Callable[[Measured], bool]], ...] = (
    ("malicious, without sfbench", lambda m: m.sample.label == "malicious" and m.sample.slice != "mal-sfbench"),
    ("vendors' malicious fixtures", _in("mal-vendor", "mal-agentverus", "mal-showcase")),
    ("false alarms, vendor skills", _in("ben-official")),
    ("false alarms, hub skills", _in("ben-clawhub", "ben-github")),
    ("false alarms, whole collections", lambda m: m.sample.slice.startswith("whole-")),
)


def rate(measured: Iterable[Measured]) -> Rate:
    """How many of them are blocked."""
    each = list(measured)
    return Rate(sum(item.verdict == "FAIL" for item in each), len(each))


def table(measured: Sequence[Measured]) -> str:
    """One line a slice, then the aggregates."""
    lines = [f"{'slice':32} {'blocked (FAIL)':42} {'WARN':>5} {'PASS':>5} {'median':>9} {'p90':>9} {'MB/s':>6}"]
    slices = sorted({item.sample.slice for item in measured})
    lines += [_line(name, [item for item in measured if item.sample.slice == name]) for name in slices]
    lines.append("")
    for name, wanted in AGGREGATES:
        if some := [item for item in measured if wanted(item)]:
            lines.append(_line(name, some))
    return "\n".join(lines)


def _line(name: str, some: Sequence[Measured]) -> str:
    warned, passed = (sum(item.verdict == verdict for item in some) for verdict in ("WARN", "PASS"))
    median, high, speed = _times(some)
    return f"{name:32} {rate(some)!s:42} {warned:5d} {passed:5d} {median:6.1f} ms {high:6.1f} ms {speed:6.1f}"


def _times(some: Sequence[Measured]) -> tuple[float, float, float]:
    """Median and 90th percentile in milliseconds, and megabytes a second over all."""
    times = sorted(item.seconds for item in some)
    total = sum(times)
    high = times[min(len(times) - 1, math.ceil(len(times) * 0.9) - 1)]
    return statistics.median(times) * 1e3, high * 1e3, sum(item.size for item in some) / 1e6 / total if total else 0.0


def lists(measured: Sequence[Measured]) -> str:
    """Every miss with what was noticed, every false alarm with what caused it."""
    lines = []
    for title, label, bad in (("Missed", "malicious", False), ("False alarms", "benign", True)):
        some = [m for m in measured if m.sample.label == label and (m.verdict == "FAIL") is bad]
        lines.append(f"\n{title}: {len(some)}")
        for item in some:
            lines.append(f"  {item.sample.id} {item.verdict}")
            lines += [f"      {reason}" for reason in (item.blocking if bad else item.noted)[:_SHOWN]]
    return "\n".join(lines)


def as_json(measured: Sequence[Measured], ruleset: str) -> dict[str, Any]:
    """The same as data."""
    slices = {name: [m for m in measured if m.sample.slice == name] for name in {m.sample.slice for m in measured}}
    groups = {**slices, **{name: [m for m in measured if wanted(m)] for name, wanted in AGGREGATES}}
    return {
        "ok": True,
        "schema": "skillkeep/score-v1",
        "ruleset": ruleset,
        "rates": {name: {"blocked": rate(some).hits, "total": len(some), "interval": rate(some).interval}
                  for name, some in sorted(groups.items()) if some},
        "samples": [{"id": m.sample.id, "label": m.sample.label, "verdict": m.verdict, "seconds": round(m.seconds, 4),
                     "bytes": m.size, "found": m.found} for m in measured],
    }  # fmt: skip

"""Our own labelled samples: written for this repository, defanged, one JSON object a line below `samples/`.

`tune-*.jsonl` may be read while detection is worked on. `held-*.jsonl` may not: nothing here ever tells which of them
was missed, only how many. Families are those of the threat taxonomy, see `samples/README.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from score.measure import Measured
from score.samples import Sample
from score.table import Rate, lists, rate

__all__ = ["FOLDER", "OwnSample", "own_json", "own_lists", "own_table", "read_own", "stage_own"]

FOLDER = Path(__file__).resolve().parents[1] / "samples"

_NAME = re.compile(r"\A---\n(?:.*\n)*?name: ([a-z0-9-]+)\n")


@dataclass(frozen=True)
class OwnSample:
    """One line of a samples file. `part` is the file's stem; `twin` names a sample that differs in one fact."""

    id: str
    part: str
    family: str
    kind: str
    label: str
    twin: str | None
    why: str
    files: dict[str, str]

    @property
    def held(self) -> bool:
        """Whether nobody may learn how this one was judged."""
        return self.part.startswith("held-")

    @property
    def staged(self) -> Sample:
        """Where it lies when staged: a skill in a folder of its own name, as agents demand it."""
        named = _NAME.match(self.files.get("SKILL.md", ""))
        return Sample(f"{self.id}/{named[1] if named else 'tool'}", self.part, self.label)


def read_own(folder: Path = FOLDER) -> list[OwnSample]:
    """Every sample of every part, in file order."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        found += [OwnSample(part=path.stem, **row) for row in rows]
    return found


def stage_own(samples: Iterable[OwnSample], into: Path) -> list[Sample]:
    """Write each sample below ``into/<id>/<name>/``, nothing executable. ValueError for a path that leaves."""
    made = []
    for own in samples:
        for name, text in own.files.items():
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(f"{own.id}: {name}")
            place = into / own.staged.id / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="")
        made.append(own.staged)
    return made


def own_table(samples: Sequence[OwnSample], measured: Sequence[Measured]) -> str:
    """Recall and false alarms: tune and held as a whole, then by part, by kind and by the taxonomy's letter."""
    lines = [f"{'group':32} {'recall (malicious, FAIL)':34} {'false alarms (benign, FAIL)':34} {'benign WARN':>11}"]
    for title, some in _groups(samples, measured).items():
        malicious, benign = _split(some)
        warned = sum(each.verdict == "WARN" for each in benign)
        lines.append(f"{title:32} {_shown(rate(malicious))} {_shown(rate(benign))} {warned:11d}")
    return "\n".join(lines)


def own_lists(samples: Sequence[OwnSample], measured: Sequence[Measured]) -> str:
    """Misses and false alarms of the tune half, by id. The held half is never listed."""
    return lists([answer for own, answer in zip(samples, measured, strict=True) if not own.held])


def own_json(samples: Sequence[OwnSample], measured: Sequence[Measured], ruleset: str) -> dict[str, Any]:
    """The table as data."""
    return {
        "ok": True,
        "schema": "skillkeep/score-own-v1",
        "ruleset": ruleset,
        "rates": {title: {"recall": _numbers(_split(some)[0]), "false_alarms": _numbers(_split(some)[1])}
                  for title, some in _groups(samples, measured).items()},
    }  # fmt: skip


def _groups(samples: Sequence[OwnSample], measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    pairs = list(zip(samples, measured, strict=True))
    halves = {"tune": [pair for pair in pairs if not pair[0].held], "held": [pair for pair in pairs if pair[0].held]}
    by: tuple[Callable[[OwnSample], str], ...] = (lambda own: own.kind, lambda own: f"family {own.family[0]}")
    groups = {half: [answer for _, answer in some] for half, some in halves.items() if some}
    for own, answer in pairs:
        groups.setdefault(own.part, []).append(answer)
    for name in by:
        for half, some in halves.items():
            for title in sorted({name(own) for own, _ in some}):
                groups[f"{half}, {title}"] = [answer for own, answer in some if name(own) == title]
    return groups


def _split(some: Iterable[Measured]) -> tuple[list[Measured], list[Measured]]:
    each = list(some)
    return [m for m in each if m.sample.label == "malicious"], [m for m in each if m.sample.label == "benign"]


def _shown(value: Rate) -> str:
    return f"{value!s:34}" if value.total else f"{'-':34}"


def _numbers(some: list[Measured]) -> dict[str, Any]:
    value = rate(some)
    return {"blocked": value.hits, "total": value.total, "interval": value.interval}

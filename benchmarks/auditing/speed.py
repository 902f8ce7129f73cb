"""MB/s of the engines in this process, beside `ast.parse` and hashing of the same files, and bandit's cost apart."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkeep.auditor.interface import AuditOptions
from skillkeep.auditor.worker import read_tree

__all__ = ["Speed", "Warm", "audit", "cpu", "measure_kind", "measure_skills"]

_ALL_TIME = 36_000.0


@dataclass(frozen=True)
class Speed:
    """One kind of files. Speeds in MB a CPU second; `against_parse` and `against_hashing` are ratios of speeds."""

    kind: str
    files: int
    megabytes: float
    speed: float
    against_parse: float | None
    against_hashing: float
    bandit_seconds: float | None
    engines: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Warm:
    """Skill after skill in one warm process, CPU milliseconds."""

    skills: int
    median: float
    ninetieth: float
    most: float


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of `work` in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def audit(root: Path, *, bandit: bool = False) -> list[tuple[str, float]]:
    """Audit a tree in this process; seconds by engine, the slowest first."""
    options = AuditOptions(bandit=bandit, semgrep=False, total_seconds=_ALL_TIME, file_seconds=_ALL_TIME)
    with contextlib.redirect_stderr(io.StringIO()):
        answer = read_tree(root, options)
    return sorted(((run["name"], run["seconds"]) for run in answer["engines"]), key=lambda pair: -pair[1])


def measure_kind(kind: str, root: Path) -> Speed:
    """The faster of two audits of all files of one kind, beside its peers."""
    files = [path for path in root.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    engines: list[tuple[str, float]] = []
    seconds = min(cpu(lambda: engines.__setitem__(slice(None), audit(root))) for _ in range(2))
    parsing = min(cpu(lambda: _parse(files)) for _ in range(2)) if kind == "Python" else None
    hashing = min(cpu(lambda: [hashlib.sha256(path.read_bytes()).digest() for path in files]) for _ in range(2))
    with_bandit = cpu(lambda: audit(root, bandit=True)) - seconds if kind == "Python" else None
    against = None if parsing is None else parsing / seconds
    return Speed(kind, len(files), size, size / seconds, against, hashing / seconds, with_bandit, tuple(engines[:4]))


def _parse(files: Sequence[Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in files:
            with contextlib.suppress(SyntaxError, ValueError):
                ast.parse(path.read_bytes())


def measure_skills(skills: Sequence[Path]) -> Warm:
    """Each skill once, after one that loads everything."""
    audit(skills[0])
    taken = sorted(cpu(lambda skill=skill: audit(skill)) * 1e3 for skill in skills)
    return Warm(len(taken), statistics.median(taken), taken[len(taken) * 9 // 10], taken[-1])

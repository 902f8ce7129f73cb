"""Audits staged samples, two processes at a time, and says for each what the auditor answered and how long it took."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from score.samples import Sample
from skillkeep.auditor import AuditOptions, audit_tree
from skillkeep.errors import SkillkeepError

__all__ = ["Measured", "measure"]

PROCESSES = 2


@dataclass(frozen=True)
class Measured:
    """One sample's answer. `found` lists ``severity file:line rule``; `verdict` is ERROR when no report came back."""

    sample: Sample
    verdict: str
    found: tuple[str, ...]
    seconds: float
    size: int

    @property
    def blocking(self) -> tuple[str, ...]:
        """What made the verdict FAIL, as ``file:line rule``."""
        return tuple(item[5:] for item in self.found if item.startswith("fail "))

    @property
    def noted(self) -> tuple[str, ...]:
        """The warnings, as ``file:line rule``."""
        return tuple(item[5:] for item in self.found if item.startswith("warn "))


def measure(samples: Sequence[Sample], root: Path, *, programs: bool = False) -> list[Measured]:
    """Audit every sample below `root`, in the order given.

    Without `programs` (semgrep, bandit) warm confined processes read one tree after the other, as a service would;
    a tree that kills its process, and every tree with `programs`, goes through `audit_tree` by itself.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(samples)):
        waiting.put(number)
    answers: dict[int, Measured] = {}
    audit: Callable[[], Callable[[Sample], Measured]] = (lambda: _Cold(root)) if programs else (lambda: _Warm(root))

    def work() -> None:
        one = audit()
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            answers[number] = one(samples[number])

    threads = [threading.Thread(target=work) for _ in range(PROCESSES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answers[number] for number in range(len(samples))]


class _Cold:
    """The public entry, one confined process a sample."""

    def __init__(self, root: Path, options: AuditOptions = AuditOptions()) -> None:  # noqa: B008 -- frozen
        self._root = root
        self._options = options

    def __call__(self, sample: Sample) -> Measured:
        tree = self._root / sample.id
        try:
            report = audit_tree(tree, self._options)
        except SkillkeepError as error:
            return Measured(sample, "ERROR", (f"fail :0 {error.code}",), 0.0, _size(tree))
        found = tuple(f"{f.severity} {f.location.path}:{f.location.line} {f.rule}" for f in report.findings)
        return Measured(sample, str(report.verdict), found, report.seconds, _size(tree))


class _Warm:
    """One warm process, started again when a tree has killed it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._child: subprocess.Popen[str] | None = None

    def __call__(self, sample: Sample) -> Measured:
        child = self._child = self._child or _start(self._root)
        assert child.stdin
        assert child.stdout
        try:
            child.stdin.write(sample.id + "\n")
            child.stdin.flush()
            answer = json.loads(child.stdout.readline() or "null")
        except (BrokenPipeError, ValueError):
            answer = None
        if answer is None:
            child.kill()
            child.wait()
            self._child = None
            return _Cold(self._root, AuditOptions(semgrep=False, bandit=False))(sample)
        found = tuple(answer["found"])
        return Measured(sample, answer["verdict"], found, answer["seconds"], _size(self._root / sample.id))


def _start(root: Path) -> subprocess.Popen[str]:
    """Its first answer, about our own empty tree, warms it up."""
    program = os.fspath(Path(__file__).with_name("warm.py"))
    return subprocess.Popen(
        [sys.executable, "-I", "-B", "-X", "utf8", program, os.fspath(root)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
    )  # fmt: skip


def _size(tree: Path) -> int:
    return sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())

"""What an audit of unchanged content costs against hashing that content: the ratio, both measured in this run.

`python benchmarks/audit_cache.py [FOLDER]`: without a folder, a made tree. Rounds alternate, medians are printed, and
the exit code is 1 when the cached audit takes more than twice the hashing of the larger tree.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from skillkeep.auditor.cache import ReportCache
from skillkeep.auditor.interface import AuditOptions
from skillkeep.manifest import Manifest
from skillkeep.tree import TreeView

OPTIONS = AuditOptions(semgrep=False, bandit=False)
ROUNDS = 31
MOST = 2.0


def made(folder: Path, files: int, size: int) -> Path:
    """A tree of Markdown and Python files of about `size` bytes each."""
    for number in range(files):
        path = folder / f"part{number % 7}" / f"file{number}.{'md' if number % 2 else 'py'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        line = f"print({number})\n" if path.suffix == ".py" else f"Step {number}: read the page and sum it up.\n"
        path.write_text(line * (size // len(line) + 1), encoding="utf-8")
    return folder


def hashed(root: Path) -> str:
    """The digest as everything in Skillkeep computes it."""
    with TreeView.open(root) as view:
        return Manifest.of_tree(view).digest


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one call in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(name: str, root: Path, folder: Path) -> float:
    """Print one row; returns the ratio."""
    cache = ReportCache(folder)
    start = time.perf_counter()
    cache.audit(root, OPTIONS)
    full = time.perf_counter() - start
    if not folder.is_dir():
        raise SystemExit(f"{name}: the audit was incomplete, so nothing was kept")
    cache.audit(root, OPTIONS)
    pairs = [(seconds(lambda: hashed(root)), seconds(lambda: cache.audit(root, OPTIONS))) for _ in range(ROUNDS)]
    hashing, cached = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = cached / hashing
    times = f"hash {hashing * 1e3:8.2f} ms  cached {cached * 1e3:8.2f} ms"
    print(f"{name:<26} audit {full * 1e3:9.1f} ms  {times}  {ratio:.2f}x")
    return ratio


def main() -> int:
    """Measure the given folder, or a small and a larger made tree."""
    with tempfile.TemporaryDirectory() as scratch:
        space = Path(scratch)
        if len(sys.argv) > 1:
            ratios = [measure(sys.argv[1], Path(sys.argv[1]), space / "cache")]
        else:
            small, large = made(space / "small", 10, 4_000), made(space / "large", 200, 20_000)
            ratios = [
                measure("10 files, 40 kB", small, space / "cache-small"),
                measure("200 files, 4 MB", large, space / "cache-large"),
            ]
    return 0 if ratios[-1] <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())

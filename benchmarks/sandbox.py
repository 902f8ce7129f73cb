"""The native sandbox from the API, against bubblewrap with all namespaces and against a plain process.

Wall clock, medians, taken in turns so that all see the same machine. Report only: the bar (at most 1.0x bwrap)
belongs to the fork server, which does not exist yet; now each run starts an interpreter of its own.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from skillkeep.runner.interface import RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend

ROUNDS = 25
SPARSE_SECONDS = 0.15
"""Between rounds: a tight loop hides the price of moving processes between control groups."""
LIMIT = 0.3
BWRAP = [
    "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
    "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
    "--tmpfs", "/tmp",
]  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain(argv: list[str]) -> Callable[[], object]:
    """A plain child process."""
    return lambda: subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def sandboxed(backend: NativeBackend, argv: list[str]) -> Callable[[], object]:
    """One run from the API."""
    return lambda: backend.run(RunRequest(tuple(argv)))


def main() -> int:
    """Measure and print a row for each way."""
    backend = NativeBackend()
    state = backend.probe()
    if not state.available:
        print(f"no native sandbox here: {state.reason}; {state.mend}")
        return 0
    ways = {"plain /bin/true": plain(["/bin/true"]), "plain python3 -c pass": plain([sys.executable, "-c", "pass"])}
    if shutil.which("bwrap"):
        ways["bwrap /bin/true"] = plain([*BWRAP, "/bin/true"])
        ways["bwrap python3 -c pass"] = plain([*BWRAP, "python3", "-c", "pass"])
    ways["native /bin/true"] = sandboxed(backend, ["/bin/true"])
    ways["native python3 -c pass"] = sandboxed(backend, ["python3", "-c", "pass"])
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, work in ways.items():
            taken[name].append(seconds(work))
        time.sleep(SPARSE_SECONDS)
    base = statistics.median(taken.get("bwrap /bin/true", taken["plain /bin/true"]))
    unit = "bwrap /bin/true" if "bwrap /bin/true" in taken else "plain /bin/true"
    print(f"assurance {state.level.name.lower()}, uid {os.geteuid()}, {ROUNDS} rounds, unit: {unit}")
    for name, values in taken.items():
        median = statistics.median(values)
        print(f"{name:<24} {median / base:6.2f}x  {median * 1000:7.2f} ms")
    late = backend.run(RunRequest(("sleep", "9"), SandboxPolicy(wall_seconds=LIMIT)))
    print(f"a run over its time limit ended {1000 * (late.wall_seconds - LIMIT):.1f} ms after it")
    return 0


if __name__ == "__main__":
    sys.exit(main())

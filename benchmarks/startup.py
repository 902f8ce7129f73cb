"""Start-up of the command lines, in CPU time, as a ratio to a bare interpreter measured in between.

Bars: `--version` at most 2x, `--help` and a whole `skill run` at most 15x. Exit 1 when one is missed.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

BIN = Path(sys.executable).parent
ROUNDS = 15
TOOL = Path(__file__).parents[1] / "demo" / "skills" / "word-count"
BARS = (
    ("skill --version", 2.0),
    ("vault --version", 2.0),
    ("skill --help", 15.0),
    ("skill vault list --help", 15.0),
    ("skill run word-count -- true", 15.0),
    ("skill run --quiet word-count -- true", 15.0),
)
"""The last two are one run, with and without an option of ours, which has the command line parsed."""


def cpu_seconds(argv: Sequence[str], env: dict[str, str]) -> float:
    """CPU seconds, user and system, of one run of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(argv: Sequence[str], env: dict[str, str]) -> tuple[float, float]:
    """Medians of the command and of a bare interpreter, taken in turns so that both see the same machine."""
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(cpu_seconds([sys.executable, "-c", "pass"], env))
        ours.append(cpu_seconds(argv, env))
    return statistics.median(ours), statistics.median(bare)


def main() -> int:
    """Measure and print a row for each command."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "SKILLKEEP_HOME": str(Path(folder) / "home"), "COLUMNS": "100"}
        cpu_seconds([str(BIN / "skill"), "ingest", str(TOOL), "--confirm", "--quiet"], env)
        for command, bar in BARS:
            program, *rest = command.split()
            argv = [str(BIN / program), *rest]
            cpu_seconds(argv, env)
            ours, bare = ratio(argv, env)
            kept = ours / bare <= bar
            missed += not kept
            verdict = "kept" if kept else "MISSED"
            print(f"{command:<36} {ours / bare:5.2f}x bare  bar {bar:g}x {verdict}  {ours * 1000:.0f} ms")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

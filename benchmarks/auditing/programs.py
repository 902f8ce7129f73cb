"""What whole programs cost: ours from a cold start, the bare interpreter, other scanners; and our peak of memory."""

from __future__ import annotations

import importlib.util
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PEERS", "Cost", "cold", "compare", "install_peers", "peak_megabytes"]

BIN = Path(sys.executable).parent
ROUNDS = 7
OURS = ("scan", "--no-semgrep", "--no-bandit", "--no-cache", "--quiet")
# Name of the program -> package to install, arguments before and after the folder to scan; none asks a model.
PEERS: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "skill-scanner": ("cisco-ai-skill-scanner", ("scan",), ("--format", "json")),
    "skillfortify": ("skillfortify", ("scan",), ("--format", "json")),
}
_PEAK = (
    "import sys; from pathlib import Path; from skillkeep.auditor.interface import AuditOptions; "
    "from skillkeep.auditor.worker import read_tree; "
    "answer = read_tree(Path(sys.argv[1]), AuditOptions(bandit=False, semgrep=False, total_seconds=36000.0)); "
    "state = Path('/proc/self/status').read_text(); "  # getrusage would tell the caller's peak, if that is higher
    "print(state.partition('VmHWM:')[2].split()[0], answer['files'])"
)


@dataclass(frozen=True)
class Cost:
    """CPU seconds of one run of a program and its children, and its exit code."""

    seconds: float
    status: int


def cost(argv: Sequence[str], home: Path) -> Cost:
    """Run it once, its output thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, "SKILLKEEP_HOME": os.fspath(home), "HOME": os.fspath(home)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode)


def cold(skill: Path, home: Path) -> tuple[float, float]:
    """Medians of CPU seconds: our command on `skill`, and the bare interpreter, measured in turns.

    Bytecode is made first, as every installer does: a confined worker writes none.
    """
    package = importlib.util.find_spec("skillkeep.auditor")
    for folder in package.submodule_search_locations or () if package else ():
        subprocess.run(
            [sys.executable, "-m", "compileall", "-q", os.path.dirname(folder), "-x", r"/(?:\.|build|tests|demo)"],
            check=False,
        )
    ours, bare = [], []
    command = [os.fspath(BIN / "auditor"), *OURS, os.fspath(skill)]
    cost(command, home)
    for _ in range(ROUNDS):
        bare.append(cost([sys.executable, "-c", "pass"], home).seconds)
        ours.append(cost(command, home).seconds)
    return statistics.median(ours), statistics.median(bare)


def peak_megabytes(tree: Path) -> tuple[float, int]:
    """Peak memory of a process that audits `tree`, and the files it read."""
    done = subprocess.run([sys.executable, "-c", _PEAK, os.fspath(tree)], capture_output=True, text=True, check=True)
    kilobytes, files = done.stdout.split()
    return int(kilobytes) / 1024, int(files)


def install_peers(folder: Path) -> dict[str, Path]:
    """The programs of the peers that could be installed, each into an environment of its own below `folder`."""
    found = {}
    for name, (package, _, _) in PEERS.items():
        program = folder / name / "bin" / name
        if not program.is_file():
            subprocess.run([sys.executable, "-m", "venv", os.fspath(folder / name)], check=False)
            pip = [os.fspath(folder / name / "bin" / "pip"), "install", "--quiet", package]
            subprocess.run(
                pip, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
            )
        if program.is_file():
            found[name] = program
    return found


def compare(peers: Mapping[str, Path], skills: Sequence[Path], home: Path) -> list[tuple[str, float, list[int]]]:
    """Median CPU seconds a skill of every program, ours first, and the exit codes that were seen."""
    commands = {"ours": ([os.fspath(BIN / "auditor"), *OURS], [])}
    for name, program in peers.items():
        _, before, after = PEERS[name]
        commands[name] = ([os.fspath(program), *before], list(after))
    commands["bandit"] = ([os.fspath(BIN / "bandit"), "-q", "-r"], [])
    rows = []
    for name, (before_path, after_path) in commands.items():
        costs = [cost([*before_path, os.fspath(skill), *after_path], home) for skill in skills]
        rows.append((name, statistics.median(each.seconds for each in costs), sorted({each.status for each in costs})))
    return rows

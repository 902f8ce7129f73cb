"""Whether a run costs more when its caller, the vault or the number of open environments is large.

Each pair in turns in one run, medians; the bar is 1.2x. Part of `sandbox.py --growth`, or by itself.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from vaulting.filled import FEW, MANY, LaterClock, admission, fill, open_vault

from skillkeep.clock import Clock
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.manifest import Manifest
from skillkeep.runner.environments.environment import Environment
from skillkeep.runner.environments.manager import Environments
from skillkeep.runner.interface import RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend
from skillkeep.runner.run import run_tool
from skillkeep.settings import SandboxSettings, Settings
from skillkeep.tree import TreeView
from skillkeep.vault.store import Vault

ROUNDS, ENVIRONMENTS = 30, 200
LARGE = 3 << 29
BAR = 1.2


def medians(works: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of each work, in turns."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in taken.items()}


def say(title: str, small: float, large: float) -> None:
    """One line of the report."""
    print(f"{title:<44} {large / small:5.2f}x  bar {BAR}x  {small * 1000:.2f} ms, {large * 1000:.2f} ms")


def large_caller(backend: NativeBackend) -> None:
    """A caller that has written to 1.5 GiB of memory."""

    def run() -> object:
        return backend.run(RunRequest(("/bin/true",)))

    small = medians({"run": run})["run"]
    held = bytearray(LARGE)
    for at in range(0, LARGE, 4096):
        held[at] = 1
    large = medians({"run": run})["run"]
    del held
    again = medians({"run": run})["run"]
    say("a caller of 1.5 GiB against a small one", (small + again) / 2, large)


@dataclass(frozen=True)
class Floor:
    """What a run stands on: a home of its own."""

    home: Home
    settings: Settings
    vault: Vault
    journal: Journal
    clock: Clock


def vaulted_run(folder: Path, count: int) -> Callable[[], object]:
    """A run of one tool from a new vault below `folder` that holds `count` others."""
    folder.mkdir()
    vault = open_vault(folder)
    fill(vault, count)
    tree = folder / "tree"
    tree.mkdir()
    (tree / "SKILL.md").write_text("a tool\n", encoding="utf-8")
    with TreeView.open(tree) as view:
        vault.admit(admission("mine", Manifest.of_tree(view).digest), tree)
    home = Home(folder / "home")
    floor = Floor(home, Settings(), vault, Journal(home.journal), LaterClock())
    tool = vault.open("mine")
    return lambda: run_tool(tool, ("/bin/true",), SandboxPolicy(), floor)


def large_vault(folder: Path) -> None:
    """A vaulted tool, journal and record included."""
    found = medians({"small": vaulted_run(folder / "small", FEW), "large": vaulted_run(folder / "large", MANY)})
    say(f"a vault of {MANY:,} tools against {FEW}", found["small"], found["large"])


def many_environments(backend: NativeBackend, folder: Path) -> None:
    """A run, and a command in one environment, beside many environments that stand open."""
    environments = Environments(Home(folder / "environments").ensure(), SandboxSettings())

    def opened(number: int) -> Environment:
        project = folder / f"project{number}"
        project.mkdir()
        project.chmod(0o777)  # what belongs to root alone is never shown writable
        return environments.open(project)

    with ExitStack() as stack:
        mine = stack.enter_context(opened(0))
        works: dict[str, Callable[[], object]] = {
            "a run": lambda: backend.run(RunRequest(("/bin/true",))),
            "a command in an environment": lambda: mine.run(("/bin/true",)),
        }
        few = medians(works)
        for number in range(1, ENVIRONMENTS):
            stack.enter_context(opened(number))
        many = medians(works)
        for name in works:
            say(f"{name} beside {ENVIRONMENTS} environments", few[name], many[name])
    for seen in list(environments.seen()):
        environments.delete(environments.find(seen.name))


def report(backend: NativeBackend) -> None:
    """Measure and print all of it."""
    large_caller(backend)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        try:
            large_vault(folder)
            many_environments(backend, folder)
        finally:
            subprocess.run(["chmod", "-R", "u+w", name], check=True)


if __name__ == "__main__":
    report(NativeBackend())

"""What commands cost in sandboxes that stand already: named environments and warm interpreters."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from skillkeep.home import Home
from skillkeep.runner.environments.environment import How
from skillkeep.runner.environments.manager import Environments
from skillkeep.runner.interface import RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.warm.interpreter import WarmInterpreter
from skillkeep.settings import SandboxSettings

__all__ = ["standing_ways"]

IDLE_SECONDS = 3600.0


@cache
def standing_ways() -> dict[str, Callable[[], object]]:
    """The ways to be compared; what they stand in is made on the first call and removed with the process."""
    base = Path(tempfile.mkdtemp(prefix="skillkeep-standing-"))
    os.chmod(base, 0o755)
    project, tool = base / "project", base / "tool"
    for folder in (project, tool):
        folder.mkdir()
    os.chmod(project, 0o777)
    (tool / "nothing.py").write_text("pass\n")
    environments = Environments(Home(base / "home").ensure(), SandboxSettings())
    environment = environments.open(project)
    vaulted: Any = SimpleNamespace(name="nothing", digest="sha256:" + "0" * 64, path=tool)
    request = RunRequest(("python3", "./nothing.py"), SandboxPolicy(tool_mount="/work"), vaulted)
    warm = WarmInterpreter(request, "./nothing.py", IDLE_SECONDS)

    def remove() -> None:
        warm.close()
        place = environment.place
        environment.close()
        environments.delete(place)
        shutil.rmtree(base)

    atexit.register(remove)
    return {
        "environment, shared": lambda: well(environment.run(["/bin/true"])),
        "environment, fresh": lambda: well(environment.run(["/bin/true"], How(fresh=True))),
        "warm python3, pass": lambda: well(warm.run(request)),
    }


def well(result: RunResult) -> None:
    """Fail when a command did."""
    if not result.ok:
        raise RuntimeError(f"a measured command ended with {result.cause}: {result.stderr!r}")

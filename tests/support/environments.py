"""Plays scenes in environments: as root and as a user without rights, in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from support.sandbox import Bench, python_for, staged_packages
from support.waiting import kill, until

_SCENE_SECONDS = 1200  # an emulated machine is ten to twenty times slower
_OPENING = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from types import SimpleNamespace
from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.runner.environments.environment import How
from skillkeep.runner.environments.manager import Environments
settings = SimpleNamespace(cpus=1.0, memory_bytes=1 << 28, processes=40, output_bytes=10**5, tmp_bytes=1 << 24)
environments = Environments(Home(Path(sys.argv[2])).ensure(), settings)
project = Path(sys.argv[3])
def sh(environment, text, **how):
    return environment.run(["/bin/sh", "-c", text], How(**how))
def out(environment, text, **how):
    result = sh(environment, text, **how)
    return (result.stdout + result.stderr).decode("utf-8", "replace").strip()
def said(**facts):
    sys.stdout.write(json.dumps(facts) + "\\n")
    sys.stdout.flush()
"""


class Stage:
    """One attacker's Skillkeep home and project folder."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.home = bench.home / "skillkeep"
        self.project = bench.folder / "projects" / "web"
        self.project.mkdir(parents=True)
        # Root's own folders are not written by a payload of another id; another user's are.
        os.chmod(self.project, 0o777)
        if bench.who.uid is not None:
            os.chown(self.project, bench.who.uid, bench.who.uid)

    def start(self, scene: str, project: str | bytes | None = None) -> subprocess.Popen[bytes]:
        """A process that plays `scene`: Python code with `environments`, `project`, `sh`, `out` and `said`."""
        folder = os.fsencode(self.project) if project is None else project
        command = [python_for(self.bench.who.uid), "-I", "-c", _OPENING + scene, str(staged_packages()), str(self.home)]
        return subprocess.Popen(
            [*command, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **self.bench.identity()
        )

    def play(self, scene: str, project: str | bytes | None = None) -> dict[str, Any]:
        """What the scene said, all of it together."""
        with self.start(scene, project) as process:
            output = process.communicate(timeout=_SCENE_SECONDS)[0]
        assert process.returncode == 0, output
        said: dict[str, Any] = {}
        for line in output.splitlines():
            said |= json.loads(line)
        return said

    def clear(self) -> None:
        """End every environment of this stage."""
        for path in self.home.glob("environments/*/standing.json"):
            with contextlib.suppress(OSError, ValueError):
                standing = json.loads(path.read_bytes())
                kill(standing["holder"])
                for group in standing["groups"]:
                    remove_group(Path(group["path"]))


def remove_group(path: Path) -> None:
    """Remove a control group whose last process may be ending just now."""

    def gone() -> bool:
        with contextlib.suppress(OSError):
            path.rmdir()
        return not path.exists()

    until(gone)


def next_said(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The next thing that a scene under way says."""
    assert process.stdout is not None
    line: dict[str, Any] = json.loads(process.stdout.readline())
    return line


__all__ = ["Stage", "next_said", "remove_group"]

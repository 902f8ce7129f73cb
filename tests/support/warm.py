"""Scenes with warm interpreters: the project folder of the stage stands for a vaulted tool's tree."""

from __future__ import annotations

from typing import Any

from support.environments import Stage

OPENING = """
from dataclasses import replace
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend
from skillkeep.runner.warm.backend import WarmBackend
from skillkeep.runner.warm.interpreter import WarmInterpreter
tool = SimpleNamespace(name="tool", digest="sha256:" + "0" * 64, path=project)
policy = SandboxPolicy(tool_mount="/work", memory_bytes=1 << 28, processes=20, wall_seconds=60.0)
def request(script, *words, stdin=None, **limits):
    return RunRequest(("python3", script, *words), replace(policy, **limits), tool, stdin)
def facts(result):
    return [str(result.cause), result.exit_code, result.signal, result.stdout.decode(), result.stderr.decode()]
"""


def play(stage: Stage, scene: str, **scripts: str) -> dict[str, Any]:
    """Play a scene with these scripts in the tool's folder (`name="text"` is name.py)."""
    for name, text in scripts.items():
        (stage.project / f"{name}.py").write_text(text)
    return stage.play(OPENING + scene)

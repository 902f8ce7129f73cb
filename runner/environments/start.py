"""Has the builder make an environment: a bare interpreter of its own, since it forks and its children outlive it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import skillkeep
import skillkeep.kernel
from skillkeep.runner.environments.place import Place, Record
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.native.plan import Plan
from skillkeep.text import escape

__all__ = ["build"]

_SECONDS = 60.0
_HERE = os.path.dirname(os.path.abspath(__file__))
_RUNNER = os.path.dirname(_HERE)


def build(place: Place, record: Record, plan: Plan, lifeline: int = -1) -> None:
    """Make the environment stand. It ends when the other end of `lifeline`, a pipe, is closed by everybody.

    Raises `RunnerError` (`sandbox_layer_failed`, `sandbox_died`).
    """
    request = {
        "plan": plan.to_text(),
        "name": record.name,
        "slot": record.slot,
        "home": os.path.realpath(place.home),
        "passwd": str(place.passwd),
        "project": record.project,
        "standing": str(place.standing_file),
        "lifeline": lifeline,
    }
    command = [sys.executable, "-I", "-S", "-B", os.path.join(_HERE, "boot.py")]
    command += [f"{package}={folder}" for package, folder in _packages().items()]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(request).encode(),
            capture_output=True,
            env={},
            cwd="/",
            start_new_session=True,
            pass_fds=() if lifeline < 0 else (lifeline,),
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _died(str(error)) from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise _died(escape(last) or f"status {done.returncode}, without a word") from error
    if answer.get("kind") != "standing":
        layer = answer["layer"]
        number = {} if answer["errno"] in {"", "0"} else {"errno": answer["errno"]}
        hint = answer["hint"] or "Run `runner doctor` to see which layers work here."
        message = f"The sandbox layer {layer} failed: {answer['detail']}"
        raise RunnerError("sandbox_layer_failed", message, hint, layer=layer, **number, backend="native")


def _died(why: str) -> RunnerError:
    hint = "Run it again; if it happens twice, please report it with the output of `runner doctor`."
    return RunnerError("sandbox_died", f"The builder of the environment ended early: {why}", hint)


def _packages() -> dict[str, str]:
    """The packages that the builder needs, and nothing of an interpreter's site."""
    return {
        "skillkeep": os.path.dirname(str(skillkeep.__file__)),
        "skillkeep.kernel": os.path.dirname(str(skillkeep.kernel.__file__)),
        "skillkeep.runner": _RUNNER,
        "skillkeep.runner.native": os.path.join(_RUNNER, "native"),
        "skillkeep.runner.egress": os.path.join(_RUNNER, "egress"),
        "skillkeep.runner.environments": _HERE,
    }

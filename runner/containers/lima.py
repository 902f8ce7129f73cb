"""The native sandbox inside a Lima virtual machine (macOS, Linux). Not tried on a Mac yet.

`limactl shell` starts `skillkeep.runner.remote` in the machine, which runs the request there. The vault has to be seen
at the same path inside, as Lima's default template shows the home (read-only). Source: limactl-shell(1).
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from typing import Any, ClassVar

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.runner.containers.program import Bounds, ask, run_program
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel, Availability, Backend, Layer, RunRequest, RunResult
from skillkeep.runner.remote import from_answer, to_question

__all__ = ["LimaBackend"]

_MOST_INPUT = 16 << 20
_ANSWER_BYTES = 1 << 20
_GRACE_SECONDS = 90.0
_MOST_SECONDS = 1e8
_LOSSES = ("the virtual machine was never tried on a Mac: only what it is told is tested",)


class LimaBackend(Backend):
    """Runs each request in the native sandbox of the Lima instance `instance`, which has to run already."""

    name: ClassVar[str] = "lima"

    def __init__(self, instance: str = "default", program: str = "limactl", clock: Clock = SYSTEM_CLOCK) -> None:
        self._instance, self._program, self._clock = instance, program, clock
        self._state: Availability | None = None

    def probe(self) -> Availability:
        if self._state is None:
            self._state = self._look()
        return self._state

    def _look(self) -> Availability:
        if shutil.which(self._program) is None:
            return Availability(self.name, False, "limactl is not installed", "Run: brew install lima")
        listed = ask([self._program, "list", "--json", self._instance]).stdout.data
        try:
            running = [json.loads(line)["status"] for line in listed.splitlines() if line.strip()] == ["Running"]
        except (ValueError, LookupError, TypeError):
            running = False
        if not running:
            mend = f"Run: {self._program} start {self._instance}"
            return Availability(self.name, False, f"the instance {self._instance} does not run", mend)
        told = ask(self._command(), b"", Bounds(seconds=60.0))
        try:
            state = json.loads(told.stdout.data)["state"]
            level, losses = AssuranceLevel[state["level"].upper()], tuple(state["losses"])
            inside = Availability(**{**state, "level": level, "losses": losses, "backend": self.name})
        except (ValueError, LookupError, TypeError):
            mend = f"Run: {self._program} shell {self._instance} pip install skillkeep (the same version as here)"
            return Availability(self.name, False, "Skillkeep does not answer in the virtual machine", mend)
        return replace(inside, losses=(*inside.losses, *_LOSSES))

    def _command(self) -> list[str]:
        words = [self._program, "shell", "--workdir", "/", self._instance]
        return [*words, "python3", "-m", "skillkeep.runner.remote"]

    def _run(self, request: RunRequest) -> RunResult:
        question = to_question(request, _whole(request.stdin))
        policy = request.policy
        bounds = Bounds(
            _ANSWER_BYTES + 8 * policy.output_bytes, min(policy.wall_seconds, _MOST_SECONDS) + _GRACE_SECONDS
        )
        ran = run_program(self._command(), question, bounds, self._clock.monotonic)
        try:
            data: dict[str, Any] = json.loads(ran.stdout.data)
            result = from_answer(data, request, self.name)
        except (ValueError, LookupError, TypeError) as error:
            text = ran.stderr.data.decode("utf-8", "replace").strip()[:300]
            raise RunnerError(
                "backend_failed",
                f"the virtual machine gave no answer: {text or error}",
                f"Try: {self._program} shell {self._instance} runner doctor",
                backend=self.name,
            ) from error
        held = result.assurance
        layers = (*held.layers, Layer("machine", True, {"instance": self._instance, "by": "lima"}))
        return replace(result, assurance=replace(held, layers=layers, losses=(*held.losses, *_LOSSES)))


def _whole(stdin: bytes | int | None) -> bytes | None:
    """The whole input: it is sent before the run."""
    if not isinstance(stdin, int):
        return stdin
    data = bytearray()
    while chunk := os.read(stdin, 1 << 16):
        data += chunk
        if len(data) > _MOST_INPUT:
            raise RunnerError("bad_policy", "the input is too long for a virtual machine", "Pass at most 16 MiB.")
    return bytes(data)

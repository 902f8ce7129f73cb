"""Apple's `container` command (macOS): each run in a small virtual machine of its own. Not tried on such a machine yet.

Written after Apple's command reference, and held by a contract test against a stand-in that records what it is told.
Source: apple/container, docs/command-reference.md. `--network none` is there since 0.6.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.runner.containers.body import shown_binds
from skillkeep.runner.containers.policy_file import PLACE, named, shown
from skillkeep.runner.containers.program import Bounds, Ran, ask, run_program
from skillkeep.runner.containers.results import unmeasured
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import (
    Assurance,
    AssuranceLevel,
    Availability,
    Backend,
    Bind,
    Cause,
    Layer,
    RunRequest,
    RunResult,
)

__all__ = ["AppleBackend"]

_USER = 65534
_HOME = "/tmp"  # noqa: S108  inside the machine
_MIB = 1 << 20
_OLDEST = (0, 6)
_NEEDED = ("--network", "--mount", "--user", "--memory", "--cpus", "--tmpfs", "--entrypoint", "--env-file", "--name")
_HARDENING = {"--cap-drop": "ALL", "--read-only": "", "--no-dns": "", "--init": ""}
_LOSSES = (
    "this backend was never tried on hardware: only its command lines are tested",
    "system calls inside are filtered by the virtual machine's own kernel settings, not by our filter",
    "the number of processes is bounded by the machine's memory and by ulimit, where it is offered",
    "processor time, peak memory and a death by signal (seen as 128 + n) are not measured",
)


class AppleBackend(Backend):
    """Runs each request in a container of Apple's. `image` has to be there already: nothing is pulled."""

    name: ClassVar[str] = "apple"

    def __init__(self, image: str, program: str = "container", clock: Clock = SYSTEM_CLOCK) -> None:
        self._image, self._program, self._clock = image, program, clock
        self._options: frozenset[str] | None = None
        self._refusal = ""

    def probe(self) -> Availability:
        if self._options is None and not self._refusal:
            try:
                self._options = self._look()
            except RunnerError as error:
                self._refusal, self._mend = error.message, error.hint
        if self._options is None:
            return Availability(self.name, False, self._refusal, self._mend)
        missing = [f"the command does not offer {option}" for option in _HARDENING if option not in self._options]
        return Availability(self.name, True, level=AssuranceLevel.ISOLATED, losses=(*_LOSSES, *missing))

    def _look(self) -> frozenset[str]:
        """The options that this version of the command offers."""
        if shutil.which(self._program) is None:
            raise _unusable("the container command is not installed", "On macOS 26: install apple/container.")
        text = ask([self._program, "--version"]).stdout.data.decode("utf-8", "replace")
        found = re.search(r"(\d+)\.(\d+)", text)
        if found is None or (int(found[1]), int(found[2])) < _OLDEST:
            raise _unusable(f"it is too old to run without a network: {text.strip()[:80]!r}", "Update apple/container.")
        if ask([self._program, "system", "status"]).code != 0:
            raise _unusable("its service does not run", f"Run: {self._program} system start")
        if ask([self._program, "image", "inspect", self._image]).code != 0:
            raise _unusable(
                f"the image {self._image} is not on this machine", f"Run: {self._program} image pull {self._image}"
            )
        help_text = ask([self._program, "create", "--help"]).stdout.data.decode("utf-8", "replace")
        options = frozenset(re.findall(r"--[a-z][a-z-]+", help_text))
        missing = [option for option in _NEEDED if option not in options]
        if missing:
            raise _unusable(f"it does not offer {', '.join(missing)}", "Update apple/container.")
        return options

    def _run(self, request: RunRequest) -> RunResult:
        name = f"skillkeep-{request.run_id}"
        with shown(request.policy) as folder:
            try:
                with _environment(request) as env_file:
                    _must(ask(self._create(name, request, env_file, folder)), "create the container")
                self._check(name)
                start = [
                    self._program,
                    "start",
                    "--attach",
                    *(["--interactive"] if request.stdin is not None else []),
                    name,
                ]
                bounds = Bounds(request.policy.output_bytes, request.policy.wall_seconds)
                ran = run_program(start, request.stdin, bounds, self._clock.monotonic)
            finally:
                ask([self._program, "kill", name])
                gone = ask([self._program, "delete", "--force", name])
        state = self.probe()
        losses = state.losses if gone.code == 0 else (*state.losses, f"the container {name} could not be removed")
        layers = (Layer("network", True, {"attachments": "none"}), Layer("machine", True, {"image": self._image}))
        return _result(request, ran, Assurance(state.level, layers, None, losses))

    def _create(self, name: str, request: RunRequest, env_file: str, policy_folder: str) -> list[str]:
        policy, options = request.policy, self._options or frozenset()
        words = [self._program, "create", "--name", name, "--network", "none", "--user", f"{_USER}:{_USER}"]
        words += ["--cpus", str(math.ceil(policy.cpus)), "--memory", f"{max(policy.memory_bytes // _MIB, 1)}M"]
        words += ["--workdir", policy.workdir or (policy.tool_mount if request.tool else _HOME)]
        words += ["--tmpfs", _HOME, "--env-file", env_file, "--entrypoint", request.argv[0]]
        for option, value in _HARDENING.items():
            words += [option, *([value] if value else [])] if option in options else []
        if "--ulimit" in options:
            limits = {"nproc": policy.processes, "nofile": policy.open_files, "fsize": policy.file_bytes, "core": 0}
            words += [word for limit, value in limits.items() for word in ("--ulimit", f"{limit}={value}:{value}")]
        for bind in shown_binds(request):
            words += ["--mount", _mount(bind)]
        words += ["--mount", f"type=bind,source={policy_folder},target={PLACE},readonly"]  # it takes folders alone
        return [*words, self._image, *request.argv[1:]]

    def _check(self, name: str) -> None:
        """Refuse a container that would have a network, before it is started."""
        told = _must(ask([self._program, "inspect", name]), "describe the container")
        try:
            networks = json.loads(told.stdout.data)[0]["configuration"]["networks"]
        except (ValueError, LookupError, TypeError) as error:
            raise _failed("its description cannot be read") from error
        if networks != []:
            raise _failed("it has a network although none was asked for")


def _mount(bind: Bind) -> str:
    if any(char in bind.source + bind.target for char in ',="\n'):
        hint = "Use a path without comma, equals sign, quote and line break."
        raise RunnerError("bad_policy", "a path cannot be put into a mount option", hint)
    return f"type=bind,source={bind.source},target={bind.target}" + ("" if bind.writable else ",readonly")


@contextmanager
def _environment(request: RunRequest) -> Iterator[str]:
    """A private file with the environment: a value on a command line could be read by others."""
    pairs = named((("HOME", _HOME), ("TMPDIR", _HOME), ("LANG", "C.UTF-8"), *request.policy.env))
    if any("\n" in value or "\r" in value for _, value in pairs):
        raise RunnerError("bad_policy", "an environment value has a line break", "Use the docker or lima backend.")
    fd, path = tempfile.mkstemp(prefix="skillkeep-env-")
    try:
        with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{name}={value}\n" for name, value in pairs)
        yield path
    finally:
        os.unlink(path)


def _must(ran: Ran, doing: str) -> Ran:
    if ran.code != 0:
        text = ran.stderr.data.decode("utf-8", "replace").strip()[:300]
        raise RunnerError(
            "backend_failed", f"the container command could not {doing}: {text}", "Look at `container system logs`."
        )
    return ran


def _unusable(reason: str, mend: str) -> RunnerError:
    return RunnerError("sandbox_unavailable", reason, mend)


def _failed(why: str) -> RunnerError:
    return RunnerError(
        "sandbox_layer_failed",
        f"Apple's container was not made as asked: {why}",
        "Update apple/container, or use another backend; nothing was run.",
        layer="network",
        backend=AppleBackend.name,
    )


def _result(request: RunRequest, ran: Ran, assurance: Assurance) -> RunResult:
    ending = (ran.ended, ran.code, None if ran.ended is Cause.EXIT else 9)
    return unmeasured(AppleBackend.name, request, ending, (ran.stdout, ran.stderr), ran.seconds, assurance)

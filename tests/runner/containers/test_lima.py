"""The contract with `limactl`, held against a stand-in that starts the real thing where the machine would be."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path

import pytest
from support.stand_in import StandIn
from support.vaults import make_tool

from skillkeep.home import Home
from skillkeep.runner import remote
from skillkeep.runner.containers.lima import LimaBackend
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel, Cause, RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend

NATIVE = NativeBackend().probe()
needs_native = pytest.mark.skipif(not NATIVE.available, reason=f"no native sandbox: {NATIVE.reason}")
SHELL = ("shell", "--workdir", "/", "default", "python3", "-m", "skillkeep.runner.remote")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path, "limactl")
    monkeypatch.setenv("PATH", made.on_path())
    return made


def running(command: StandIn) -> StandIn:
    command.on("list", "--json", "default", out=json.dumps({"name": "default", "status": "Running"}) + "\n")
    return command.hands_on(*SHELL, command=[sys.executable, "-m", "skillkeep.runner.remote"])


@needs_native
def test_a_run_happens_in_the_sandbox_behind_the_command(command: StandIn, home: Home) -> None:
    running(command)
    tool = make_tool(home, "tool", {"SKILL.md": "# x\n"})
    policy = SandboxPolicy(tool_mount="/work", env=(("TOKEN", "secret"),))
    request = RunRequest(("sh", "-c", 'cat SKILL.md -; echo "$TOKEN" >&2; exit 3'), policy, tool, b"in\xff\n")
    result = LimaBackend().run(request)
    assert (result.stdout, result.stderr, result.exit_code) == (b"# x\nin\xff\n", b"secret\n", 3)
    assert (result.backend, result.tool_digest, result.policy_digest) == ("lima", tool.digest, policy.digest)
    assert result.assurance.level is NATIVE.level
    assert result.assurance.layer("seccomp") is not None
    assert any("never tried on a Mac" in loss for loss in result.assurance.losses)
    words = [word for each in command.told for word in each["argv"]]
    assert not any("secret" in word or "SKILL" in word for word in words)


@needs_native
def test_limits_are_kept_inside_and_told_as_ever(command: StandIn) -> None:
    running(command)
    backend = LimaBackend()
    late = backend.run(RunRequest(("sleep", "60"), SandboxPolicy(wall_seconds=0.5)))
    assert (late.cause, late.signal) == (Cause.TIMEOUT, 9)
    flood = backend.run(RunRequest(("sh", "-c", "while :; do echo xxxx; done"), SandboxPolicy(output_bytes=100)))
    assert (flood.cause, len(flood.stdout)) == (Cause.OUTPUT_CAP, 100)


@needs_native
def test_what_is_refused_inside_is_refused_here(command: StandIn) -> None:
    running(command)
    with pytest.raises(RunnerError) as caught:
        LimaBackend().run(RunRequest(("no-such-program",)))
    assert (caught.value.code, caught.value.context["backend"]) == ("program_not_found", "lima")


def test_the_question_says_all_of_a_run_on_standard_input(command: StandIn, tmp_path: Path) -> None:
    state = {"backend": "native", "available": True, "reason": "", "mend": "", "level": "bounded", "losses": []}
    command.on("list", out='{"status": "Running"}\n').on("shell", out=json.dumps({"state": state}))
    path = tmp_path / "input"
    path.write_bytes(b"all of it")
    fd = os.open(path, os.O_RDONLY)
    try:
        with pytest.raises(RunnerError) as caught:
            LimaBackend().run(RunRequest(("a", "b"), SandboxPolicy(memory_bytes=1 << 20), None, fd, run_id="ab12"))
    finally:
        os.close(fd)
    assert caught.value.code == "backend_failed"
    question = json.loads(command.told[-1]["stdin"])
    assert (question["argv"], question["run_id"], question["policy"]["memory_bytes"]) == (["a", "b"], "ab12", 1 << 20)
    assert base64.b64decode(question["stdin"]) == b"all of it"
    assert question["least"] == AssuranceLevel.ISOLATED


@pytest.mark.parametrize("listed", ["", "nonsense", '{"status": "Stopped"}\n', "[]"])
def test_a_machine_that_does_not_run_is_not_used(command: StandIn, listed: str) -> None:
    command.on("list", out=listed)
    state = LimaBackend().probe()
    assert (state.available, state.mend) == (False, "Run: limactl start default")


@pytest.mark.parametrize("told", ["", "bash: python3: not found", "{}", '{"state": {"level": "odd"}}'])
def test_a_machine_without_skillkeep_is_not_used(command: StandIn, told: str) -> None:
    command.on("list", out='{"status": "Running"}\n').on("shell", out=told, code=1)
    state = LimaBackend().probe()
    assert not state.available
    assert "pip install skillkeep" in state.mend


def test_another_version_inside_refuses_the_run() -> None:
    question = json.loads(remote.to_question(RunRequest(("true",)), None))
    told = remote.answer({**question, "version": "0.0.0"})
    assert told["error"]["code"] == "bad_policy"

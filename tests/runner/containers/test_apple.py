"""The contract with Apple's `container` command, held against a stand-in. Nothing here was tried on a Mac."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from support.stand_in import StandIn
from support.vaults import make_tool

from skillkeep.home import Home
from skillkeep.runner.containers.apple import AppleBackend
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel, Bind, Cause, RunRequest, RunResult, SandboxPolicy

OPTIONS = (
    "--name --network --mount --user --memory --cpus --tmpfs --entrypoint --env-file --workdir --cap-drop --read-only"
    " --no-dns --init --ulimit"
)
ALONE = json.dumps([{"configuration": {"networks": []}, "networks": [], "status": "stopped"}])
NETWORKED = json.dumps([{"configuration": {"networks": [{"network": "default"}]}}])


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path, "container")
    monkeypatch.setenv("PATH", made.on_path())
    return made


def ready(
    command: StandIn, *, version: str = "0.11.0", options: str = OPTIONS, inspected: str = ALONE, system: int = 0
) -> StandIn:
    return (
        command.on("--version", out=f"container CLI version {version} (build: release)\n")
        .on("system", "status", code=system)
        .on("image", "inspect", "local/image", out="[]")
        .on("create", "--help", out=options)
        .on("create", out="made\n")
        .on("inspect", out=inspected)
        .on("kill")
        .on("delete")
    )


def run(stdin: bytes | None = None, **policy: object) -> RunResult:
    request = RunRequest(("python3", "-c", "x"), SandboxPolicy(**policy), None, stdin, run_id="0123456789abcdef")  # type: ignore[arg-type]
    return AppleBackend("local/image").run(request)


def verbs(command: StandIn) -> list[str]:
    return [" ".join(each["argv"][:1]) for each in command.told]


def test_a_run_is_created_checked_started_and_removed(command: StandIn) -> None:
    ready(command).on("start", out="out\n", err="err\n", code=3)
    result = run(b"in")
    assert (result.stdout, result.stderr, result.exit_code, result.cause) == (b"out\n", b"err\n", 3, Cause.EXIT)
    assert verbs(command)[-5:] == ["create", "inspect", "start", "kill", "delete"]
    create, _, start = command.told[-5:-2]
    assert create["argv"] == [
        "create", "--name", "skillkeep-0123456789abcdef", "--network", "none", "--user", "65534:65534", "--cpus", "1",
        "--memory", "512M", "--workdir", "/tmp", "--tmpfs", "/tmp", "--env-file", create["argv"][16],
        "--entrypoint", "python3", "--cap-drop", "ALL", "--read-only", "--no-dns", "--init",
        "--ulimit", "nproc=100:100", "--ulimit", "nofile=1024:1024", "--ulimit", "fsize=536870912:536870912",
        "--ulimit", "core=0:0", "--mount", create["argv"][-4], "local/image", "-c", "x",
    ]  # fmt: skip
    shown = re.fullmatch("type=bind,source=(.+),target=/run/sandbox,readonly", create["argv"][-4])
    assert shown, create["argv"][-4]
    assert not os.path.exists(shown[1])
    assert "SKILLKEEP_POLICY=/run/sandbox/policy.json\n" in create["env_file"]
    assert start == {
        "argv": ["start", "--attach", "--interactive", "skillkeep-0123456789abcdef"],
        "stdin": "in",
    }
    assert result.assurance.level is AssuranceLevel.ISOLATED
    assert any("never tried on hardware" in loss for loss in result.assurance.losses)


def test_secrets_are_in_a_private_file_that_is_gone_afterwards(command: StandIn) -> None:
    ready(command).on("start")
    run(env=(("TOKEN", "secret value"),))
    create = command.told[-5]
    assert "secret" not in " ".join(create["argv"])
    assert "TOKEN=secret value\n" in create["env_file"]
    assert create["env_mode"] == 0o600
    assert not os.path.exists(create["argv"][16])
    with pytest.raises(RunnerError) as caught:
        run(env=(("TOKEN", "two\nlines"),))
    assert caught.value.code == "bad_policy"


def test_the_tool_is_shown_read_only_and_a_granted_folder_writable(
    command: StandIn, home: Home, tmp_path: Path
) -> None:
    ready(command).on("start")
    tool = make_tool(home, "tool", {"SKILL.md": "# x\n"})
    policy = SandboxPolicy(tool_mount="/work", binds=(Bind(str(tmp_path), "/data", writable=True),))
    AppleBackend("local/image").run(RunRequest(("ls",), policy, tool))
    words = command.told[-5]["argv"]
    mounts = [words[at + 1] for at, word in enumerate(words) if word == "--mount"]
    assert mounts[:-1] == [
        f"type=bind,source={tool.path},target=/work,readonly",
        f"type=bind,source={tmp_path},target=/data",
    ]
    for odd in (Bind("/a,readonly=false", "/data"), Bind("/a", "/run")):  # the policy stands in /run/sandbox
        with pytest.raises(RunnerError) as caught:
            AppleBackend("local/image").run(RunRequest(("ls",), SandboxPolicy(binds=(odd,))))
        assert caught.value.code == "bad_policy"


def test_a_container_that_has_a_network_is_never_started(command: StandIn) -> None:
    ready(command, inspected=NETWORKED).on("start")
    with pytest.raises(RunnerError) as caught:
        run()
    assert (caught.value.code, caught.value.context["layer"]) == ("sandbox_layer_failed", "network")
    assert verbs(command)[-3:] == ["inspect", "kill", "delete"]


@pytest.mark.parametrize(
    ("policy", "cause"), [({"wall_seconds": 1.0}, Cause.TIMEOUT), ({"output_bytes": 10}, Cause.OUTPUT_CAP)]
)
def test_limits_kill_the_container_and_not_only_the_command(
    command: StandIn, policy: dict[str, float], cause: Cause
) -> None:
    ready(command).on("start", out="x" * (20 if cause is Cause.OUTPUT_CAP else 5), hang=True)
    result = run(**policy)
    assert (result.cause, result.signal, result.exit_code) == (cause, 9, None)
    assert verbs(command)[-2:] == ["kill", "delete"]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"version": "0.5.0"}, "too old"),
        ({"system": 1}, "does not run"),
        ({"options": "--name --mount"}, "--network"),
    ],
)
def test_what_is_missing_makes_it_unavailable_with_a_remedy(
    command: StandIn, how: dict[str, object], says: str
) -> None:
    ready(command, **how)  # type: ignore[arg-type]
    state = AppleBackend("local/image").probe()
    assert not state.available
    assert says in state.reason
    assert state.mend


def test_an_image_that_is_not_there_is_not_pulled(command: StandIn) -> None:
    ready(command)
    state = AppleBackend("other/image").probe()
    assert (state.available, state.mend) == (False, "Run: container image pull other/image")
    assert not any("pull" in each["argv"] for each in command.told)


def test_an_option_that_this_version_lacks_is_a_loss_in_words(command: StandIn) -> None:
    ready(command, options=OPTIONS.replace("--cap-drop", "")).on("start")
    result = run()
    assert "the command does not offer --cap-drop" in result.assurance.losses
    assert "--cap-drop" not in command.told[-5]["argv"]


def test_without_the_command_it_says_so() -> None:
    state = AppleBackend("x", "no-such-container-command").probe()
    assert (state.available, "not installed" in state.reason) == (False, True)

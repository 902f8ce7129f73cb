"""A policy as the container engine gets it: the seed's limits, hardened; and the check that it was taken so."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from support.vaults import make_tool

from skillkeep.home import Home
from skillkeep.runner.containers.body import Image, Target, container_body, layers_in_force
from skillkeep.runner.containers.policy_file import shown
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy

IMAGE = Image("python:3.12-slim", "sha256:" + "ab" * 32)


def body_of(home: Home, policy: SandboxPolicy | None = None, **extra: Any) -> dict[str, Any]:
    tool = make_tool(home, "tool", {"run.py": "pass\n"})
    request = RunRequest(("sh", "-lc", "x"), policy or SandboxPolicy(tool_mount="/work"), tool, **extra)
    return container_body(request, Target(IMAGE, processors=4), {"skillkeep.run": "1"})


def test_the_seeds_flags_are_all_there(home: Home) -> None:
    """--network none --cpus 1 --memory 512m -v <vault>:/work:ro -w /work."""
    body = body_of(home)
    host = body["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["NanoCpus"] == 1_000_000_000
    assert host["Memory"] == 512 << 20
    assert body["WorkingDir"] == "/work"
    assert [(m["Target"], m["ReadOnly"], m["Type"]) for m in host["Mounts"]] == [("/work", True, "bind")]
    assert (body["Entrypoint"], body["Cmd"]) == (["sh"], ["-lc", "x"])


def test_what_the_seed_leaves_open_is_closed(home: Home) -> None:
    body = body_of(home)
    host = body["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["ReadonlyRootfs"] is True
    assert host["MemorySwap"] == host["Memory"]
    assert host["PidsLimit"] == 100
    assert host["LogConfig"] == {"Type": "none"}
    assert body["User"] == "65534:65534"
    assert body["Healthcheck"] == {"Test": ["NONE"]}
    assert set(host["Tmpfs"]) == {"/tmp"}
    assert not {"Binds", "Devices", "CapAdd", "PidMode", "UTSMode", "VolumesFrom"} & host.keys()


def test_a_run_is_pinned_to_the_content_of_its_image(home: Home) -> None:
    assert body_of(home)["Image"] == IMAGE.id


def test_limits_of_the_policy_reach_the_engine(home: Home) -> None:
    policy = SandboxPolicy(cpus=0.25, memory_bytes=64 << 20, processes=9, tmp_bytes=4096, open_files=50, file_bytes=77)
    host = body_of(home, policy)["HostConfig"]
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == (250_000_000, 64 << 20, 9)
    assert "size=4096" in host["Tmpfs"]["/tmp"]
    assert host["ShmSize"] == 4096
    limits = {each["Name"]: (each["Soft"], each["Hard"]) for each in host["Ulimits"]}
    assert (limits["core"], limits["nofile"], limits["fsize"]) == ((0, 0), (50, 50), (77, 77))


@pytest.mark.parametrize(("asked", "given"), [(64.0, 4.0), (0.0001, 0.01), (1.5, 1.5)])
def test_processors_are_asked_for_within_what_an_engine_takes(home: Home, asked: float, given: float) -> None:
    assert body_of(home, SandboxPolicy(cpus=asked))["HostConfig"]["NanoCpus"] == given * 1e9


def test_granted_variables_and_folders_come_on_top(home: Home) -> None:
    policy = SandboxPolicy(env=(("TOKEN", "t=1"),), binds=(Bind("/etc", "/srv/out", writable=True),))
    body = body_of(home, policy)
    assert body["Env"] == ["HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "TOKEN=t=1"]
    assert [(m["Target"], m["ReadOnly"]) for m in body["HostConfig"]["Mounts"]] == [
        ("/tool", True),
        ("/srv/out", False),
    ]


@pytest.mark.parametrize("stdin", [None, b"", 0])
def test_standard_input_is_open_only_when_there_is_one(home: Home, stdin: bytes | int | None) -> None:
    body = body_of(home, stdin=stdin)
    assert body["OpenStdin"] is body["StdinOnce"] is body["AttachStdin"] is (stdin is not None)


def test_text_that_is_not_utf_8_is_refused_and_not_mangled(home: Home) -> None:
    with pytest.raises(RunnerError) as caught:
        body_of(home, SandboxPolicy(env=(("A", "\udcff"),)))
    assert caught.value.code == "bad_policy"


def described(body: dict[str, Any]) -> dict[str, Any]:
    """What an engine that took `body` as it is answers to inspect."""
    mounts = [{"Destination": each["Target"], "RW": not each["ReadOnly"]} for each in body["HostConfig"]["Mounts"]]
    return {"HostConfig": copy.deepcopy(body["HostConfig"]), "Config": {"User": body["User"]}, "Mounts": mounts}


def test_an_engine_that_took_all_of_it_holds_every_layer(home: Home) -> None:
    body = body_of(home)
    assert [layer.name for layer in layers_in_force(described(body), body) if not layer.in_force] == []


@pytest.mark.parametrize(
    ("key", "value", "layer"),
    [
        ("NetworkMode", "bridge", "network"),
        ("ReadonlyRootfs", False, "root"),
        ("CapDrop", None, "capabilities"),
        ("CapDrop", ["NET_RAW"], "capabilities"),
        ("CapAdd", ["SYS_ADMIN"], "capabilities"),
        ("Privileged", True, "capabilities"),
        ("SecurityOpt", None, "no_new_privs"),
        ("Memory", 0, "memory"),
        ("MemorySwap", -1, "swap"),
        ("NanoCpus", 0, "cpu"),
        ("PidsLimit", None, "processes"),
    ],
)
def test_an_engine_that_dropped_a_layer_is_caught_before_the_start(
    home: Home, key: str, value: object, layer: str
) -> None:
    body = body_of(home)
    answer = described(body)
    answer["HostConfig"][key] = value
    assert [each.name for each in layers_in_force(answer, body) if not each.in_force] == [layer]


def test_a_tool_mount_that_became_writable_or_vanished_is_caught(home: Home) -> None:
    body = body_of(home)
    for mounts in ([{"Destination": "/work", "RW": True}], []):
        answer = {**described(body), "Mounts": mounts}
        assert [each.name for each in layers_in_force(answer, body) if not each.in_force] == ["tool_mount"]


def test_another_user_than_asked_is_caught(home: Home) -> None:
    body = body_of(home)
    answer = {**described(body), "Config": {"User": ""}}
    assert [each.name for each in layers_in_force(answer, body) if not each.in_force] == ["identity"]


def test_the_policy_is_shown_as_one_read_only_file_and_named_by_a_variable(home: Home) -> None:
    policy = SandboxPolicy(tool_mount="/work", env=(("SKILLKEEP_POLICY", "/tmp/x"),))
    with shown(policy) as folder:
        request = RunRequest(("ls",), policy, make_tool(home, "tool", {"run.py": "pass\n"}))
        body = container_body(request, Target(IMAGE, policy_folder=folder), {})
        assert [(m["Source"], m["Target"], m["ReadOnly"]) for m in body["HostConfig"]["Mounts"]][1:] == [
            (f"{folder}/policy.json", "/run/sandbox/policy.json", True)
        ]
    named = [line for line in body["Env"] if line.startswith("SKILLKEEP_POLICY=")]
    assert named == ["SKILLKEEP_POLICY=/run/sandbox/policy.json"]


@pytest.mark.parametrize("target", ["/run", "/run/sandbox/policy.json", "/run/sandbox/x", "/var/run", "//run/./"])
def test_nothing_is_shown_where_the_policy_stands_or_around_it(home: Home, target: str) -> None:
    """The engine would make the mount point inside what is bound there: in a folder of the host."""
    for policy in (SandboxPolicy(binds=(Bind("/etc", target),)), SandboxPolicy(tool_mount=target)):
        with pytest.raises(RunnerError) as caught:
            body_of(home, policy)
        assert caught.value.code == "bad_policy"
    assert body_of(home, SandboxPolicy(binds=(Bind("/etc", "/run/user"),)))

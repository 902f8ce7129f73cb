"""A run has what was granted and no more, whatever the call asks."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from support.vaults import admission_of, open_vault, write_files

from skillkeep.home import Home
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, SandboxPolicy
from skillkeep.runner.policy import Limits, build_policy, check_granted, pass_environment, unheld_grants
from skillkeep.settings import SandboxSettings
from skillkeep.vault.interface import VaultedTool

SETTINGS = SandboxSettings()


def tool_with(home: Home, *grants: str) -> VaultedTool:
    tree = write_files(home.root.parent / "tree", {"run.py": "pass\n"})
    return open_vault(home).admit(replace(admission_of(tree, "tool"), grants=grants), tree)


def test_without_grants_a_run_has_no_network_no_variable_and_no_folder(home: Home) -> None:
    tool = tool_with(home)
    policy = pass_environment(build_policy(tool, SETTINGS, home), tool, {"HOME": "/x", "TOKEN": "t"})
    assert (policy.network, policy.env, policy.binds) == ("none", (), ())


def test_the_defaults_are_the_seeds_limits(home: Home) -> None:
    policy = build_policy(tool_with(home), SETTINGS, home)
    assert (policy.cpus, policy.memory_bytes, policy.tool_mount) == (1.0, 512 << 20, "/work")
    assert (policy.processes, policy.wall_seconds, policy.output_bytes) == (100, 60.0, 1_000_000)


def test_settings_replace_defaults_and_the_call_replaces_settings(home: Home) -> None:
    settings = SandboxSettings(cpus=2.0, memory_bytes=1 << 30, wall_seconds=5.0)
    policy = build_policy(tool_with(home), settings, home, Limits(wall_seconds=1.5, processes=7))
    assert (policy.cpus, policy.memory_bytes, policy.wall_seconds, policy.processes) == (2.0, 1 << 30, 1.5, 7)


@pytest.mark.parametrize("limits", [Limits(wall_seconds=0), Limits(memory_bytes=-1), Limits(cpus=float("nan"))])
def test_a_limit_that_limits_nothing_is_refused(home: Home, limits: Limits) -> None:
    with pytest.raises(RunnerError) as caught:
        build_policy(tool_with(home), SETTINGS, home, limits)
    assert caught.value.code == "bad_policy"


def test_granted_variables_that_are_set_are_passed(home: Home) -> None:
    tool = tool_with(home, "env:TOKEN", "env:UNSET")
    policy = pass_environment(SandboxPolicy(), tool, {"TOKEN": "t", "OTHER": "o"})
    assert policy.env == (("TOKEN", "t"),)


def test_named_variables_are_the_only_ones_passed(home: Home) -> None:
    tool = tool_with(home, "env:A", "env:B")
    assert pass_environment(SandboxPolicy(), tool, {"A": "1", "B": "2"}, ["B", "B"]).env == (("B", "2"),)


@pytest.mark.parametrize(("name", "code"), [("OTHER", "not_granted"), ("UNSET", "bad_policy"), ("TOKE", "not_granted")])
def test_a_variable_without_a_grant_or_without_a_value_stops_the_run(home: Home, name: str, code: str) -> None:
    tool = tool_with(home, "env:TOKEN", "env:UNSET")
    with pytest.raises(RunnerError) as caught:
        pass_environment(SandboxPolicy(), tool, {"TOKEN": "t", "OTHER": "o"}, [name])
    assert caught.value.code == code


def test_a_granted_folder_is_shown_writable_at_its_own_path(home: Home) -> None:
    folder = home.root.parent / "out"
    folder.mkdir()
    policy = build_policy(tool_with(home, f"write:{folder}/"), SETTINGS, home)
    assert policy.binds == (Bind(str(folder), str(folder), writable=True),)
    check_granted(policy, tool_with(home, f"write:{folder}/"))


@pytest.mark.parametrize("where", ["", "vetted_vault", "config.toml", ".."])
def test_no_grant_opens_skillkeeps_own_home(home: Home, where: str) -> None:
    home.config.write_text("")
    with pytest.raises(RunnerError) as caught:
        build_policy(tool_with(home, f"write:{(home.root / where).resolve()}"), SETTINGS, home)
    assert caught.value.code == "bad_policy"


def test_a_granted_path_that_has_become_a_link_is_refused(home: Home) -> None:
    base = home.root.parent
    (base / "real").mkdir()
    (base / "link").symlink_to("real")
    (base / "real" / "inner").mkdir()
    for path in (base / "link", base / "link" / "inner"):
        with pytest.raises(RunnerError, match=r"link|folder or a file") as caught:
            build_policy(tool_with(home, f"write:{path}"), SETTINGS, home)
        assert caught.value.code == "bad_policy"


def test_a_granted_path_that_is_missing_or_special_is_refused(home: Home) -> None:
    fifo = home.root.parent / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, home.root.parent / "missing"):
        with pytest.raises(RunnerError) as caught:
            build_policy(tool_with(home, f"write:{path}"), SETTINGS, home)
        assert caught.value.code == "bad_policy"


@pytest.mark.parametrize(
    "wide",
    [
        SandboxPolicy(env=(("OTHER", "1"),)),
        SandboxPolicy(env=(("A", "1"), ("OTHER", "1"))),
        SandboxPolicy(binds=(Bind("/", "/host"),)),
        SandboxPolicy(egress=("other.example.com:443",)),
        SandboxPolicy(binds=(Bind("/granted/inner", "/x", writable=True),)),
    ],
)
def test_a_policy_wider_than_the_grants_is_refused_right_before_the_run(home: Home, wide: SandboxPolicy) -> None:
    with pytest.raises(RunnerError) as caught:
        check_granted(wide, tool_with(home, "env:A", "write:/granted"))
    assert (caught.value.code, caught.value.exit_code) == ("not_granted", 126)


def test_a_grant_that_no_backend_honours_is_named(home: Home) -> None:
    tool = tool_with(home, "net:api.example.com:443", "env:A", "write:/x")
    assert unheld_grants(tool, "apple") == ("net:api.example.com:443",)
    assert unheld_grants(tool, "docker") == ()
    assert unheld_grants(tool, "native") == ()


def test_what_a_run_may_reach_is_what_was_granted(home: Home) -> None:
    tool = tool_with(home, "net:api.example.com:443", "net:*.cdn.example.com:443")
    policy = build_policy(tool, SandboxSettings(), home)
    assert policy.egress == ("api.example.com:443", "*.cdn.example.com:443")
    assert policy.to_json()["network"] == "allow-list"
    assert build_policy(tool_with(home), SandboxSettings(), home).network == "none"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"wall_seconds": 0.0}, "must be a positive number"),
        ({"cpus": float("nan")}, "must be a positive number"),
        ({"wall_seconds": float("inf")}, "is too large"),
        ({"memory_bytes": 2**62}, "is too large"),
        ({"processes": 10**30}, "is too large"),
    ],
)
def test_a_limit_that_makes_no_sense_is_told_as_what_it_is(limit: dict[str, Any], said: str) -> None:
    with pytest.raises(RunnerError, match=said) as caught:
        SandboxPolicy(**limit)
    assert ("above zero" in caught.value.hint) == (said != "is too large")


def test_no_value_can_be_found_from_the_digest_of_a_record() -> None:
    """Records hold it beside all other fields: four digits would be tried out in no time."""
    one, other, more = (SandboxPolicy(env=env) for env in ((("PIN", "1234"),), (("PIN", "4321"),), (("P", "1234"),)))
    assert one.digest == other.digest != more.digest
    assert SandboxPolicy().digest not in {one.digest, more.digest}

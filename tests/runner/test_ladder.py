"""Native, then a container, then nothing: which rung, and why not the one above."""

from __future__ import annotations

import pytest
from support.backends import ScriptedBackend, broken, works

from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel
from skillkeep.runner.ladder import Factories, backend_factories, choose
from skillkeep.settings import SandboxSettings
from skillkeep.vault.interface import Tier

TIERS = list(Tier)
STRANGERS = [Tier.TRUSTED, Tier.UNKNOWN]


def rungs(native: ScriptedBackend, docker: ScriptedBackend) -> Factories:
    local = works("local", AssuranceLevel.NONE)
    local_named = type("Local", (ScriptedBackend,), {"name": "local"})(local.state)
    return {"native": lambda: native, "docker": lambda: docker, "local": lambda: local_named}


def refused(wanted: str, tier: Tier, factories: Factories, least: AssuranceLevel | None = None) -> RunnerError:
    with pytest.raises(RunnerError) as caught:
        choose(wanted, tier, least, factories)
    return caught.value


@pytest.mark.parametrize("tier", TIERS)
def test_native_is_taken_where_it_works(tier: Tier) -> None:
    native = works("native")
    choice = choose("auto", tier, None, rungs(native, works("docker")))
    assert (choice.backend, choice.passed_over) == (native, ())


@pytest.mark.parametrize("tier", TIERS)
def test_a_container_is_next_and_says_why_native_was_not_taken(tier: Tier) -> None:
    docker = works("docker")
    choice = choose("auto", tier, None, rungs(broken("native"), docker))
    assert choice.backend is docker
    assert [(each.backend, each.reason) for each in choice.passed_over] == [("native", "native is not here")]


@pytest.mark.parametrize("tier", STRANGERS)
def test_without_a_sandbox_a_strangers_tool_does_not_run(tier: Tier) -> None:
    error = refused("auto", tier, rungs(broken("native"), broken("docker")))
    assert (error.code, error.exit_code) == ("sandbox_unavailable", 126)
    assert [rung["backend"] for rung in error.context["rungs"]] == ["native", "docker"]
    assert "mend native" in error.hint
    assert "mend docker" in error.hint


def test_without_a_sandbox_a_tool_of_ones_own_runs_on_the_host_and_says_so() -> None:
    choice = choose("auto", Tier.LOCAL, None, rungs(broken("native"), broken("docker")))
    assert choice.backend.name == "local"
    assert [each.backend for each in choice.passed_over] == ["native", "docker"]


@pytest.mark.parametrize("tier", STRANGERS)
def test_asking_for_local_does_not_get_it_for_a_strangers_tool(tier: Tier) -> None:
    error = refused("local", tier, rungs(works("native"), works("docker")))
    assert (error.code, error.exit_code) == ("tier_needs_sandbox", 126)


def test_a_tool_of_ones_own_runs_sandboxed_unless_local_is_asked_for() -> None:
    factories = rungs(works("native"), works("docker"))
    assert choose("auto", Tier.LOCAL, None, factories).backend.name != "local"
    assert choose("local", Tier.LOCAL, None, factories).backend.name == "local"


@pytest.mark.parametrize("tier", TIERS)
def test_a_backend_asked_for_by_name_is_that_one_or_nothing(tier: Tier) -> None:
    error = refused("docker", tier, rungs(works("native"), broken("docker")))
    assert error.code == "sandbox_unavailable"
    assert error.hint == "mend docker"


def test_a_rung_that_holds_too_little_is_passed_over() -> None:
    factories = rungs(works("native", AssuranceLevel.ISOLATED), works("docker"))
    choice = choose("auto", Tier.UNKNOWN, AssuranceLevel.BOUNDED, factories)
    assert choice.backend is factories["docker"]()
    assert "isolated" in choice.passed_over[0].reason


@pytest.mark.parametrize("wanted", ["native", "local"])
def test_less_than_the_run_demands_is_refused_also_by_name(wanted: str) -> None:
    factories = rungs(works("native", AssuranceLevel.ISOLATED), works("docker"))
    assert refused(wanted, Tier.LOCAL, factories, AssuranceLevel.BOUNDED).code == "assurance_too_low"


def test_a_demand_keeps_even_ones_own_tool_from_the_host() -> None:
    factories = rungs(broken("native"), broken("docker"))
    assert refused("auto", Tier.LOCAL, factories, AssuranceLevel.ISOLATED).code == "sandbox_unavailable"


def test_a_filter_without_namespaces_is_no_rung_unless_demanded_so() -> None:
    factories = rungs(works("native", AssuranceLevel.FILTERED), broken("docker"))
    assert refused("auto", Tier.UNKNOWN, factories).code == "sandbox_unavailable"


def test_an_unknown_backend_is_a_usage_error() -> None:
    error = refused("dokcer", Tier.LOCAL, rungs(works("native"), works("docker")))
    assert (error.code, error.exit_code) == ("unknown_backend", 2)


def test_every_backend_can_be_made_and_says_whether_it_works() -> None:
    for name, make in backend_factories(SandboxSettings()).items():
        state = make().probe()
        assert state.backend == name
        assert state.available or (state.reason and state.mend)

"""The suite's generated examples are the same everywhere, and time decides nothing about them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture
def _suite_profile(request: pytest.FixtureRequest) -> None:
    chosen = request.config.getoption("--hypothesis-profile")
    if chosen not in {None, "suite"}:
        pytest.skip(f"the run was started with the profile {chosen}")


@pytest.mark.usefixtures("_suite_profile")
def test_examples_are_derived_from_the_test_and_not_from_chance() -> None:
    chosen = settings()
    assert chosen.derandomize
    assert chosen.deadline is None
    assert chosen.database is None
    assert HealthCheck.too_slow in chosen.suppress_health_check


def examples_seen() -> list[bytes]:
    seen: list[bytes] = []

    @settings(max_examples=30)
    @given(st.binary(max_size=40))
    def property_of(data: bytes) -> None:
        seen.append(data)

    property_of()
    return seen


@pytest.mark.usefixtures("_suite_profile")
def test_two_runs_of_one_property_see_the_same_examples() -> None:
    first = examples_seen()
    assert len(first) > 10
    assert examples_seen() == first

"""What is said of a lent sandbox comes out as it went in, and nothing else is taken for it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.runner.interface import Assurance, AssuranceLevel, Layer
from skillkeep.runner.native.offer import Offer

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
FACTS: st.SearchStrategy[Mapping[str, str]] = st.dictionaries(TEXT, TEXT, max_size=3)
LAYERS = st.lists(
    st.builds(Layer, st.sampled_from(["identity", "namespaces", "cgroup", "seccomp", "root"]), st.booleans(), FACTS),
    max_size=6,
    unique_by=lambda layer: layer.name,
)
HELD = st.builds(
    Assurance,
    st.sampled_from(AssuranceLevel),
    LAYERS.map(tuple),
    st.none() | st.integers(0, 2**32),
    st.lists(TEXT, max_size=2).map(tuple),
)
COUNTERS = st.lists(st.tuples(TEXT, st.none() | TEXT), max_size=3).map(tuple)


@given(st.integers(1, 2**22), HELD, COUNTERS)
def test_it_is_read_as_it_was_written(init: int, held: Assurance, counters: tuple[tuple[str, str | None], ...]) -> None:
    offer = Offer(init, held, counters)
    assert Offer.of(offer.packed()) == offer


def test_two_of_a_kind_have_their_own_facts() -> None:
    def offer(uid: str) -> Offer:
        layers = (Layer("identity", True, {"host_uid": uid}), Layer("seccomp", True, {"mode": "filter"}))
        return Offer(int(uid), Assurance(AssuranceLevel.BOUNDED, layers, int(uid)), (("peak_memory", None),))

    one, two = Offer.of(offer("71").packed()), Offer.of(offer("72").packed())
    assert (one, two) == (offer("71"), offer("72"))
    assert one.assurance.layers[1] == two.assurance.layers[1]
    assert one.assurance.layers[1].facts is not two.assurance.layers[1].facts


def test_a_fact_with_a_nul_is_not_sent() -> None:
    held = Assurance(AssuranceLevel.BOUNDED, (Layer("cgroup", True, {"memory": "/a\0b"}),))
    with pytest.raises(ValueError, match="NUL"):
        Offer(1, held, ()).packed()


@given(st.binary(max_size=64))
def test_nonsense_is_an_error_that_callers_know(words: bytes) -> None:
    good = Offer(7, Assurance(AssuranceLevel.BOUNDED, (Layer("identity", True, {"host_uid": "1"}),), 1), ()).packed()
    for each in (words, good + words, good.partition(b"\0")[0] + b"\0" + words):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            Offer.of(each)

"""The fuzz targets in the suite: their seeds, bounded changes of them, and every input that once broke a reader."""

from __future__ import annotations

import time
from random import Random

import pytest
from fuzzing.mutate import mutated, reshaped
from fuzzing.target import broken_inputs
from fuzzing.targets import all_targets
from hypothesis import given, settings
from hypothesis import strategies as st

TARGETS = all_targets()
# A whole audit costs far more than one reader; the readers in it have targets of their own.
SECONDS = 5.0  # of CPU, for an input of at most 64 KiB
EXAMPLES = {"tree": 40, "report-html": 40}


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_reads_its_own_seeds(name: str) -> None:
    seeds = list(TARGETS[name].seeds())
    assert seeds
    for seed in seeds[:60]:
        TARGETS[name].check(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_that_once_broke_a_reader_breaks_it_again(name: str) -> None:
    TARGETS[name].check(next(iter(TARGETS[name].seeds())))  # rules and tables are loaded once
    for path in broken_inputs(name):
        begun = time.process_time()
        TARGETS[name].check(path.read_bytes())
        assert time.process_time() - begun < SECONDS, path


@pytest.mark.parametrize("name", TARGETS)
def test_changed_inputs_break_no_promise(name: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds())
    change = reshaped if target.grammar == "python" else mutated

    @settings(max_examples=EXAMPLES.get(name, 60))
    @given(st.sampled_from(seeds), st.integers(0, 1 << 32), st.booleans())
    def hold(seed: bytes, chance: int, generic: bool) -> None:
        target.check((mutated if generic else change)(seed, Random(chance)))

    hold()


def test_every_kept_input_belongs_to_a_target() -> None:
    from fuzzing.target import BROKEN

    assert {folder.name for folder in BROKEN.iterdir() if folder.is_dir()} <= set(TARGETS)

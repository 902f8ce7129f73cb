"""Work that takes too long is interrupted; work that does not is left alone."""

from __future__ import annotations

import signal

import pytest
from support.waiting import later

from skillkeep.auditor.watch import TooSlowError, Watch


def _forever() -> None:
    while True:
        pass


def test_work_past_its_limit_is_interrupted_and_the_next_is_not() -> None:
    watch, done = Watch(), []
    with watch.ticking():
        with pytest.raises(TooSlowError):
            watch.run(_forever, 0.05, 60.0)
        watch.run(lambda: done.append(1), 60.0, 60.0)
    assert done == [1]


def test_work_that_swallows_the_interruption_is_interrupted_again() -> None:
    interrupted = []

    def stubborn() -> None:
        while True:
            try:
                _forever()
            except TooSlowError:
                interrupted.append(1)
                if len(interrupted) == 2:
                    raise

    watch = Watch()
    with watch.ticking(), pytest.raises(TooSlowError):
        watch.run(stubborn, 0.05, 60.0)
    assert len(interrupted) == 2


def test_the_signal_and_the_timer_are_given_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with Watch().ticking():
        assert signal.getsignal(signal.SIGALRM) is not before
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_clock_on_the_wall_counts_too() -> None:
    watch = Watch()
    with watch.ticking(), pytest.raises(TooSlowError):
        watch.run(_forever, 60.0, 0.05)


def test_time_that_other_programs_take_does_not_count_as_its_own() -> None:
    """Waiting stands for a busy machine: the wall's clock goes on, ours does not."""
    watch, done = Watch(), []

    def interrupted_by_others() -> None:
        later(0.5)
        done.append(1)

    with watch.ticking():
        watch.run(interrupted_by_others, 0.2, 60.0)
    assert done == [1]

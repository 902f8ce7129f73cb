"""One Hypothesis profile for the whole suite: the same examples in every run, and no clock that a busy machine fails.

`pytest --hypothesis-profile=explore` looks at new examples instead; the long search is `make fuzz`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from support.sandbox import remove_staged

SLOW_MACHINE = (HealthCheck.too_slow,)

settings.register_profile(
    "suite", derandomize=True, deadline=None, database=None, print_blob=True, suppress_health_check=SLOW_MACHINE
)
settings.register_profile("explore", deadline=None, print_blob=True, suppress_health_check=SLOW_MACHINE)
settings.load_profile("suite")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it puts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def _staged() -> Iterator[None]:
    """What the tests of a session stage for other users is removed at its end."""
    yield
    remove_staged()

"""One Hypothesis profile for the whole suite: the same examples in every run, and no clock that a busy machine fails.

`pytest --hypothesis-profile=explore` looks at new examples instead; the long search is `make fuzz`.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

SLOW_MACHINE = (HealthCheck.too_slow,)

settings.register_profile(
    "suite", derandomize=True, deadline=None, database=None, print_blob=True, suppress_health_check=SLOW_MACHINE
)
settings.register_profile("explore", deadline=None, print_blob=True, suppress_health_check=SLOW_MACHINE)
settings.load_profile("suite")

"""Time, passed in rather than read, so that tests decide what time it is."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["SYSTEM_CLOCK", "Clock", "SystemClock", "timestamp"]


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """The current time, in UTC."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


SYSTEM_CLOCK: Clock = SystemClock()


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds, for example ``2026-11-21T14:05:09.123Z``."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"

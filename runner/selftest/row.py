"""What one attack did in one sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from skillkeep.runner.selftest.inside.harness import ABSENT, OPEN, Answer

__all__ = ["Row", "Verdict", "judged"]


class Verdict(StrEnum):
    """How an attack ended."""

    CLOSED = "closed"
    OPEN = "open"
    INTENDED = "intended"
    """It worked, and is meant to: `Row.reason` says why."""
    UNTESTED = "not testable"
    """Nothing can be said here: `Row.reason` says why."""


@dataclass(frozen=True)
class Row:
    """One attack in one backend: what was seen, and why that is right or cannot be said."""

    attack: str
    area: str
    title: str
    backend: str
    verdict: Verdict
    seen: str
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON form, the verdict as its word."""
        return {**asdict(self), "verdict": self.verdict.value}


def judged(
    about: tuple[str, str, str], backend: str, answer: Answer | None, intended: Mapping[str, str] | None = None
) -> Row:
    """The row for `answer` to the attack `about` (name, area, title); None: it was not carried out.

    `intended` gives the reason by backend or ``*``.
    """
    name, area, title = about
    if answer is None:
        return Row(name, area, title, backend, Verdict.UNTESTED, "", "the sandbox ended before it was tried")
    verdict, seen = answer
    if verdict == ABSENT:
        return Row(name, area, title, backend, Verdict.UNTESTED, "", seen)
    reason = (intended or {}).get(backend, (intended or {}).get("*", ""))
    if verdict == OPEN:
        return Row(name, area, title, backend, Verdict.INTENDED if reason else Verdict.OPEN, seen, reason)
    return Row(name, area, title, backend, Verdict.CLOSED, seen)

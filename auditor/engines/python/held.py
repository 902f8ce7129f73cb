"""Answers that another file of the tool may make more exact, kept back until all files were read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from skillkeep.auditor.engines.interface import Context, Emitter, Segment
from skillkeep.auditor.interface import Location, Severity

__all__ = ["Held"]

_TENTATIVE: Final = frozenset(
    {"python-eval", "python-os-command", "python-shell-true", "python-dynamic-import", "python-chosen-import"}
)


class Held:
    """An `Emitter` that passes everything on but what rests on a value this file alone does not tell.

    Nothing is lost: `release` reports it all when no other file told more.
    """

    def __init__(self, emit: Emitter) -> None:
        self._emit = emit
        self._later: list[Callable[[], None]] = []

    @property
    def notes(self) -> dict[str, Any]:
        """See `Emitter.notes`."""
        return self._emit.notes

    def release(self) -> None:
        """Report what was kept back."""
        for report in self._later:
            report()
        self._later.clear()

    def finding(
        self,
        rule: str,
        at: Location,
        excerpt: str,
        message: str = "",
        *,
        segment: Segment | None = None,
        subject: str = "",
        severity: Severity | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        """See `Emitter.finding`."""
        emit = partial(self._emit.finding, segment=segment, subject=subject, severity=severity, hosts=hosts)
        report = partial(emit, rule, at, excerpt, message)
        if rule in _TENTATIVE:
            self._later.append(report)
        else:
            report()

    def capability(self, kind: str, value: str, at: Location) -> None:
        """See `Emitter.capability`."""
        if value == "*":
            self._later.append(partial(self._emit.capability, kind, value, at))
        else:
            self._emit.capability(kind, value, at)

    def derive(
        self,
        text: str | bytes,
        context: Context | None,
        at: Location,
        via: str,
        parent: Segment | None = None,
        name: str = "",
    ) -> None:
        """See `Emitter.derive`."""
        self._emit.derive(text, context, at, via, parent, name)

    def understood(self, segment: Segment) -> None:
        """See `Emitter.understood`."""
        self._emit.understood(segment)

    def was_understood(self, segment: Segment) -> bool:
        """See `Emitter.was_understood`."""
        return self._emit.was_understood(segment)

    def incomplete(self, path: str, reason: str) -> None:
        """See `Emitter.incomplete`."""
        self._emit.incomplete(path, reason)

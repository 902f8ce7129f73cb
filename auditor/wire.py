"""What the caller's side and the confined side of an audit say to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from skillkeep.auditor.interface import AuditOptions, Capability, EngineRun, Finding, LedgerEntry, Location, Suppression

__all__ = ["FILE_MARK", "options_from", "options_to", "plain"]

FILE_MARK: Final = "@skillkeep-file "  # before the number of the file that is read next, on the worker's stderr

_NESTED: Final = frozenset({Location, Suppression})


def plain(item: Finding | Capability | LedgerEntry | EngineRun) -> dict[str, Any]:
    """`dataclasses.asdict` of a part of a report, without its copies of what cannot change."""
    return {name: vars(value).copy() if value.__class__ in _NESTED else value for name, value in vars(item).items()}


def options_to(options: AuditOptions) -> dict[str, Any]:
    """Options as JSON-able data. The reviewer stays behind: a worker never connects."""
    plain = asdict(replace(options, rubric=None))
    return {**plain, "engines": None if options.engines is None else sorted(options.engines)}


def options_from(data: Mapping[str, Any]) -> AuditOptions:
    """The reverse of `options_to`."""
    engines = data.get("engines")
    return AuditOptions(**{**data, "engines": None if engines is None else frozenset(engines)})

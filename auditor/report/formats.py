"""Finds the formats: every module of this folder that binds ``FORMAT``, by the module's name."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from skillkeep.auditor import report
from skillkeep.auditor.report.interface import Format
from skillkeep.errors import UsageError

__all__ = ["find_format", "format_names"]


def format_names() -> tuple[str, ...]:
    """The names of all formats, sorted."""
    return tuple(name for name in _modules() if _load(name) is not None)


def find_format(name: str) -> Format:
    """The format with this name, imported only now. Raises `UsageError` (`usage`) that lists the names."""
    found = _load(name) if name in _modules() else None
    if found is None:
        hint = f"Choose one of: {', '.join(format_names())}."
        raise UsageError("usage", "this is no format of a report", hint, format=name)
    return found


def _modules() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(report.__path__))


def _load(name: str) -> Format | None:
    found = getattr(import_module(f"{report.__name__}.{name}"), "FORMAT", None)
    return found if isinstance(found, Format) else None

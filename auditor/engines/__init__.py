"""One analyser per file: a module that binds ``ENGINE``. `_PROGRAMS` are programs, `by_language` is imported at use."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from skillkeep.auditor.engines.by_language import BY_LANGUAGE
from skillkeep.auditor.engines.interface import Engine, ProgramEngine

__all__ = ["file_engines", "program_engines"]


# Engines that are programs of their own: who starts them does not import all the others.
_PROGRAMS = frozenset({"semgrep"})


@cache
def _bound(programs: bool) -> tuple[Engine | ProgramEngine, ...]:
    late = {each.module for each in BY_LANGUAGE}
    found: list[Engine | ProgramEngine] = [] if programs else list(BY_LANGUAGE)
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda item: item.name):
        if (module.name in _PROGRAMS) is programs and module.name not in late:
            engine = getattr(import_module(f"{__name__}.{module.name}"), "ENGINE", None)
            if isinstance(engine, Engine | ProgramEngine):
                found.append(engine)
    return tuple(found)


def file_engines() -> tuple[Engine, ...]:
    """The engines that read files inside the confined worker, in their order."""
    return tuple(sorted((e for e in _bound(False) if isinstance(e, Engine)), key=lambda e: (e.order, e.name)))


def program_engines() -> tuple[ProgramEngine, ...]:
    """The engines that are programs of their own."""
    return tuple(engine for engine in _bound(True) if isinstance(engine, ProgramEngine))

"""One module a part of the house; each binds ``TARGETS``. To add a target is to add an entry."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from fuzzing.target import Target

__all__ = ["all_targets"]


@cache
def all_targets() -> dict[str, Target]:
    """Every target by its name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [target for name in modules for target in import_module(f"{__name__}.{name}").TARGETS]
    return {target.name: target for target in found}

"""Patterns of `re` that are compiled when they are first asked: a start needs few of those that its modules name."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast

__all__ = ["lazily"]


class _Lazy:
    """Stands for a pattern, whose methods it gets with the first of them."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._told = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(*self._told)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(self._compiled, name)
        return found


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, later."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))

"""Types that only one module may construct, so that an order of steps cannot be skipped by accident.

Python cannot stop code in the same process that wants to cheat; this stops the honest mistake of building,
say, a `VaultedTool` from a path nobody verified. Pattern: trio's ``NoPublicConstructor``.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Sealed", "SealedMeta", "sealer"]

_taken: set[type] = set()


class SealedMeta(ABCMeta):
    """Metaclass whose classes refuse to be called."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{cls.__module__}.{cls.__qualname__} is built only by the step that owns it")


class Sealed(metaclass=SealedMeta):
    """Base of sealed types: ``Thing(...)`` raises `TypeError`; see `sealer`."""


T = TypeVar("T", bound=Sealed)


def sealer(cls: type[T]) -> Callable[..., T]:
    """Return the constructor of `cls`. It is handed out once, to the module that defines `cls`, at import.

    Raises `TypeError` when somebody asks a second time.
    """
    if cls in _taken:
        raise TypeError(f"the constructor of {cls.__qualname__} was already taken by its owner")
    _taken.add(cls)

    def build(*args: Any, **kwargs: Any) -> T:
        built: T = type.__call__(cls, *args, **kwargs)
        return built

    return build

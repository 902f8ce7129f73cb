"""What one JavaScript module may know of the others of its tool: the questions, and the answers of a file by itself.

A path of a module is ``file:`` and its name with the dots under another sign (`module_path`); members follow after
dots.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from skillkeep.auditor.engines.javascript.values import Value
from skillkeep.auditor.engines.network import Host

__all__ = ["ALONE", "Alone", "Surroundings"]


class Surroundings(Protocol):
    """Answers about ``file:`` paths: a module of the same tool and, after a dot, its members."""

    def named(self, path: str) -> str:
        """The path that a module is followed under."""

    def member(self, path: str) -> Value:
        """What ``module.name`` stands for."""

    def labels(self, path: str) -> frozenset[str]:
        """The labels of ``module.name`` and of what it returns when called."""

    def senders(self, path: str) -> Mapping[int, str]:
        """The parameters of the function ``module.name`` that it sends somewhere, and through what."""

    def is_function(self, path: str) -> bool:
        """True when ``module.name`` is a function of that module and can be nothing else."""

    def places(self, path: str) -> tuple[Host, ...]:
        """The hosts that the module names for the store of which ``path`` is a method."""


class Alone:
    """A file by itself."""

    def named(self, path: str) -> str:
        """The path itself."""
        return path

    def member(self, path: str) -> Value:
        """Nothing is known but its name."""
        return Value(paths=(path,))

    def labels(self, path: str) -> frozenset[str]:
        """None."""
        return frozenset()

    def senders(self, path: str) -> Mapping[int, str]:
        """None."""
        return {}

    def is_function(self, path: str) -> bool:
        """Not known."""
        return False

    def places(self, path: str) -> tuple[Host, ...]:
        """None."""
        return ()


ALONE: Final = Alone()

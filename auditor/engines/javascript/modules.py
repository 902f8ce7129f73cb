"""What one module of a tool knows of the others that it imports."""

from __future__ import annotations

from typing import Protocol

from skillkeep.auditor.engines.javascript.values import Value

__all__ = ["ALONE", "Alone", "Surroundings"]


class Surroundings(Protocol):
    """Answers about ``file:`` paths: a module of the same tool and, after a dot, its members."""

    def named(self, path: str) -> str:
        """The path that a module is followed under."""

    def member(self, path: str) -> Value:
        """What ``module.name`` stands for."""

    def labels(self, path: str) -> frozenset[str]:
        """The labels of ``module.name`` and of what it returns when called."""


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


ALONE = Alone()

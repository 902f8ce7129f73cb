"""Progress is handed in; library users never see any unless they ask."""

from __future__ import annotations

from typing import Protocol

__all__ = ["SILENT", "Progress"]


class Progress(Protocol):
    """Receives what a long piece of work is doing."""

    def step(self, label: str) -> None:
        """A new step began; `label` is our own text, never text from a tool."""

    def count(self, done: int, total: int) -> None:
        """`done` of `total` units of the current step are finished; `total` 0 means unknown."""


class _Silent:
    def step(self, label: str) -> None:
        return

    def count(self, done: int, total: int) -> None:
        return


SILENT: Progress = _Silent()

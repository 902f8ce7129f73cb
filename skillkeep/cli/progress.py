"""A progress line on stderr that vanishes when the work is done, and is not there off a terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from skillkeep.cli.output import coloured, is_terminal
from skillkeep.progress import SILENT, Progress

__all__ = ["terminal_progress"]


@contextlib.contextmanager
def terminal_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """A `Progress` for the length of a ``with`` block: a spinner at a terminal, silence elsewhere or in CI."""
    if quiet or os.environ.get("CI") or not is_terminal(sys.stderr):
        yield SILENT
        return
    from rich.console import Console

    with Console(stderr=True, no_color=not coloured(sys.stderr)).status("") as status:
        yield _Spinner(status.update)


class _Spinner:
    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._label = ""

    def step(self, label: str) -> None:
        self._label = label
        self._show(label)

    def count(self, done: int, total: int) -> None:
        self._show(f"{self._label} {done}/{total}" if total else f"{self._label} {done}")

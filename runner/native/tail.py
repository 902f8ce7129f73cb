"""A run's own texts, laid out behind a program: its arguments, environment and paths."""

from __future__ import annotations

import os
from typing import Protocol

from skillkeep.kernel.tape import strings

__all__ = ["Commanded", "Tail", "candidates"]


class Commanded(Protocol):
    """A program with its arguments, its whole environment, PATH among it, and the folder it begins in."""

    @property
    def argv(self) -> tuple[str, ...]: ...

    @property
    def env(self) -> tuple[tuple[str, str], ...]: ...

    @property
    def workdir(self) -> str: ...


class Tail:
    """Data that will lie at `address`, and the addresses its parts get."""

    def __init__(self, address: int) -> None:
        self._address, self.data = address, bytearray()

    def text(self, text: bytes) -> int:
        """Add a C string; its address."""
        at = self._address + len(self.data)
        self.data += text + b"\0"
        self.data += bytes(-len(self.data) % 8)
        return at

    def strings(self, words: list[bytes]) -> int:
        """Add a vector of C strings; its address."""
        at = self._address + len(self.data)
        self.data += strings(words, at)
        return at


def candidates(plan: Commanded) -> list[bytes]:
    """The paths to try for the program of `plan`, as execvp(3) does."""
    program, path = plan.argv[0], dict(plan.env)["PATH"]
    folders = [""] if "/" in program else [f"{folder or '.'}/" for folder in path.split(":")]
    return [os.fsencode(folder + program) for folder in folders]

"""Why a sandbox did not run its payload, inside the fork server."""

from __future__ import annotations

import os

__all__ = ["LayerError", "StartError"]


class LayerError(Exception):
    """A layer of the sandbox could not be set up, or was measured to be missing."""

    def __init__(self, layer: str, detail: str, hint: str = "", number: str = "") -> None:
        super().__init__(f"{layer}: {detail}")
        self.layer, self.detail, self.hint, self.number = layer, detail, hint, number


class StartError(Exception):
    """The sandbox stood, but the program could not be started in it; `number` is the errno of execve."""

    def __init__(self, program: str, number: int) -> None:
        super().__init__(f"{program}: {os.strerror(number)}")
        self.program, self.number = program, number

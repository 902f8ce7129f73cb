"""Why a sandbox did not run its payload, inside the fork server."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

__all__ = ["LayerError", "StartError", "deciding"]


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


def deciding(answers: Sequence[int]) -> int:
    """The errno that execvp(3) would give for the -errno of each path, 0 for those that were not tried."""
    tried = [-answer for answer in answers if answer]
    last = tried[-1] if tried else errno.EIO
    if last in (errno.ENOENT, errno.ENOTDIR) and errno.EACCES in tried:
        return errno.EACCES
    return errno.ENOENT if last == errno.ENOTDIR and len(tried) > 1 else last

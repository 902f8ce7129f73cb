"""The root of a sandbox as its init sees it, measured while the payload still lays down its rights.

The payload begins in init's mounts and with init's root. So what was measured of init is what would be measured of the
payload later, as long as both have the same mount namespace and root, and no mount has come, gone or changed since,
which the kernel says (proc_pid_mountinfo(5)). Init hides its memory, so that only a server of root can look at it.
"""

from __future__ import annotations

import os
import select

from skillkeep.kernel.procfs import read_again
from skillkeep.runner.interface import Layer
from skillkeep.runner.native.attest import root_in
from skillkeep.runner.native.failures import LayerError

__all__ = ["SharedRoot"]


class SharedRoot:
    """Nothing is known of it until `see`. The owner closes it."""

    def __init__(self) -> None:
        self._mounts = -1
        self._changes = select.poll()
        self._place: tuple[str, int, int] | None = None
        self._layer: Layer | None = None

    def see(self, init: int) -> None:
        """Measure that of `init`, once. What cannot be seen or does not hold is left to be measured of the payload."""
        try:
            self._mounts = os.open(f"/proc/{init}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
            self._changes.register(self._mounts, select.POLLPRI)
            self._layer, self._place = root_in(read_again(self._mounts)), _place_of(init)
        except (OSError, LayerError):
            self.close()

    def of(self, payload: int) -> Layer | None:
        """What holds `payload` too; None where it has to be measured itself."""
        try:
            same = self._mounts >= 0 and _place_of(payload) == self._place and not self._changes.poll(0)
        except OSError:  # it has ended, which measuring it says
            return None
        return self._layer if same else None

    def close(self) -> None:
        """Let go of it."""
        if self._mounts >= 0:
            os.close(self._mounts)
            self._mounts = -1


def _place_of(pid: int) -> tuple[str, int, int]:
    """A process's mount namespace, and device and inode of its root."""
    root = os.stat(f"/proc/{pid}/root")
    return os.readlink(f"/proc/{pid}/ns/mnt"), root.st_dev, root.st_ino

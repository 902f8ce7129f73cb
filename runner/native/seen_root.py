"""The root that a waiting payload has, read from its mounts, outside.

It can be looked at before the payload waits, as soon as nobody mounts any more, since the kernel tells of each change.
"""

from __future__ import annotations

import os
import select
from functools import lru_cache

from skillkeep.kernel.procfs import read_again, read_record, read_text
from skillkeep.runner.interface import Layer
from skillkeep.runner.native.failures import LayerError

__all__ = ["SeenRoot", "root_of"]

_MOUNT_NUMBERS, _MOUNT_WORDS = 3, 3
_Mount = tuple[str, frozenset[str], str, bool]
"""Of a line of mountinfo: where, options, what follows, and whether no program in it gains rights or opens devices."""


class SeenRoot:
    """The root of the waiting process `pid`: its mounts are read again when one has come, gone or changed.

    The kernel says so (proc_pid_mountinfo(5)). The file stays open: what it shows is of this very process, whatever
    its number means later. Raises OSError.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._mounts = os.open(f"/proc/{pid}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._changes = select.poll()
        self._changes.register(self._mounts, select.POLLPRI)
        self._layer: Layer | None = None

    @classmethod
    def of_child(cls, init: int) -> SeenRoot | None:
        """Of the one child of `init`, looked at already; None where that cannot be seen yet. Raises LayerError."""
        try:
            root = cls(int(read_record(f"/proc/{init}/task/{init}/children")))
        except (OSError, ValueError):
            return None
        try:
            root.layer()
        except OSError:
            root.close()
            return None
        except LayerError:
            root.close()
            raise
        return root

    def layer(self) -> Layer:
        """As it is now. Raises LayerError when it does not hold, OSError."""
        if self._changes.poll(0) or self._layer is None:
            self._layer = None
            self._layer = _root([_mount(line) for line in _lines(read_again(self._mounts))])
        return self._layer

    def close(self) -> None:
        """Let go of the file, which holds the mounts."""
        if self._mounts >= 0:
            os.close(self._mounts)
            self._mounts = -1


def root_of(payload: int) -> Layer:
    """The layer of that process. Raises LayerError when it does not hold, OSError."""
    return _root([_mount(line) for line in _lines(read_text(f"/proc/{payload}/mountinfo"))])


def _lines(text: str) -> list[str]:
    """By line feeds alone: the kernel escapes no other character that ends a line."""
    return text.removesuffix("\n").split("\n")


def _mount(line: str) -> _Mount:
    """The numbers that begin a line say nothing here, and are what differs from one sandbox to the next."""
    numbers = line.split(" ", _MOUNT_NUMBERS)
    if len(numbers) <= _MOUNT_NUMBERS:
        raise LayerError("root", "a line of the payload's mountinfo cannot be read")
    return _described(numbers[_MOUNT_NUMBERS])


@lru_cache(maxsize=256)
def _described(mount: str) -> _Mount:
    words = mount.split(" ", _MOUNT_WORDS)
    if len(words) <= _MOUNT_WORDS:
        raise LayerError("root", "a line of the payload's mountinfo cannot be read")
    place, options = words[1], frozenset(words[2].split(","))
    return place, options, words[3], _is_harmless(place, options)


def _is_harmless(place: str, options: frozenset[str]) -> bool:
    return "nosuid" in options and ("nodev" in options or place.startswith(("/dev/", "/proc/")))


def _root(rows: list[_Mount]) -> Layer:
    top = [row for row in rows if row[0] == "/"]
    if len(top) != 1 or " - tmpfs " not in f" {top[0][2]}" or "ro" not in top[0][1]:
        raise LayerError("root", "the payload's root is not one read-only tmpfs")
    if not any(row[0] == "/proc/sys" and "ro" in row[1] for row in rows):
        raise LayerError("proc", "/proc/sys is not a read-only mount")
    for row in rows:
        if not row[3]:
            raise LayerError("root", f"the mount {row[0]} is not nosuid and nodev")
    return Layer("root", True, {"mounts": str(len(rows)), "root": "read-only tmpfs, every mount nosuid"})

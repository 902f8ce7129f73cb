"""Capability sets of the calling thread (capabilities(7))."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Collection, Iterator

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded, syscall
from skillkeep.kernel.tape import Tape

__all__ = [
    "CAP_DAC_READ_SEARCH",
    "CAP_SYS_PTRACE",
    "LAYER",
    "drop_bounding",
    "keep_only",
    "last_capability",
    "sets",
    "tape_bounding",
    "tape_nothing",
    "without_any",
]

LAYER = "capabilities"
CAP_DAC_READ_SEARCH, CAP_SETPCAP, CAP_SYS_PTRACE = 2, 8, 19

_VERSION_3 = 0x20080522
_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL = 23, 24, 47, 4


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint32 * 6),)


def drop_bounding() -> None:
    """Empty the bounding and ambient sets, so that no execve brings anything back. Needs CAP_SETPCAP."""
    syscall(LAYER, "prctl", _PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    for capability in range(last_capability() + 1):
        syscall(LAYER, "prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)


@contextlib.contextmanager
def without_any() -> Iterator[None]:
    """A block in which no capability is effective, so that files are opened by ownership and mode alone."""
    header, before = _Header(_VERSION_3, 0), _Data()
    syscall(LAYER, "capget", header, before)
    low, high = before.words[1], before.words[4]
    inherited = (before.words[2], before.words[5])
    syscall(LAYER, "capset", header, _Data((ctypes.c_uint32 * 6)(0, low, inherited[0], 0, high, inherited[1])))
    try:
        yield
    finally:
        syscall(LAYER, "capset", header, before)


def tape_bounding(tape: Tape) -> None:
    """Add the steps that empty the bounding and ambient sets. Needs CAP_SETPCAP."""
    tape.call(LAYER, "prctl", _PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0, why="clear the ambient set")
    for capability in range(last_capability() + 1):
        tape.call(LAYER, "prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0, why=f"drop {capability} from the bounding set")


def tape_nothing(tape: Tape) -> None:
    """Add the step that empties the effective, permitted and inheritable sets."""
    tape.call(LAYER, "capset", tape.data(bytes(_Header(_VERSION_3, 0))), tape.data(bytes(_Data())))


def last_capability() -> int:
    """The highest capability this kernel knows."""
    with guarded(LAYER, "read cap_last_cap"), open("/proc/sys/kernel/cap_last_cap", encoding="utf-8") as file:
        return int(file.read())


def keep_only(capabilities: Collection[int] = ()) -> None:
    """Reduce the effective and permitted sets to `capabilities` (those not held stay absent), inheritable to none."""
    wanted = sum(1 << capability for capability in capabilities) & sets()["CapPrm"]
    low, high = wanted & 0xFFFFFFFF, wanted >> 32
    data = _Data((ctypes.c_uint32 * 6)(low, low, 0, high, high, 0))
    syscall(LAYER, "capset", _Header(_VERSION_3, 0), data)
    left = sets()
    if left["CapEff"] != wanted or left["CapPrm"] != wanted or left["CapInh"]:
        raise KernelError(LAYER, 0, "capabilities are left after the drop")


def sets(pid: str = "self") -> dict[str, int]:
    """CapInh, CapPrm, CapEff, CapBnd and CapAmb of a process, as bit masks, from /proc/<pid>/status."""
    with guarded(LAYER, f"read /proc/{pid}/status"), open(f"/proc/{pid}/status", encoding="utf-8") as file:
        lines = [line.split() for line in file if line.startswith("Cap")]
    return {name.rstrip(":"): int(value, 16) for name, value in lines}

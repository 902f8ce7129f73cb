"""As root, making things that belong to somebody else from their first moment on (setfsuid(2), setfsgid(2)).

In a folder of a user a name is the user's: between making something and looking for it by name again, any process of
that user can put something of root's in its place. So nothing is made as root and given away by name later.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterator

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import syscall

__all__ = ["made_for"]

_LAYER = "dry_run"
_ASK = -1
_SET_PDEATHSIG, _GET_PDEATHSIG, _GET_DUMPABLE, _SET_DUMPABLE = 1, 2, 3, 4


@contextlib.contextmanager
def made_for(owner: os.stat_result) -> Iterator[None]:
    """Within, what this thread makes belongs to the user and group of `owner`, and it may make what that user may.

    Does nothing where this process is not root. Raises OSError for a user that cannot be acted for.
    """
    if os.geteuid() != 0 or (owner.st_uid, owner.st_gid) == (0, 0):
        yield
        return
    with _kept_settings(), _as("setfsgid", owner.st_gid), _as("setfsuid", owner.st_uid):
        yield


@contextlib.contextmanager
def _as(call: str, identity: int) -> Iterator[None]:
    """The kernel answers with the identity of before, and never with an error: what holds is asked for."""
    try:
        before = syscall(_LAYER, call, identity)
        try:
            if syscall(_LAYER, call, _ASK) != identity:
                raise OSError(errno.EPERM, f"it cannot be made for the user or group {identity}")
            yield
        finally:
            syscall(_LAYER, call, before)
    except KernelError as error:
        raise OSError(error.number, os.strerror(error.number)) from error


@contextlib.contextmanager
def _kept_settings() -> Iterator[None]:
    """A change of identity takes the signal at a parent's death and the right to be looked at away (prctl(2))."""
    signal = ctypes.create_string_buffer(4)
    syscall(_LAYER, "prctl", _GET_PDEATHSIG, signal)
    dumpable = syscall(_LAYER, "prctl", _GET_DUMPABLE)
    try:
        yield
    finally:
        syscall(_LAYER, "prctl", _SET_PDEATHSIG, int.from_bytes(signal.raw, "little"))
        if dumpable == 1:
            syscall(_LAYER, "prctl", _SET_DUMPABLE, 1)

"""Raw system calls through ctypes. Every failure is a KernelError that names the layer it belongs to."""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager
from types import TracebackType

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.syscalls import number

__all__ = ["AT_FDCWD", "guarded", "syscall"]

AT_FDCWD = -100

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

Argument = int | bytes | ctypes.Array[ctypes.c_char] | ctypes.Structure | None


def syscall(layer: str, name: str, *arguments: Argument) -> int:
    """Call `name` of the running architecture's table.

    Integers are passed as long, bytes as NUL-terminated strings, structures and arrays by address, None as
    NULL. Raises KernelError(layer, errno) when the kernel answers -1.
    """
    ctypes.set_errno(0)
    result = int(_libc.syscall(ctypes.c_long(number(name)), *map(_convert, arguments)))
    if result == -1:
        raise KernelError(layer, ctypes.get_errno(), name)
    return result


class guarded(AbstractContextManager[None]):  # noqa: N801
    """`with guarded("root", "mkdir /x"):` turns an OSError of the block into a KernelError of that layer."""

    def __init__(self, layer: str, detail: str) -> None:
        self.layer = layer
        self.detail = detail

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise KernelError(self.layer, error.errno or 0, self.detail) from error


def _convert(value: Argument) -> object:
    if isinstance(value, int):
        return ctypes.c_long(value)
    if isinstance(value, bytes):
        return ctypes.c_char_p(value)
    if value is None:
        return ctypes.c_void_p(None)
    return ctypes.byref(value)

"""Landlock: the process gives up every file-system and network right it does not name.

Source: Documentation/userspace-api/landlock.rst. What an ABI does not know is not handled by it, and `Ruleset`
says so in `handled`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded, syscall

__all__ = ["LAYER", "Ruleset", "abi", "abi_or_none"]

LAYER = "landlock"

_VERSION_FLAG, _RULE_PATH, _RULE_PORT = 1, 1, 2
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << n for n in range(6))
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << n for n in range(6, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_UNIX, _SCOPE_SIGNAL = 1, 2

_READ = _READ_FILE | _READ_DIR
_CHANGE = (
    _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _REFER | _TRUNCATE
)  # no device, socket or FIFO may be made
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


def abi() -> int:
    """The kernel's Landlock version. Raises KernelError when it is missing or switched off."""
    return syscall(LAYER, "landlock_create_ruleset", None, 0, _VERSION_FLAG)


def abi_or_none() -> int:
    """The kernel's Landlock version, or 0 where the kernel was built or started without it."""
    try:
        return abi()
    except KernelError as error:
        if error.number in (errno.ENOSYS, errno.EOPNOTSUPP):
            return 0
        raise


class _RulesetAttr(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


class _PortAttr(ctypes.Structure):
    _fields_ = (("access", ctypes.c_uint64), ("port", ctypes.c_uint64))


class Ruleset:
    """Rights are added by path or port, then `restrict_self` gives up all others for good.

    `handled` names what this kernel enforces: `files`, `tcp`, `abstract_sockets`, `signals`. `scoped` False
    leaves signals and abstract sockets alone, for a process that namespaces already hold.
    """

    def __init__(self, version: int | None = None, scoped: bool = True) -> None:
        self.version = abi() if version is None else version
        bits = 13 + (self.version >= 2) + (self.version >= 3) + (self.version >= 5)
        self._fs = (1 << bits) - 1
        net = _BIND_TCP | _CONNECT_TCP if self.version >= 4 else 0
        scope = _SCOPE_ABSTRACT_UNIX | _SCOPE_SIGNAL if scoped and self.version >= 6 else 0
        self.handled = ("files", *(["tcp"] if net else []), *(["abstract_sockets", "signals"] if scope else []))
        attr = _RulesetAttr(self._fs, net, scope)
        size = 24 if scope else 16 if net else 8
        self._fd = syscall(LAYER, "landlock_create_ruleset", attr, size, 0)

    def allow_read(self, paths: Iterable[str], execute: bool = False) -> None:
        """Read below each path, and run programs there with `execute`. A path that does not exist adds nothing."""
        for path in paths:
            self._allow(path, _READ | (_EXECUTE if execute else 0), missing_ok=True)

    def allow_write(self, paths: Iterable[str], execute: bool = False) -> None:
        """Read and change below each path; no devices, sockets or FIFOs. Raises KernelError when one is missing."""
        for path in paths:
            self._allow(path, _READ | _CHANGE | (_EXECUTE if execute else 0), missing_ok=False)

    def allow_everything_below(self, path: str) -> None:
        """Every right the kernel knows, for a place that other layers already bound."""
        self._allow(path, self._fs, missing_ok=False)

    def allow_connect(self, ports: Iterable[int]) -> None:
        """TCP connections to these ports. Nothing where the ABI does not know the network."""
        if "tcp" in self.handled:
            for port in ports:
                syscall(LAYER, "landlock_add_rule", self._fd, _RULE_PORT, _PortAttr(_CONNECT_TCP, port), 0)

    def restrict_self(self) -> None:
        """Confine the calling thread. Needs no_new_privs (or CAP_SYS_ADMIN). Raises KernelError."""
        syscall(LAYER, "landlock_restrict_self", self._fd, 0)
        os.close(self._fd)

    def _allow(self, path: str, access: int, missing_ok: bool) -> None:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError as error:
            if missing_ok:
                return
            raise KernelError(LAYER, error.errno or 0, f"open {path}") from error
        try:
            with guarded(LAYER, f"stat {path}"):
                is_folder = stat.S_ISDIR(os.fstat(fd).st_mode)
            access &= self._fs if is_folder else self._fs & _ON_FILES
            syscall(LAYER, "landlock_add_rule", self._fd, _RULE_PATH, _PathAttr(access, fd), 0)
        finally:
            os.close(fd)

"""Landlock: the process gives up every file-system and network right it does not name.

Source: Documentation/userspace-api/landlock.rst. What an ABI does not know is not handled by it, and `Ruleset`
says so in `handled`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import AT_FDCWD, guarded, syscall
from skillkeep.kernel.mounts import open_plain
from skillkeep.kernel.tape import Tape, Word

__all__ = ["LAYER", "Rights", "Ruleset", "TapeRuleset", "abi", "abi_or_none"]

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


@dataclass(frozen=True)
class Rights:
    """What a Landlock version handles, as bit masks. `scoped` False leaves signals and abstract sockets alone."""

    version: int
    scoped: bool = True

    @property
    def files(self) -> int:
        """Every file-system right of this version."""
        return (1 << (13 + (self.version >= 2) + (self.version >= 3) + (self.version >= 5))) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """What is enforced: `files`, `tcp`, `abstract_sockets`, `signals`."""
        scope = ("abstract_sockets", "signals") if self._scope else ()
        return ("files", *(["tcp"] if self._net else []), *scope)

    @property
    def attr(self) -> bytes:
        """`struct landlock_ruleset_attr`, as long as this version knows it."""
        size = 24 if self._scope else 16 if self._net else 8
        return bytes(_RulesetAttr(self.files, self._net, self._scope))[:size]

    def access(
        self, *, write: bool = False, execute: bool = False, all_of_it: bool = False, folder: bool = True
    ) -> int:
        """The rights of one rule; a file takes fewer than a folder."""
        bits = self.files if all_of_it else _READ | (_EXECUTE if execute else 0) | (_CHANGE if write else 0)
        return bits & (self.files if folder else self.files & _ON_FILES)

    @property
    def _net(self) -> int:
        return _BIND_TCP | _CONNECT_TCP if self.version >= 4 else 0

    @property
    def _scope(self) -> int:
        return _SCOPE_ABSTRACT_UNIX | _SCOPE_SIGNAL if self.scoped and self.version >= 6 else 0


class TapeRuleset:
    """A ruleset as steps of a tape, for paths that exist when the tape is carried out."""

    def __init__(self, tape: Tape, rights: Rights) -> None:
        self._tape, self._rights, self._fd = tape, rights, tape.cell()
        attr = rights.attr
        tape.call(LAYER, "landlock_create_ruleset", tape.data(attr), len(attr), 0, into=self._fd)

    def allow(self, path: bytes, access: int) -> None:
        """Grant `access` (of `Rights.access`) at and below `path`."""
        rule = self._tape.space(struct.pack("=Qq", access, 0))
        fd = rule.plus(8)
        self._tape.call(LAYER, "openat", AT_FDCWD, path, os.O_PATH | os.O_CLOEXEC, 0, into=fd)
        self._tape.call(LAYER, "landlock_add_rule", Word(self._fd), _RULE_PATH, rule, 0)
        self._tape.call(LAYER, "close", Word(fd))

    def allow_connect(self, port: int) -> None:
        """Grant TCP connections to a port. Nothing where this version does not know the network."""
        if "tcp" in self._rights.names:
            rule = self._tape.data(bytes(_PortAttr(_CONNECT_TCP, port)))
            self._tape.call(LAYER, "landlock_add_rule", Word(self._fd), _RULE_PORT, rule, 0)

    def restrict_self(self) -> None:
        """Confine whoever carries out the tape. Needs no_new_privs (or CAP_SYS_ADMIN)."""
        self._tape.call(LAYER, "landlock_restrict_self", Word(self._fd), 0)
        self._tape.call(LAYER, "close", Word(self._fd))


class Ruleset:
    """Rights are added by path or port, then `restrict_self` gives up all others for good.

    `handled` names what this kernel enforces, as `Rights.names` does.
    """

    def __init__(self, version: int | None = None, scoped: bool = True) -> None:
        self._rights = Rights(abi() if version is None else version, scoped)
        self.version, self.handled = self._rights.version, self._rights.names
        attr = self._rights.attr
        self._fd = syscall(LAYER, "landlock_create_ruleset", ctypes.create_string_buffer(attr, len(attr)), len(attr), 0)

    def allow_read(self, paths: Iterable[str], execute: bool = False) -> None:
        """Read below each path, and run programs there with `execute`. A path that does not exist adds nothing."""
        for path in paths:
            self._allow(path, missing_ok=True, execute=execute)

    def allow_write(self, paths: Iterable[str], execute: bool = False) -> None:
        """Read and change below each path; no devices, sockets or FIFOs. Raises KernelError when one is missing."""
        for path in paths:
            self._allow(path, missing_ok=False, write=True, execute=execute)

    def allow_granted(self, paths: Iterable[str]) -> None:
        """As `allow_write` for what is another's to name: through no link. Raises KernelError, for a link too."""
        for path in paths:
            self._add(open_plain(LAYER, path), path, write=True)

    def allow_connect(self, ports: Iterable[int]) -> None:
        """TCP connections to these ports. Nothing where the ABI does not know the network."""
        if "tcp" in self.handled:
            for port in ports:
                syscall(LAYER, "landlock_add_rule", self._fd, _RULE_PORT, _PortAttr(_CONNECT_TCP, port), 0)

    def restrict_self(self) -> None:
        """Confine the calling thread. Needs no_new_privs (or CAP_SYS_ADMIN). Raises KernelError."""
        syscall(LAYER, "landlock_restrict_self", self._fd, 0)
        os.close(self._fd)

    def _allow(self, path: str, *, missing_ok: bool, write: bool = False, execute: bool = False) -> None:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError as error:
            if missing_ok:
                return
            raise KernelError(LAYER, error.errno or 0, f"open {path}") from error
        self._add(fd, path, write=write, execute=execute)

    def _add(self, fd: int, path: str, *, write: bool = False, execute: bool = False) -> None:
        """The rule for what is open as `fd`, which is closed."""
        try:
            with guarded(LAYER, f"stat {path}"):
                is_folder = stat.S_ISDIR(os.fstat(fd).st_mode)
            access = self._rights.access(write=write, execute=execute, folder=is_folder)
            syscall(LAYER, "landlock_add_rule", self._fd, _RULE_PATH, _PathAttr(access, fd), 0)
        finally:
            os.close(fd)

"""A folder whose writes go elsewhere: overlayfs over it, the upper layer in a memory file system of bounded size.

Made by a child in mount (and, without root, user) namespaces of its own, handed out as a detached mount that the
sandbox attaches like any other. Sources: Documentation/filesystems/overlayfs.rst, fsopen(2), mount_setattr(2). Needs
Linux 5.12, and 6.6 for an ordinary user (user extended attributes on tmpfs).
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
from dataclasses import dataclass

from skillkeep.kernel import mounts
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.id_maps import IdMap, write_maps
from skillkeep.kernel.idmap import mapped_copy
from skillkeep.kernel.libc import AT_FDCWD, syscall
from skillkeep.kernel.passed import heard_fds
from skillkeep.kernel.procfs import read_text

__all__ = ["LAYER", "MARKS", "OWN_MARK", "Overlay", "overlay_copy"]

LAYER = "overlay"
MARKS = ("trusted.overlay.", "user.overlay.")
"""Where overlayfs keeps its own notes about a file: the first as root of the machine, else the second."""
OWN_MARK = "skillkeep"
"""Below the prefix in use, a note of ours on the upper layer's root; nobody can set one through the overlay."""

_NEW_USER, _NEW_MOUNT = 0x1000_0000, 0x0002_0000
_MS_REC_PRIVATE, _MS_NOSUID_NODEV = 0x4000 | 0x40000, 2 | 4
_CLOEXEC, _SET_FLAG, _SET_STRING, _CREATE = 1, 0, 1, 6
_MOVE_FROM_EMPTY, _ATTR_NOSUID_NODEV = 0x4, 2 | 4
_BASE = "/tmp"  # noqa: S108  a folder every host has; covered in the child's own mount namespace only
_BYTES_PER_NAME = 4096
_NO_MARKS = "Linux 6.6 lets an ordinary user do this; run it as root, or on a newer kernel."
_NO_OVERLAY = "The kernel refuses this overlay: nested mounts below the folder, or no overlayfs here."
_MOUNTED = "a mount at"
_ESCAPED = str.maketrans({sign: f"\\{ord(sign):03o}" for sign in " \t\n\\"})
"""How mountinfo writes a path."""
_NO_MOUNTS = "An overlay would show what lies beneath it. Unmount it, or run the tool for real."


@dataclass(frozen=True)
class Overlay:
    """Descriptors, the owner's to close: the detached overlay `tree`, and the folder `upper` that holds its writes."""

    tree: int
    upper: int


def overlay_copy(path: str, upper_bytes: int, seen_as: tuple[int, int] | None) -> Overlay:
    """An overlay over the folder `path`, which leads through no link, that takes at most `upper_bytes` of changes.

    With `seen_as` (root only) what belongs to the folder's owner is shown as that uid and gid's. A folder with other
    mounts below it is refused, for whoever asks. The process must have a single thread: it is forked. Raises
    KernelError("overlay").
    """
    at = mounts.open_plain(LAYER, path)
    try:
        state = os.fstat(at)
        if not stat.S_ISDIR(state.st_mode):
            raise KernelError(LAYER, errno.ENOTDIR, path, "A dry run is for folders.")
        lower = None if seen_as is None else _mapped(at, path, (state.st_uid, state.st_gid), seen_as)
    finally:
        os.close(at)
    below = _Lower(path, (state.st_dev, state.st_ino), lower)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        child = os.fork()
        if child == 0:
            _child(theirs, below, _options(upper_bytes, stat.S_IMODE(state.st_mode), seen_as))
        theirs.close()
        with ours:
            try:
                return _guide(ours, child, as_root=seen_as is not None)
            finally:
                ours.close()  # a child that still waits reads the end
                os.waitpid(child, 0)
    finally:
        if lower is not None:
            os.close(lower)


def _mapped(at: int, path: str, owner: tuple[int, int], seen_as: tuple[int, int]) -> int:
    """The lower layer, where root shows it as another owner's; what cannot be shown so may be a mount below it."""
    try:
        return mapped_copy(LAYER, at, path, owner, seen_as)
    except KernelError:
        try:
            _refuse_mounts(f"{os.path.normpath(path)}/")
        except KernelError as error:
            raise KernelError(LAYER, error.number, error.detail, _NO_MOUNTS) from error
        raise


@dataclass(frozen=True)
class _Lower:
    """The folder: its path and inode, and the tree where root shows it as another owner's."""

    path: str
    inode: tuple[int, int]
    tree: int | None


@dataclass(frozen=True)
class _Upper:
    size: str
    mode: int
    owner: tuple[int, int] | None


def _options(upper_bytes: int, mode: int, owner: tuple[int, int] | None) -> _Upper:
    names = max(1024, upper_bytes // _BYTES_PER_NAME)
    return _Upper(f"size={upper_bytes},nr_inodes={names},mode=0700", mode, owner)


def _guide(channel: socket.socket, child: int, *, as_root: bool) -> Overlay:
    """Give the child its ids, and take what it made."""
    _hear(channel)
    if not as_root:
        write_maps(child, IdMap(((0, os.geteuid()),), ((0, os.getegid()),), keep_groups=True))
    channel.send(b"ids")
    fds = _hear(channel)
    return Overlay(fds[0], fds[1])


def _hear(channel: socket.socket) -> list[int]:
    data, fds = heard_fds(channel, 4096, 2)
    kind, _, text = data.partition(b" ")
    if kind == b"ok":
        return fds
    number, _, what = text.partition(b" ")
    hint = _NO_MARKS if what.startswith(b"setxattr") else _NO_OVERLAY
    hint = _NO_MOUNTS if what.startswith(_MOUNTED.encode()) else hint
    raise KernelError(LAYER, int(number or b"5"), (what or b"the helper ended").decode("utf-8", "replace"), hint)


def _child(channel: socket.socket, lower: _Lower, upper: _Upper) -> None:
    """Never returns."""
    try:
        syscall(LAYER, "unshare", _NEW_MOUNT | (_NEW_USER if lower.tree is None else 0))
        channel.send(b"ok")
        if channel.recv(16):
            syscall(LAYER, "mount", None, b"/", None, _MS_REC_PRIVATE, None)
            tree = _copied(lower) if lower.tree is None else lower.tree
            socket.send_fds(channel, [b"ok"], _build(tree, upper))
    except KernelError as error:
        _report(channel, error.number, error.detail)
    except OSError as error:
        _report(channel, error.errno or errno.EIO, "build the overlay")
    finally:
        os._exit(0)


def _copied(lower: _Lower) -> int:
    """The mount tree, opened once more: only what is of the child's own namespace can be copied there."""
    at = mounts.open_plain(LAYER, lower.path)
    state = os.fstat(at)
    if (state.st_dev, state.st_ino) != lower.inode:
        raise KernelError(LAYER, errno.ESTALE, f"open {lower.path}", "It was changed meanwhile.")
    return mounts.copy_tree(LAYER, at)


def _report(channel: socket.socket, number: int, what: str) -> None:
    with contextlib.suppress(OSError):
        channel.send(f"no {number} {what}".encode()[:4000])


def _build(lower: int, upper: _Upper) -> list[int]:
    syscall(LAYER, "mount", b"tmpfs", _BASE.encode(), b"tmpfs", _MS_NOSUID_NODEV, upper.size.encode())
    os.chdir(_BASE)
    for name in ("lower", "upper", "work"):
        os.mkdir(name, 0o700)
    syscall(LAYER, "move_mount", lower, b"", AT_FDCWD, b"lower", _MOVE_FROM_EMPTY)
    _refuse_mounts(f"{_BASE}/lower/")
    if upper.owner is not None:
        os.chown("upper", *upper.owner)
    os.chmod("upper", upper.mode)
    marks = _usable_marks()
    context = syscall(LAYER, "fsopen", b"overlay", _CLOEXEC)
    settings = {"lowerdir": "lower", "upperdir": "upper", "workdir": "work"}
    # A renamed folder is copied by the program itself, so that each file in the upper layer is a whole one.
    settings |= {"redirect_dir": "nofollow", "metacopy": "off", "index": "off", "xino": "off"}
    try:
        for name, value in settings.items():
            syscall(LAYER, "fsconfig", context, _SET_STRING, name.encode(), value.encode(), 0)
        for flag in ("volatile", *(["userxattr"] if marks == MARKS[1] else [])):
            syscall(LAYER, "fsconfig", context, _SET_FLAG, flag.encode(), None, 0)
        syscall(LAYER, "fsconfig", context, _CREATE, None, None, 0)
    except KernelError as error:
        raise KernelError(LAYER, error.number, f"{error.detail} ({_kernels_words(context)})") from error
    tree = syscall(LAYER, "fsmount", context, _CLOEXEC, _ATTR_NOSUID_NODEV)
    return [tree, os.open("upper", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]


def _refuse_mounts(below: str) -> None:
    """An overlay shows one file system alone: what lies beneath a mount, not what is mounted there."""
    below = below.translate(_ESCAPED)
    for line in read_text("/proc/self/mountinfo").removesuffix("\n").split("\n"):
        place = line.split(" ")[4]
        if place.startswith(below):
            raise KernelError(LAYER, errno.EBUSY, f"{_MOUNTED} {place.removeprefix(below)}")


def _usable_marks() -> str:
    for prefix in MARKS:
        try:
            os.setxattr("upper", f"{prefix}{OWN_MARK}", b"y")
        except OSError as error:
            refused = error
            continue
        return prefix
    raise KernelError(LAYER, refused.errno or errno.EOPNOTSUPP, "setxattr on a memory file system")


def _kernels_words(context: int) -> str:
    with contextlib.suppress(OSError):
        return os.read(context, 1000).decode("utf-8", "replace").strip()
    return "no reason given"

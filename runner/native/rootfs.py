"""The steps that build the sandbox's root on a tmpfs, from sources that were opened before the ids changed.

Only the empty tmpfs and /proc are mounted while the host's files are still in sight. Everything else is
attached after `pivot_root`, so no path here can be led to a host file by a link.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from skillkeep.kernel import mounts
from skillkeep.kernel.libc import AT_FDCWD
from skillkeep.kernel.tape import Argument, At, Cell, Label, Tape, Word
from skillkeep.runner.native import layout
from skillkeep.runner.native.layout import Host
from skillkeep.runner.native.plan import HOME, INSIDE_ID, POLICY_FILE

__all__ = ["BindShape", "Sources", "build_root", "finish_root", "forget_host", "open_from_host", "open_sources"]

LAYER = "root"
_EMPTY = "/proc/fs"
_BASE = "/tmp"  # noqa: S108  any folder every host has; covered in this mount namespace only
_SMALL = "size=1m,nr_inodes=4096,mode=0755"
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
_AT_EMPTY_PATH, _STATX_BASIC, _STATX_BYTES = 0x1000, 0x7FF, 256
_STATX_MODE, _STATX_MAJOR, _STATX_MINOR = 28, 128, 132


@dataclass(frozen=True)
class BindShape:
    """One bind without its source. `mapped`: the starter opens it and sends the descriptor."""

    target: str
    folder: bool
    writable: bool
    mapped: bool


@dataclass
class Sources:
    """Cells that hold opened mount trees: by target, in the order of the binds, and by device name."""

    trees: dict[str, Cell] = field(default_factory=dict)
    binds: list[Cell | At] = field(default_factory=list)
    devices: dict[str, Cell] = field(default_factory=dict)


def open_sources(
    tape: Tape, host: Host, binds: Sequence[BindShape], paths: Sequence[Cell], sent: Sequence[Cell | At]
) -> Sources:
    """Open all that the root will show, with the ids the opener still has.

    `paths` point at the source of each bind; `sent` hold the descriptors of mapped ones, in order.
    """
    mounts.make_private(tape, LAYER)
    sources = Sources()
    for path in (*host.folders, *host.etc):
        sources.trees[path] = mounts.open_tree(tape, LAYER, path.encode())
    for name in layout.DEVICES:
        sources.devices[name] = _device(tape, host, f"/dev/{name}", name)
    given = iter(sent)
    for bind, source in zip(binds, paths, strict=True):
        sources.binds.append(next(given) if bind.mapped else mounts.open_plain_tree(tape, "bind", Word(source)))
    return sources


def build_root(
    tape: Tape, host: Host, sources: Sources, tmp_bytes: int, keep: At | None = None, *, egress: bool = False
) -> None:
    """Mount, pivot and attach what every root holds; with `egress` the network is bounded, too.

    Afterwards only the sandbox's root exists for whoever carried it out; with `keep` the host's is still mounted
    out of sight, the cell holds a descriptor of it, and `forget_host` has to follow.
    """
    if keep is not None:
        tape.call(LAYER, "openat", AT_FDCWD, b"/", os.O_PATH | os.O_CLOEXEC, 0, into=keep, why="hold the host's root")
    mounts.mount_new(tape, LAYER, "tmpfs", _BASE, _SMALL, programs=False)
    tape.call("proc", "mkdirat", AT_FDCWD, f"{_BASE}/proc".encode(), 0o555)
    # Init's command line names host paths; processes that one may not trace are not listed.
    mounts.mount_new(tape, "proc", "proc", f"{_BASE}/proc", "hidepid=2", programs=False)
    mounts.pivot_into(tape, LAYER, _BASE, leave=keep is None)
    made: set[str] = set()
    _attach_system(tape, host, sources, made)
    _attach_devices(tape, sources, tmp_bytes)
    _bound_kernel_objects(tape)
    for name, text in layout.NETWORK if egress else ():
        _set(tape, "net_namespace", f"net/ipv4/{name}", text)
    restrict_proc(tape, host)
    for path in layout.LOCAL:
        mounts.show_again(tape, LAYER, _EMPTY.encode(), path.encode(), tolerate=errno.ENOENT)
    _make_scratch(tape, tmp_bytes)


def open_from_host(tape: Tape, root: At, path: Argument) -> Cell:
    """A detached copy of the mount tree at `path` of the host whose root is kept open in the cell `root`."""
    return mounts.open_plain_tree(tape, "bind", path, root)


def forget_host(tape: Tape, root: At) -> None:
    """Let go of the host's root that `build_root` kept."""
    tape.call(LAYER, "close", Word(root))
    mounts.leave_old_root(tape, LAYER)


def finish_root(tape: Tape, trees: Sequence[Cell | At], binds: Sequence[BindShape]) -> None:
    """Write the policy, attach the binds, and make the root read-only.

    `trees` hold the binds' opened mount trees. The cells `policy` and `policy_size` are the text of the policy file.
    """
    _write(tape, POLICY_FILE, Word(tape.cell(name="policy")), Word(tape.cell(name="policy_size")))
    made: set[str] = set()
    for bind, fd in zip(binds, trees, strict=True):
        mounts.restrict(tape, "bind", fd, writable=bind.writable)
        _attach(tape, "bind", fd, bind.target, bind.folder, made)
    root = tape.cell()
    tape.call(LAYER, "openat", AT_FDCWD, b"/", os.O_PATH | os.O_CLOEXEC, 0, into=root)
    mounts.restrict(tape, LAYER, root, programs=False, below=False)
    tape.call(LAYER, "close", Word(root))


def _attach_system(tape: Tape, host: Host, sources: Sources, made: set[str]) -> None:
    for path, goal in host.links:
        tape.call(LAYER, "symlinkat", os.fsencode(goal), AT_FDCWD, path.encode())
    for folder in ("/etc", layout.PROC_MADE, "/var"):
        _make_folders(tape, LAYER, folder, made)
    tape.call(LAYER, "symlinkat", b"/tmp", AT_FDCWD, b"/var/tmp")
    for folder, files in (("/etc", layout.ETC_MADE.items()), (layout.PROC_MADE, host.made)):
        for name, text in files:
            content = text.encode()
            _write(tape, f"{folder}/{name}", tape.data(content), len(content))
    tape.call(LAYER, "symlinkat", b"/proc/self/mounts", AT_FDCWD, b"/etc/mtab")
    for path, fd in sources.trees.items():
        mounts.restrict(tape, LAYER, fd)
        _attach(tape, LAYER, fd, path, path in host.folders or path in host.etc_folders, made)


def _attach_devices(tape: Tape, sources: Sources, shared_bytes: int) -> None:
    tape.call("dev", "mkdirat", AT_FDCWD, b"/dev", 0o755)
    for name, goal in layout.DEVICE_LINKS.items():
        tape.call("dev", "symlinkat", goal.encode(), AT_FDCWD, f"/dev/{name}".encode())
    tape.call("dev", "mkdirat", AT_FDCWD, b"/dev/shm", 0o755)
    for name, fd in sources.devices.items():
        # A device can be written behind a read-only mount; its times and attributes, which are the host's, cannot.
        mounts.restrict(tape, "dev", fd, devices=True, programs=False)
        _attach(tape, "dev", fd, f"/dev/{name}", False, {"/dev"})
    options = f"size={shared_bytes},nr_inodes=65536,mode=1777"
    mounts.mount_new(tape, "dev", "tmpfs", "/dev/shm", options, programs=False)  # noqa: S108


def restrict_proc(tape: Tape, host: Host) -> None:
    """Make what of a fresh /proc speaks about the whole machine read-only or hidden."""
    missing = tape.data(_number(-errno.ENOENT))
    for name in layout.PROC_READ_ONLY:
        absent = Label()
        fd = mounts.open_tree(tape, "proc", f"/proc/{name}".encode(), tolerate=errno.ENOENT)
        tape.jump_if_equal(fd, missing, absent)
        mounts.restrict(tape, "proc", fd, programs=False)
        mounts.attach(tape, "proc", fd, f"/proc/{name}".encode())
        tape.mark(absent)
    for name, _ in host.made:
        fd = mounts.open_tree(tape, "proc", f"{layout.PROC_MADE}/{name}".encode())
        mounts.restrict(tape, "proc", fd, programs=False)
        mounts.attach(tape, "proc", fd, f"/proc/{name}".encode())
    # One empty folder stands for all that are hidden; this one every /proc has.
    mounts.mount_new(tape, "proc", "tmpfs", _EMPTY, "size=4k,nr_inodes=1,mode=0555,ro", programs=False)
    for name, folder in host.masked:
        # The sandbox's own /dev/null, whose number was looked at when it was opened (CVE-2025-31133).
        cover = _EMPTY.encode() if folder else b"/dev/null"
        mounts.show_again(tape, "proc", cover, f"/proc/{name}".encode(), tolerate=errno.ENOENT)


def _bound_kernel_objects(tape: Tape) -> None:
    """Leave the user some of what is counted for all processes of a user, in whatever namespace they are."""
    for name, most in (("instances", layout.INOTIFY_INSTANCES), ("watches", layout.INOTIFY_WATCHES)):
        _set(tape, "proc", f"user/max_inotify_{name}", str(most))


def _set(tape: Tape, layer: str, name: str, text: str) -> None:
    """Write a setting of the sandbox's own namespaces (sysctl), while its /proc can be written."""
    fd = tape.cell()
    path = f"/proc/sys/{name}".encode()
    tape.call(layer, "openat", AT_FDCWD, path, os.O_WRONLY | os.O_CLOEXEC, 0, into=fd)
    tape.call(layer, "write", Word(fd), text.encode(), len(text), why=f"set {name}")
    tape.call(layer, "close", Word(fd))


def _make_scratch(tape: Tape, tmp_bytes: int) -> None:
    tape.call("tmp", "mkdirat", AT_FDCWD, b"/tmp", 0o755)
    mounts.mount_new(tape, "tmp", "tmpfs", "/tmp", f"size={tmp_bytes},nr_inodes=65536,mode=1777")  # noqa: S108
    tape.call("tmp", "mkdirat", AT_FDCWD, HOME.encode(), 0o700)
    tape.call("tmp", "fchownat", AT_FDCWD, HOME.encode(), INSIDE_ID, INSIDE_ID, 0)


def _attach(tape: Tape, layer: str, fd: Cell | At, target: str, folder: bool, made: set[str]) -> None:
    _make_folders(tape, layer, os.path.dirname(target), made)
    if folder:
        _make_folders(tape, layer, target, made)
    else:
        file = tape.cell()
        tape.call(layer, "openat", AT_FDCWD, os.fsencode(target), _NEW_FILE, 0o644, into=file)
        tape.call(layer, "close", Word(file))
    mounts.attach(tape, layer, fd, os.fsencode(target))


def _make_folders(tape: Tape, layer: str, path: str, made: set[str]) -> None:
    parts = [part for part in path.split("/") if part]
    for depth in range(1, len(parts) + 1):
        folder = "/" + "/".join(parts[:depth])
        if folder not in made:
            made.add(folder)
            why = f"make the mount point {folder}"
            tape.call(layer, "mkdirat", AT_FDCWD, os.fsencode(folder), 0o755, tolerate=errno.EEXIST, why=why)


def _device(tape: Tape, host: Host, path: str, name: str) -> Cell:
    """The device file at `path`, opened, and then looked at: number and mode must be those that `host` saw."""
    fd = mounts.open_tree(tape, "dev", path.encode(), follow=False)
    seen = tape.space(bytes(_STATX_BYTES))
    tape.call("dev", "statx", Word(fd), b"", _AT_EMPTY_PATH, _STATX_BASIC, seen, why=f"look at {path}")
    major, minor = layout.DEVICES[name]
    for offset, wanted in ((_STATX_MODE, host.modes[name]), (_STATX_MAJOR, major), (_STATX_MINOR, minor)):
        why = f"{path} of the host is not the device it should be"
        tape.require_equal("dev", why, seen.plus(offset), tape.data(_number(wanted)))
    return fd


def _write(tape: Tape, path: str, text: Argument, size: Argument) -> None:
    fd = tape.cell()
    tape.call(LAYER, "openat", AT_FDCWD, path.encode(), _NEW_FILE, 0o444, into=fd)
    tape.call(LAYER, "write", Word(fd), text, size, why=f"write {path}")
    tape.call(LAYER, "close", Word(fd))


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)

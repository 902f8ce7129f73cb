"""Builds the sandbox's root on a tmpfs, from sources that were opened before the ids changed.

Only the empty tmpfs and /proc are mounted while the host's files are still in sight. Everything else is
attached after `pivot_root`, so no path here can be led to a host file by a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from skillkeep.kernel import mounts
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import AT_FDCWD, guarded
from skillkeep.runner.native import layout
from skillkeep.runner.native.plan import HOME, INSIDE_ID, POLICY_FILE, Plan

__all__ = ["Sources", "build_root", "open_sources"]

LAYER = "root"
_BASE = "/tmp"  # noqa: S108  any folder every host has; covered in this mount namespace only
_SMALL = "size=1m,nr_inodes=4096,mode=0755"


@dataclass
class Sources:
    """Opened mount trees by target, and links to make again."""

    trees: dict[str, int] = field(default_factory=dict)
    binds: list[tuple[int, str, bool]] = field(default_factory=list)
    devices: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


def open_sources(plan: Plan, mapped: Mapping[int, int]) -> Sources:
    """Open all that the root will show, with the ids the caller still has. Raises KernelError.

    `mapped` holds the trees of binds (by number) that the supervisor opened already.
    """
    mounts.make_private(LAYER)
    sources = Sources()
    for path in layout.SYSTEM:
        if os.path.islink(path):
            sources.links[path] = os.readlink(path)
        elif os.path.isdir(path):
            sources.trees[path] = mounts.copy_tree(LAYER, path)
    for path in layout.ETC_FROM_HOST:
        if os.path.exists(path):
            sources.trees[path] = mounts.copy_tree(LAYER, path)
    for name, (major, minor) in layout.DEVICES.items():
        sources.devices[name] = _device(f"/dev/{name}", os.makedev(major, minor))
    for number, bind in enumerate(plan.binds):
        fd = mapped[number] if number in mapped else mounts.copy_tree("bind", bind.source)
        sources.binds.append((fd, bind.target, bind.writable))
    return sources


def build_root(plan: Plan, sources: Sources) -> None:
    """Mount, pivot and attach; afterwards only the sandbox's root exists for this process. Raises KernelError."""
    mounts.mount_new(LAYER, "tmpfs", _BASE, _SMALL, programs=False)
    with guarded("proc", "make the mount point"):
        os.mkdir(f"{_BASE}/proc", 0o555)
    # Init's command line names host paths; processes that one may not trace are not listed.
    mounts.mount_new("proc", "proc", f"{_BASE}/proc", "hidepid=2", programs=False)
    mounts.pivot_into(LAYER, _BASE)
    _attach_system(sources)
    _attach_devices(sources, plan.tmp_bytes)
    _restrict_proc()
    _make_scratch(plan)
    for fd, target, writable in sources.binds:
        mounts.restrict("bind", fd, writable=writable)
        _attach("bind", fd, target)
    with guarded(LAYER, "open the root"):
        root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    mounts.restrict(LAYER, root, programs=False, below=False)
    os.close(root)


def _attach_system(sources: Sources) -> None:
    with guarded(LAYER, "make links"):
        for path, goal in sources.links.items():
            os.symlink(goal, path)
        for folder in ("/etc", "/run/sandbox", "/var"):
            os.makedirs(folder, 0o755)
        os.symlink("/tmp", "/var/tmp")  # noqa: S108
        for name, text in layout.ETC_MADE.items():
            _write(f"/etc/{name}", text)
        os.symlink("/proc/self/mounts", "/etc/mtab")
    for path, fd in sources.trees.items():
        mounts.restrict(LAYER, fd)
        _attach(LAYER, fd, path)


def _attach_devices(sources: Sources, shared_bytes: int) -> None:
    with guarded("dev", "make /dev"):
        os.mkdir("/dev", 0o755)
        for name, goal in layout.DEVICE_LINKS.items():
            os.symlink(goal, f"/dev/{name}")
        os.mkdir("/dev/shm")  # noqa: S108
    for name, fd in sources.devices.items():
        mounts.restrict("dev", fd, writable=True, devices=True, programs=False)
        _attach("dev", fd, f"/dev/{name}")
    mounts.mount_new("dev", "tmpfs", "/dev/shm", f"size={shared_bytes},nr_inodes=65536,mode=1777", programs=False)  # noqa: S108


def _restrict_proc() -> None:
    for name in layout.PROC_READ_ONLY:
        if os.path.exists(f"/proc/{name}"):
            fd = mounts.copy_tree("proc", f"/proc/{name}")
            mounts.restrict("proc", fd, programs=False)
            mounts.attach("proc", fd, AT_FDCWD, f"/proc/{name}")
    null = os.makedev(*layout.DEVICES["null"])
    for name in layout.PROC_MASKED:
        path = f"/proc/{name}"
        if os.path.isdir(path):
            mounts.mount_new("proc", "tmpfs", path, "size=4k,nr_inodes=1,mode=0555", programs=False)
        elif os.path.exists(path):
            fd = _device("/dev/null", null)
            mounts.restrict("proc", fd, devices=True, programs=False)
            mounts.attach("proc", fd, AT_FDCWD, path)


def _make_scratch(plan: Plan) -> None:
    with guarded("tmp", "make /tmp"):
        os.mkdir("/tmp")  # noqa: S108
    mounts.mount_new("tmp", "tmpfs", "/tmp", f"size={plan.tmp_bytes},nr_inodes=65536,mode=1777")  # noqa: S108
    with guarded("tmp", "make the home"):
        os.mkdir(HOME, 0o700)
        os.chown(HOME, INSIDE_ID, INSIDE_ID)
        _write(POLICY_FILE, plan.policy_text)


def _attach(layer: str, fd: int, target: str) -> None:
    with guarded(layer, f"make the mount point {target}"):
        os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            os.makedirs(target, 0o755, exist_ok=True)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    mounts.attach(layer, fd, AT_FDCWD, target)


def _device(path: str, number: int) -> int:
    fd = mounts.copy_tree("dev", path, follow=False)
    with guarded("dev", f"stat {path}"):
        found = os.fstat(fd)
    if not stat.S_ISCHR(found.st_mode) or found.st_rdev != number:
        raise KernelError("dev", 0, f"{path} of the host is not the device it should be")
    return fd


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o444)
    with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)

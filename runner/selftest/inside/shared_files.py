"""Attacks on files that a sandbox shares with the host or with others: locks, leases, watches, what they tell."""

from __future__ import annotations

import contextlib
import ctypes
import os

from skillkeep.runner.selftest.inside.harness import Answer, attack, closed, opened, tried

AREA = "files"
_SCRATCH = "/tmp"  # noqa: S108  the sandbox's own
_REFUSED = ("EPERM", "EACCES", "ENOSYS")
_GET_UUID = 0x80111500


@attack(
    AREA,
    "change the times of a device file that the host shows",
    intended={"docker": "the container has device files of its own"},
)
def device_times() -> Answer:
    """Those of /dev/null, which everybody may write: to the present time."""
    return tried(lambda: os.utime("/dev/null"))


@attack(AREA, "tell the machine's disks by their number (FS_IOC_GETFSUUID)")
def disk_identity() -> Answer:
    """Of the file system below /usr; since Linux 6.9."""
    import fcntl

    with open("/usr/bin/env", "rb") as file:
        return tried(lambda: fcntl.ioctl(file, _GET_UUID, bytes(17)), (*_REFUSED, "ENOTTY"))


@attack(AREA, "make whoever opens a file wait for 45 seconds (a lease)")
def lease() -> Answer:
    """On a file of one's own, as the tool's files are for an ordinary user; given back at once."""
    import fcntl

    path = _SCRATCH + f"/selftest-lease-{os.getpid()}"
    with open(path, "w", encoding="utf-8") as file:
        os.unlink(path)
        answer = tried(lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK), _REFUSED)
        with contextlib.suppress(OSError):
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return answer


@attack(
    AREA,
    "read settings and sources of what was installed by hand (/usr/local/etc, /usr/local/src, /usr/src)",
    control="none",
    intended={
        "docker": "the image's own are there, and none of the host's",
        "landlock": "Landlock can leave nothing out of a folder that may be read",
    },
)
def local_settings() -> Answer:
    """Names alone."""
    found = []
    for place in ("/usr/local/etc", "/usr/local/src", "/usr/src"):
        with contextlib.suppress(OSError):
            found += [f"{place}/{name}" for name in os.listdir(place)]
    return opened(found[:5]) if found else closed("empty")


@attack(
    AREA,
    "meet another sandbox by a lock on a shared system file (flock)",
    intended={
        "*": "a lock on a file that many may read is a slow signal between those who agree on it, and reaches nothing"
    },
)
def file_locks() -> Answer:
    """An exclusive lock on a system program."""
    import fcntl

    with open("/usr/bin/env", "rb") as file:
        return tried(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))


@attack(
    AREA,
    "see which system programs the host starts (inotify on /usr/bin)",
    intended={"*": "it tells that somebody opened a system file, not who or what for; file watchers need the call"},
)
def watch_host() -> Answer:
    """A watch on a folder that is shared with the host; `perf` and `fanotify` are closed."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(0)
    if fd < 0:
        return closed(os.strerror(ctypes.get_errno()))
    if libc.inotify_add_watch(fd, b"/usr/bin", 0x20) < 0:
        return closed(os.strerror(ctypes.get_errno()))
    return opened("a watch on /usr/bin")

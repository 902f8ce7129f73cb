"""What the sandbox's root holds, as data."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.runner.native.plan import HOME, INSIDE_ID

__all__ = [
    "DEVICES",
    "DEVICE_LINKS",
    "DEVICE_PATHS",
    "ETC_FROM_HOST",
    "ETC_MADE",
    "INOTIFY_INSTANCES",
    "INOTIFY_WATCHES",
    "LOCAL",
    "NETWORK",
    "PROC_MADE",
    "PROC_MASKED",
    "PROC_READ_ONLY",
    "SYSTEM",
    "Host",
    "look_at_host",
]

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Shown read-only; a symbolic link among them is made again as that link."""

ETC_FROM_HOST = (
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/localtime",
)

ETC_MADE = {
    "passwd": (
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
        f"sandbox:x:{INSIDE_ID}:{INSIDE_ID}:sandbox:{HOME}:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "group": f"root:x:0:\nsandbox:x:{INSIDE_ID}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    "hostname": "sandbox\n",
    "resolv.conf": "",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
"""Name and (major, minor): what the host's file must be, or the run stops (CVE-2025-31133)."""
DEVICE_PATHS = tuple(f"/dev/{name}" for name in DEVICES)

DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}

PROC_READ_ONLY = ("sys", "sysrq-trigger")
PROC_MASKED = (
    *("acpi", "asound", "bootconfig", "buddyinfo", "bus", "cgroups", "cmdline", "config.gz", "diskstats", "driver"),
    *("dynamic_debug", "interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore", "key-users", "keys"),
    *("latency_stats", "locks", "modules", "mtrr", "pagetypeinfo", "partitions", "pressure", "sched_debug"),
    *("schedstat", "scsi", "slabinfo", "softirqs", "swaps", "sys/kernel/random/boot_id", "timer_list"),
    *("timer_stats", "vmallocinfo", "vmstat", "zoneinfo"),
)
"""What speaks about the whole machine and that no ordinary program needs: hidden, also what only root could read.

So is /proc/fs, which names its disks.
"""
PROC_MADE = "/run/sandbox/proc"
"""Where the files lie that are shown in the place of the machine's own, of which programs count processors."""
LOCAL = ("/usr/local/etc", "/usr/local/src", "/usr/src")
"""Of `/usr`, hidden: settings of this machine, npm's tokens among them, as in /etc, and sources.

In an image of a container a whole application lies in `/usr/src` as a rule, with its `.env`.
"""
INOTIFY_INSTANCES = 16
"""Of all processes of a sandbox; the kernel's usual limit is 128 for all of a user's, in sandboxes or not."""
INOTIFY_WATCHES = 4096
"""Likewise; they count for whoever made the sandbox's user namespace, root included."""
NETWORK = (("tcp_fastopen", "0"), ("tcp_rmem", "4096 131072 262144"), ("tcp_wmem", "4096 16384 262144"))
"""Settings of a sandbox's own IPv4, which hold for IPv6 too.

What waits in TCP's sockets may be counted for nobody, so that a socket holds little; and data with a first packet
(MSG_FASTOPEN) would make connections that Landlock does not look at.
"""
_Seen = tuple[int, int, int]
"""Of a file: mode, device, inode."""


@dataclass(frozen=True)
class Host:
    """What of the host the root shows, as it is now: a tape made for one host state is not used for another."""

    folders: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    etc: tuple[str, ...]
    etc_folders: tuple[str, ...]
    device_modes: tuple[tuple[str, int], ...]
    masked: tuple[tuple[str, bool], ...] = ()
    """What of `PROC_MASKED` this kernel has, and whether it is a folder."""
    made: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Names in /proc, and what stands there instead of what the whole machine does."""
    shown: tuple[tuple[int, int], ...] = ()
    """Device and inode of each of `folders` and `etc`."""

    @property
    def modes(self) -> dict[str, int]:
        """Mode of each device file, with its type."""
        return dict(self.device_modes)


def look_at_host() -> Host:
    """Look. Raises KernelError("dev") when a device file is something else."""
    system = [_seen(os.lstat, path) for path in SYSTEM]
    links = [os.readlink(path) for path, seen in zip(SYSTEM, system, strict=True) if seen and stat.S_ISLNK(seen[0])]
    etc = [_seen(os.stat, path) for path in ETC_FROM_HOST]
    with guarded("dev", "stat the devices"):
        devices = [os.lstat(path) for path in DEVICE_PATHS]
    return _host(tuple(system), tuple(links), tuple(etc), tuple((each.st_mode, each.st_rdev) for each in devices))


@lru_cache(maxsize=4)
def _host(
    system: tuple[_Seen | None, ...],
    goals: tuple[str, ...],
    seen_etc: tuple[_Seen | None, ...],
    devices: tuple[tuple[int, int], ...],
) -> Host:
    """What was seen, in order of `SYSTEM`, `ETC_FROM_HOST` and `DEVICES`; `goals` are the links' of the first."""
    present = [(path, seen) for path, seen in zip(SYSTEM, system, strict=True) if seen is not None]
    links = [path for path, seen in present if stat.S_ISLNK(seen[0])]
    folders = [(path, seen) for path, seen in present if stat.S_ISDIR(seen[0])]
    etc = [(path, seen) for path, seen in zip(ETC_FROM_HOST, seen_etc, strict=True) if seen is not None]
    return Host(
        folders=tuple(path for path, _ in folders),
        links=tuple(zip(links, goals, strict=True)),
        etc=tuple(path for path, _ in etc),
        etc_folders=tuple(path for path, seen in etc if stat.S_ISDIR(seen[0])),
        device_modes=tuple((name, _mode(name, *seen)) for name, seen in zip(DEVICES, devices, strict=True)),
        masked=_masked(),
        made=_made(),
        shown=tuple(seen[1:] for _, seen in (*folders, *etc)),
    )


@cache
def _masked() -> tuple[tuple[str, bool], ...]:
    """A kernel's own files come and go with modules only, and one that has gone is passed over."""
    found = [(name, f"/proc/{name}") for name in PROC_MASKED]
    return tuple((name, os.path.isdir(path)) for name, path in found if os.path.lexists(path))


@cache
def _made() -> tuple[tuple[str, str], ...]:
    """Each processor as at the machine's start, and a machine that has nothing to do.

    The kernel's own would tell when keys are pressed and packets arrive, as /proc/interrupts does.
    """
    with guarded("proc", "read /proc/stat"), open("/proc/stat", encoding="ascii") as file:
        lines = file.read().splitlines()
    idle = [f"{line.split()[0]} 0 0 0 0 0 0 0 0 0 0" for line in lines if line.startswith("cpu")]
    begun = [line for line in lines if line.startswith("btime ")]  # as /proc/uptime tells, too
    rest = ("processes 1", "procs_running 1", "procs_blocked 0", "softirq 0")
    return ("stat", "\n".join((*idle, "intr 0", "ctxt 0", *begun, *rest, ""))), ("loadavg", "0.00 0.00 0.00 1/1 1\n")


def _seen(look: Callable[[str], os.stat_result], path: str) -> _Seen | None:
    """None where there is nothing."""
    try:
        state = look(path)
    except OSError:
        return None
    return state.st_mode, state.st_dev, state.st_ino


def _mode(name: str, mode: int, number: int) -> int:
    if not stat.S_ISCHR(mode) or number != os.makedev(*DEVICES[name]):
        raise KernelError("dev", 0, f"/dev/{name} of the host is not the device it should be")
    return mode

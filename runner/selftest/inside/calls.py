"""Attacks on the kernel's interface: one system call each, with arguments that change nothing if it is let through."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
from typing import Any

from skillkeep.runner.selftest.inside.harness import (
    ABSENT,
    CLOSED,
    Answer,
    attack,
    call,
    closed,
    facts,
    opened,
    register,
)

AREA = "system calls"
_REFUSED = ("EPERM", "EACCES", "ENOSYS", "EAFNOSUPPORT")
_TEXT = ctypes.c_char_p

# name: (call, arguments, who can do it without a sandbox, what it would be good for)
_CALLS: dict[str, tuple[str, tuple[Any, ...], str, str]] = {
    "io_uring_setup": ("io_uring_setup", (1, 0), "anyone", "a ring that makes calls no filter sees"),
    "io_uring_enter": ("io_uring_enter", (-1, 0, 0, 0), "anyone", "a ring handed in from elsewhere"),
    "io_uring_register": ("io_uring_register", (-1, 0, 0, 0), "anyone", "a ring handed in from elsewhere"),
    "keyctl": ("keyctl", (0, -3, 1), "anyone", "keys that outlive the run"),
    "add_key": ("add_key", (0, 0, 0, 0, 0), "anyone", "keys that outlive the run"),
    "request_key": ("request_key", (0, 0, 0, 0), "anyone", "the host's /sbin/request-key"),
    "bpf": ("bpf", (0xFFFF, 0, 0), "root", "programs in the kernel"),
    "userfaultfd": ("userfaultfd", (1,), "anyone", "kernel threads held in mid-copy"),
    "perf_event_open": ("perf_event_open", (0, 0, -1, -1, 0), "anyone", "performance counters of the host"),
    "ptrace": ("ptrace", (0, 0, 0, 0), "anyone", "memory of other processes"),
    "process_vm_readv": ("process_vm_readv", (os.getpid(), 0, 0, 0, 0, 0), "anyone", "memory of other processes"),
    "process_vm_writev": ("process_vm_writev", (os.getpid(), 0, 0, 0, 0, 0), "anyone", "memory of other processes"),
    "process_madvise": ("process_madvise", (-1, 0, 0, 0, 0), "anyone", "memory of other processes"),
    "process_mrelease": ("process_mrelease", (-1, 0), "anyone", "memory of other processes"),
    "pidfd_getfd": ("pidfd_getfd", (-1, 0, 0), "anyone", "descriptors of other processes"),
    "kcmp": ("kcmp", (os.getpid(), os.getpid(), 0, 0, 0), "anyone", "the layout of kernel objects"),
    "unshare_user": ("unshare", (0x10000000,), "anyone", "all capabilities in a new user namespace"),
    "unshare_mount": ("unshare", (0x00020000,), "root", "a mount table of its own"),
    "unshare_net": ("unshare", (0x40000000,), "root", "network tables of its own"),
    "unshare_pid": ("unshare", (0x20000000,), "root", "a pid namespace of its own"),
    "unshare_time": ("unshare", (0x00000080,), "root", "clocks of its own"),
    "unshare_cgroup": ("unshare", (0x02000000,), "root", "a view of control groups of its own"),
    "setns": ("setns", (0, 0), "anyone", "somebody else's namespaces"),
    "clone3": ("clone3", (0, 0), "anyone", "namespaces, by flags that no filter sees"),
    "clone_parent": ("clone", (0x8000 | 0x800, 0, 0, 0, 0), "anyone", "children that nobody waits for"),
    "clone_untraced": ("clone", (0x00800000 | 0x800, 0, 0, 0, 0), "anyone", "children that no tracer sees"),
    "openat2": ("openat2", (-100, 0, 0, 0), "anyone", "a file's mode that no filter sees"),
    "rename_whiteout": ("renameat2", (-1, _TEXT(b"a"), -1, _TEXT(b"b"), 4), "anyone", "a device's node left behind"),
    "socket_filter": ("setsockopt", (-1, 1, 26, 0, 0), "anyone", "filters compiled into memory of all users"),
    "mount": ("mount", (0, 0, 0, 0, 0), "anyone", "other file systems"),
    "umount2": ("umount2", (0, 0), "anyone", "what masks and read-only mounts hide"),
    "pivot_root": ("pivot_root", (0, 0), "root", "another root"),
    "chroot": ("chroot", (0,), "anyone", "another root"),
    "fsopen": ("fsopen", (0, 0), "root", "the new mount interface"),
    "fsconfig": ("fsconfig", (-1, 99, 0, 0, 0), "anyone", "the new mount interface"),
    "fsmount": ("fsmount", (-1, 0, 0), "root", "the new mount interface"),
    "fspick": ("fspick", (-1, 0, 0), "root", "the new mount interface"),
    "open_tree": ("open_tree", (-100, _TEXT(b"/"), 0), "anyone", "copies of mounts"),
    "open_tree_attr": (
        "open_tree_attr",
        (-100, _TEXT(b"/"), 0, 0, 0),
        "anyone",
        "copies of mounts without their flags",
    ),
    "move_mount": ("move_mount", (-1, 0, -1, 0, 0), "root", "mounts over others"),
    "mount_setattr": ("mount_setattr", (-1, 0, 0, 0, 0), "anyone", "read-only mounts made writable"),
    "statmount": ("statmount", (0, 0, 0, 0), "anyone", "the host's mount table"),
    "listmount": ("listmount", (0, 0, 0, 0), "anyone", "the host's mount table"),
    "name_to_handle_at": ("name_to_handle_at", (-100, _TEXT(b"."), 0, 0, 0), "anyone", "handles of files (shocker)"),
    "open_by_handle_at": ("open_by_handle_at", (-100, 0, 0), "root", "files by number, past every mount (shocker)"),
    "fanotify_init": ("fanotify_init", (0x200, 0), "anyone", "events of all files"),
    "init_module": ("init_module", (0, 0, 0), "root", "code in the kernel"),
    "finit_module": ("finit_module", (-1, 0, 0), "root", "code in the kernel"),
    "delete_module": ("delete_module", (0, 0x800), "root", "kernel modules removed"),
    "kexec_load": ("kexec_load", (0, 0, 0, 0xFFFF), "root", "another kernel"),
    "kexec_file_load": ("kexec_file_load", (-1, -1, 0, 0, 0xFFFF), "root", "another kernel"),
    "reboot": ("reboot", (0, 0, 0, 0), "root", "a restart of the machine"),
    "swapon": ("swapon", (0, 0), "root", "swap devices"),
    "swapoff": ("swapoff", (0,), "root", "swap devices"),
    "acct": ("acct", (1,), "root", "a file that the kernel writes"),
    "quotactl": ("quotactl", (0x12345678, 0, 0, 0), "anyone", "disk quotas"),
    "quotactl_fd": ("quotactl_fd", (-1, 0x12345678, 0, 0), "anyone", "disk quotas"),
    "settimeofday": ("settimeofday", (0, 0), "root", "the host's clock"),
    "clock_settime": ("clock_settime", (0, 0), "anyone", "the host's clock"),
    "clock_adjtime": ("clock_adjtime", (0, 0), "anyone", "the host's clock"),
    "adjtimex": ("adjtimex", (0,), "anyone", "the host's clock"),
    "sethostname": ("sethostname", (0, -1), "root", "the host's name"),
    "setdomainname": ("setdomainname", (0, -1), "root", "the host's name"),
    "iopl": ("iopl", (0,), "anyone", "input and output ports"),
    "ioperm": ("ioperm", (0, 0, 0), "anyone", "input and output ports"),
    "modify_ldt": ("modify_ldt", (0, 0, 0), "anyone", "segments of its own"),
    "syslog": ("syslog", (10, 0, 0), "root", "the kernel's log"),
    "vhangup": ("vhangup", (), "none", "a hung-up terminal"),
    "lookup_dcookie": ("lookup_dcookie", (0, 0, 0), "none", "names of files by number"),
    "seccomp": ("seccomp", (2, 0, 0), "anyone", "a filter that answers for others"),
    "migrate_pages": ("migrate_pages", (0, 0, 0, 0), "anyone", "memory placement"),
    "move_pages": ("move_pages", (0, 0, 0, 0, 0, 0), "anyone", "memory placement"),
    "mbind": ("mbind", (0, 0, 0, 0, 0, 0), "anyone", "memory placement"),
    "set_mempolicy": ("set_mempolicy", (0, 0, 0), "anyone", "memory placement"),
    "memfd_secret": ("memfd_secret", (0,), "none", "memory that not even the kernel reads"),
    "uselib": ("uselib", (0,), "none", "an old loader"),
    "ustat": ("ustat", (0, 0), "anyone", "file systems by number"),
    "sysfs": ("sysfs", (3, 0, 0), "anyone", "the kernel's list of file systems"),
    "nfsservctl": ("nfsservctl", (0, 0, 0), "none", "the kernel's file server"),
    "ioprio_set": ("ioprio_set", (1, 0, 0), "anyone", "disk priority"),
    "remap_file_pages": ("remap_file_pages", (0, 0, 0, 0, 0), "anyone", "an interface with a past"),
    "personality_no_randomize": ("personality", (0x0040000,), "anyone", "predictable addresses"),
    "personality_read_exec": ("personality", (0x0400000,), "anyone", "executable data"),
    "personality_linux32": ("personality", (8,), "anyone", "another architecture's behaviour"),
    "io_setup": ("io_setup", (1, 0), "anyone", "the old asynchronous interface"),
    "lsm_set_self_attr": ("lsm_set_self_attr", (0, 0, 0, 0), "anyone", "its own security label"),
    "prctl_seccomp": ("prctl", (22, 0, 0, 0, 0), "anyone", "filters of its own by the old way"),
    "prctl_mm": ("prctl", (35, 99, 0, 0, 0), "anyone", "its own memory map forged"),
    "prctl_user_dispatch": ("prctl", (59, 0, 0, 0, 0), "anyone", "calls led around"),
    "prctl_tsc": ("prctl", (26, 1, 0, 0, 0), "anyone", "the time stamp counter's trap"),
    "prctl_sched_core": ("prctl", (62, 99, 0, 0, 0), "anyone", "core scheduling cookies"),
    "prctl_io_flusher": ("prctl", (57, 0, 0, 0, 0), "root", "priority in memory shortage"),
    "prctl_ptracer": ("prctl", (0x59616D61, -1, 0, 0, 0), "anyone", "debuggers let in"),
}


def _register(name: str, asked: str, arguments: tuple[Any, ...], control: str, purpose: str) -> None:
    def run() -> Answer:
        answer = call(asked, *arguments)
        return closed(answer) if answer in _REFUSED else opened(answer)

    intended = {}
    if name in _ENGINE_ALLOWS:
        intended = {"engine": "the engine's own filter lets it through; the kernel's own checks stand behind it"}
    register(name, AREA, asked + ": " + purpose, run, control, intended)


_ENGINE_ALLOWS = frozenset(
    [
        "ptrace",
        "process_vm_readv",
        "process_vm_writev",
        "process_madvise",
        "process_mrelease",
        "pidfd_getfd",
        "kcmp",
        "seccomp",
        "adjtimex",
        "clock_adjtime",
        "modify_ldt",
        "name_to_handle_at",
        "io_setup",
        "ioprio_set",
        "remap_file_pages",
        "memfd_secret",
        "prctl_seccomp",
        "prctl_mm",
        "prctl_user_dispatch",
        "prctl_tsc",
        "prctl_sched_core",
        "prctl_io_flusher",
        "prctl_ptracer",
        "personality_linux32",
        "io_uring_setup",
        "io_uring_enter",
        "io_uring_register",
        "migrate_pages",
        "lsm_set_self_attr",
        "sysfs",
        "ustat",
    ]
)

for _name, _row in _CALLS.items():
    _register(_name, *_row)


def _cloned(flag: int) -> Answer:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    child = libc.syscall(ctypes.c_long(facts["calls"]["clone"]), ctypes.c_long(flag | 17), *[ctypes.c_long(0)] * 4)
    if child == 0:
        os._exit(0)
    if child < 0:
        return closed(os.strerror(ctypes.get_errno()))
    os.waitpid(child, 0)
    return opened("a child in a new namespace")


for _kind, _flag in (("user", 0x10000000), ("user_and_net", 0x50000000), ("user_and_mount", 0x10020000)):
    register(
        "clone_new_" + _kind,
        AREA,
        "clone: a child in new namespaces (" + _kind.replace("_", " ") + ")",
        lambda flag=_flag: _cloned(flag),  # type: ignore[misc]
    )


@attack(AREA, "a call whose number is not known yet", control="none")
def unknown_call() -> Answer:
    """A newer kernel's calls have to look like an older kernel's: ENOSYS."""
    answer = call("600")
    return (CLOSED if answer == "ENOSYS" else "open", answer)


@attack(AREA, "x32 calls, which share the 64-bit architecture's name", control="none")
def x32_call() -> Answer:
    """getpid of the x32 table."""
    if platform.machine() != "x86_64":
        return ABSENT, "x86-64 only"
    answer = call(str(39 | 0x40000000))
    return (CLOSED if answer == "ENOSYS" else "open", answer)


@attack(
    AREA,
    "i386 calls by int 0x80, which a 64-bit filter does not name",
    control="none",
    intended={"engine": "the engine's filter covers the 32-bit architecture too"},
)
def i386_call() -> Answer:
    """getpid of the 32-bit table; a kernel without it kills the process."""
    if platform.machine() != "x86_64":
        return ABSENT, "x86-64 only"
    page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("53b814000000cd805bc3"))  # push rbx; mov eax, getpid; int 0x80; pop rbx; ret
    run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    return opened("it answered") if run() > 0 else closed("it answered with an error")

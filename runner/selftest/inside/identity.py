"""Attacks on who the payload is: ids, capabilities, priorities, what a program could gain."""

from __future__ import annotations

import ctypes
import os
import resource

from skillkeep.runner.selftest.inside.harness import Answer, attack, call, closed, opened, tried

AREA = "identity"
_CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def status() -> dict[str, str]:
    """/proc/self/status by key."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return {key: value.strip() for key, _, value in (line.partition(":") for line in file)}


@attack(AREA, "be user 0 of the host", control="root")
def host_root() -> Answer:
    """Through the id map: which user of the host this process is."""
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        rows = [[int(word) for word in line.split()] for line in file]
    for inside, outside, count in rows:
        if inside <= os.getuid() < inside + count:
            host = outside + os.getuid() - inside
            return opened("host uid 0") if host == 0 else closed(f"host uid {host}")
    return closed("no id of the host")


@attack(AREA, "become user 0", control="root")
def setuid_root() -> Answer:
    """setresuid(0, 0, 0)."""
    return tried(lambda: os.setresuid(0, 0, 0), ("EPERM", "EINVAL", "EACCES"))


@attack(AREA, "become group 0", control="root")
def setgid_root() -> Answer:
    """setresgid(0, 0, 0)."""
    return tried(lambda: os.setresgid(0, 0, 0), ("EPERM", "EINVAL", "EACCES"))


@attack(AREA, "join other groups", control="root")
def setgroups() -> Answer:
    """setgroups([0])."""
    return tried(lambda: os.setgroups([0]), ("EPERM", "EINVAL", "EACCES"))


@attack(AREA, "hold a capability", control="root")
def capabilities_held() -> Answer:
    """Any bit in any of the five sets."""
    held = {name: status()[name] for name in _CAPABILITY_SETS if int(status()[name], 16)}
    return opened(held) if held else closed("all five sets are empty")


@attack(AREA, "take a capability back", control="none")
def capset_gain() -> Answer:
    """capset(2) with every bit."""

    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    class Data(ctypes.Structure):
        _fields_ = (("words", ctypes.c_uint32 * 6),)

    full = Data((ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6))
    answer = call("capset", ctypes.byref(Header(0x20080522, 0)), ctypes.byref(full))
    return opened(answer) if answer == "done" else closed(answer)


@attack(AREA, "raise an ambient capability", control="none")
def ambient_raise() -> Answer:
    """PR_CAP_AMBIENT_RAISE of CAP_NET_RAW."""
    answer = call("prctl", 47, 2, 13, 0, 0)
    return opened(answer) if answer == "done" else closed(answer)


@attack(AREA, "gain rights by a setuid program (no_new_privs is off)")
def new_privileges() -> Answer:
    """The kernel's own word."""
    return closed("no_new_privs") if status().get("NoNewPrivs") == "1" else opened("no_new_privs is off")


@attack(AREA, "change the rules of user 0 (securebits)", control="root")
def securebits() -> Answer:
    """PR_SET_SECUREBITS with the present value."""
    libc = ctypes.CDLL(None, use_errno=True)
    answer = call("prctl", 28, libc.prctl(27, 0, 0, 0, 0), 0, 0, 0)
    return opened(answer) if answer == "done" else closed(answer)


@attack(AREA, "write a file capability", control="root")
def file_capability() -> Answer:
    """setxattr security.capability on a file of its own."""
    path = f"/tmp/selftest-capability-{os.getpid()}"  # noqa: S108
    open(path, "w", encoding="utf-8").close()
    empty = bytes.fromhex("0000000200000000000000000000000000000000")
    try:
        return tried(lambda: os.setxattr(path, "security.capability", empty), ("EPERM", "EACCES", "ENOTSUP", "ENOSYS"))
    finally:
        os.unlink(path)


@attack(AREA, "forge the id map (uid_map, gid_map, setgroups)", control="none")
def id_map() -> Answer:
    """Open one of them for writing and write."""
    for name in ("uid_map", "gid_map"):
        with open("/proc/self/" + name, "r+", encoding="utf-8") as file:
            answer = tried(lambda: os.write(file.fileno(), b"0 0 1\n"))
            if answer[0] != "closed":
                return answer
    return closed("EPERM")


def _raised(kind: int) -> Answer:
    hard = resource.getrlimit(kind)[1]
    wanted = resource.RLIM_INFINITY if hard == resource.RLIM_INFINITY else hard + 1
    if wanted == resource.RLIM_INFINITY:
        return opened("there is no limit")
    try:
        resource.setrlimit(kind, (wanted, wanted))
    except (OSError, ValueError) as error:
        return closed(error)
    return opened(f"raised to {wanted}")


@attack(AREA, "open more files than allowed (raise RLIMIT_NOFILE)", control="root")
def raise_open_files() -> Answer:
    """One above the hard limit."""
    return _raised(resource.RLIMIT_NOFILE)


@attack(AREA, "write larger files than allowed (raise RLIMIT_FSIZE)")
def raise_file_size() -> Answer:
    """One above the hard limit."""
    return _raised(resource.RLIMIT_FSIZE)


@attack(AREA, "write a core dump (raise RLIMIT_CORE)")
def raise_core() -> Answer:
    """A core of more than one byte; lowering to 0 would start a handler that core_pattern names."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if (soft, hard) == (0, 0) and not _core_is_piped():
        return closed("limit 0, and no handler is piped to")
    if hard not in (0, 1):
        return opened(f"hard limit {hard}")
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    except (OSError, ValueError):
        return closed(f"fixed at {hard}")
    return opened("changed") if _core_is_piped() else closed("limit 0, and no handler is piped to")


def _core_is_piped() -> bool:
    try:
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
            return file.read(1) == "|"
    except OSError:
        return True


@attack(AREA, "run before everything else (real-time priority)", control="root")
def realtime() -> Answer:
    """sched_setscheduler SCHED_FIFO; given back at once."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        return closed(error.strerror)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return opened("SCHED_FIFO")


@attack(AREA, "be nicer to itself than others are (negative nice)", control="root")
def negative_nice() -> Answer:
    """One step below the present value."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    return tried(lambda: os.setpriority(os.PRIO_PROCESS, 0, before - 1), ("EPERM", "EACCES"))


@attack(AREA, "lock all of memory", control="root")
def lock_memory() -> Answer:
    """mlock of 64 MiB: untouched pages, released at once."""
    import mmap

    size = 64 << 20
    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if 0 <= soft < size:
        page = mmap.mmap(-1, size, mmap.MAP_PRIVATE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        answer = call("mlock", ctypes.c_void_p(address), size)
        return opened(answer) if answer == "done" else closed(f"limit {soft}, {answer}")
    return opened(f"limit {soft}")


@attack(AREA, "be spared when memory runs out (oom_score_adj)", control="root")
def oom_score() -> Answer:
    """Write -1000, or one below the present value."""
    with open("/proc/self/oom_score_adj", encoding="utf-8") as file:
        before = int(file.read())

    def lower() -> int:
        with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
            return file.write(str(min(before - 1, -1)))

    return tried(lower)


@attack(
    AREA,
    "change limits of another process",
    intended={"engine": "it reaches processes of its own container only, and can only lower their limits"},
)
def limits_of_others() -> Answer:
    """prlimit of the parent: set the same value it has."""
    pair = (ctypes.c_uint64 * 2)(*[value & (2**64 - 1) for value in resource.getrlimit(resource.RLIMIT_NOFILE)])
    answer = call("prlimit64", os.getppid(), resource.RLIMIT_NOFILE, ctypes.byref(pair), 0)
    return opened(answer) if answer == "done" else closed(answer)

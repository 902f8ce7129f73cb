"""Attacks on files: the tool's own, the system's, the host's, and what is left in a granted folder."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
from collections.abc import Callable

from skillkeep.runner.selftest.inside.harness import ABSENT, Answer, attack, closed, facts, opened, register, tried

AREA = "files"
_SCRATCH = "/tmp"  # noqa: S108  the sandbox's own
_SETUID, _SETGID, _RUNNABLE = 0o4755, 0o2755, 0o755
_NOT_EXECUTED = "what it writes it may run: it runs with the payload's own rights, and no more"


def _any(*ways: Callable[[], object]) -> Answer:
    """Open when one of them works."""
    answers = []
    for way in ways:
        try:
            way()
        except OSError as error:
            answers.append(errno.errorcode.get(error.errno or 0, "?"))
        else:
            return opened(f"one of {len(ways)} ways worked")
    return closed(", ".join(sorted(set(answers))))


def _planted(folder: str) -> Answer:
    path = os.path.join(folder, f"selftest-planted-{os.getpid()}")

    def plant() -> None:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(fd)
        os.unlink(path)

    return _any(plant, lambda: os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR)))


for _name in ("/usr", "/usr/bin", "/etc", "/", "/proc", "/run", "/var", "/dev", "/lib"):
    register(
        "write_in_" + (_name.strip("/").replace("/", "_") or "root"),
        AREA,
        "make a file in " + _name,
        lambda folder=_name: _planted(folder),  # type: ignore[misc]
        "none" if _name == "/proc" else "root",
    )


@attack(AREA, "change a file of the tool: write, mode, time, link, move, remove")
def change_tool() -> Answer:
    """Ten ways."""
    tool = facts["tool"]
    file, spare = tool + "/file", tool + f"/selftest-{os.getpid()}"
    return _any(
        lambda: open(file, "a", encoding="utf-8").close(),
        lambda: os.truncate(file, os.stat(file).st_size),
        lambda: os.chmod(file, 0o644),
        lambda: os.utime(file),
        lambda: os.symlink("/", spare),
        lambda: os.link(file, spare + "-hard"),
        lambda: os.mkdir(spare + "-folder"),
        lambda: os.rename(file, file),
        lambda: os.close(os.open(tool, os.O_TMPFILE | os.O_RDWR)),
        lambda: os.setxattr(file, "user.selftest", b"1"),
    )


@attack(AREA, "take a hard link of a system file to where it can be written", control="none")
def hard_link_out() -> Answer:
    """link(2) crosses no mount."""
    goal = _SCRATCH + f"/selftest-link-{os.getpid()}"
    return _any(lambda: os.link("/usr/bin/env", goal), lambda: os.link(facts["tool"] + "/file", goal))


@attack(AREA, "write to a program that is running (/proc/self/exe, CVE-2019-5736)", control="none")
def own_program() -> Answer:
    """Of this process and of its ancestors."""
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    ways: list[Callable[[], object]] = [lambda: os.close(os.open("/proc/self/exe", os.O_WRONLY))]
    ways += [lambda pid=pid: os.close(os.open("/proc/" + pid + "/exe", os.O_WRONLY)) for pid in pids]  # type: ignore[misc]
    return _any(*ways)


@attack(AREA, "leave by /proc/<pid>/root or /proc/<pid>/cwd")
def magic_links() -> Answer:
    """To a file of the host with a known text."""
    path = facts["canary_path"]
    bases = ["/proc/" + name + "/" + link for name in ("self", "1", "2") for link in ("root", "cwd", "cwd/../../..")]
    for base in ["", *bases]:
        with contextlib.suppress(OSError), open(base + path, encoding="utf-8") as file:
            if facts["canary"] in file.read():
                return opened(base or path)
    return closed(f"not reached by {len(bases) + 1} ways")


@attack(AREA, "leave by `..` from a folder that was opened before a chroot", control="none")
def dot_dot() -> Answer:
    """/.. is / itself."""
    root, above = os.stat("/"), os.stat("/" + "../" * 40)
    return (
        closed("/.. is /") if (root.st_ino, root.st_dev) == (above.st_ino, above.st_dev) else opened("/.. is elsewhere")
    )


@attack(AREA, "read the user's home, keys and credentials", control="none")
def homes() -> Answer:
    """Homes of the host that have any entry at all."""
    found = []
    for folder in ("/root", "/home", facts["home"]):
        with contextlib.suppress(OSError):
            if os.listdir(folder):
                found.append(folder)
    for path in (
        "/etc/shadow",
        "/etc/gshadow",
        "/etc/sudoers",
        "/etc/ssh",
        "/var/lib",
        "/var/log",
        "/mnt",
        "/media",
        "/boot",
    ):
        with contextlib.suppress(OSError):
            if (os.path.isdir(path) and os.listdir(path)) or (os.path.isfile(path) and open(path, "rb").read(1)):  # noqa: SIM115
                found.append(path)
    kept = [path for path in found if path not in facts["image_folders"]]
    return opened(kept) if kept else closed("nothing is there")


def _made(kind: int, major: int, minor: int) -> Answer:
    path = _SCRATCH + f"/selftest-node-{os.getpid()}"

    def make() -> None:
        os.mknod(path, kind | 0o600, os.makedev(major, minor))
        os.unlink(path)

    return tried(make, ("EPERM", "EACCES", "ENOSYS"))


@attack(AREA, "make a block device", control="root")
def block_device() -> Answer:
    """The number of the first disk; never opened."""
    return _made(stat.S_IFBLK, 8, 0)


@attack(AREA, "make a character device", control="root")
def character_device() -> Answer:
    """The number of /dev/mem; never opened."""
    return _made(stat.S_IFCHR, 1, 1)


@attack(AREA, "make a whiteout, the device 0:0 that overlays take for a deleted file")
def whiteout() -> Answer:
    """Any user may make one since Linux 5.8."""
    return _made(stat.S_IFCHR, 0, 0)


@attack(AREA, "find a device that leads to hardware or the host", control="root")
def devices() -> Answer:
    """Everything in /dev that is not one of the harmless five, a terminal of its own, or a folder."""
    harmless = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)}
    found = []
    for folder, _, names in os.walk("/dev"):
        for name in names:
            with contextlib.suppress(OSError):
                info = os.lstat(os.path.join(folder, name))
                number = (os.major(info.st_rdev), os.minor(info.st_rdev))
                own_terminal = folder == "/dev/pts" or os.path.join(folder, name) == "/dev/console"
                is_device = stat.S_ISBLK(info.st_mode) or stat.S_ISCHR(info.st_mode)
                if is_device and number not in harmless and not own_terminal:
                    found.append(name)
    return opened(found[:5]) if found else closed("only null, zero, full, random, urandom and terminals")


@attack(AREA, "run a setuid program from a mount that honours it")
def setuid_mounts() -> Answer:
    """Mounts without nosuid."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        rows = [line.split(" ") for line in file]
    found = [row[1] for row in rows if "nosuid" not in row[3].split(",")]
    if found and _no_new_privileges():
        return closed("no_new_privs stands in for it on " + found[0])
    return opened(found[:3]) if found else closed("every mount is nosuid")


def _no_new_privileges() -> bool:
    with open("/proc/self/status", encoding="utf-8") as file:
        return "NoNewPrivs:\t1" in file.read()


@attack(
    AREA,
    "leave a setuid file in scratch or in a granted folder",
    intended={"engine": "the file belongs to the container's user 65534, which is nobody's; its own mounts are nosuid"},
)
def setuid_file() -> Answer:
    """chmod, creat and mknod with the bits."""
    folder = facts.get("writable") or _SCRATCH
    path = folder + f"/selftest-setuid-{os.getpid()}"
    open(path, "w", encoding="utf-8").close()
    try:
        answer = _any(lambda: os.chmod(path, _SETUID), lambda: os.chmod(path, _SETGID))
        set_bits = os.stat(path).st_mode & 0o6000
        return answer if set_bits or answer[0] == "closed" else closed("the bits do not stay")
    finally:
        os.unlink(path)


@attack(AREA, "write a huge file (1 TiB, sparse)")
def sparse_file() -> Answer:
    """ftruncate in scratch; removed at once."""
    path = _SCRATCH + f"/selftest-sparse-{os.getpid()}"
    with open(path, "wb") as file:
        try:
            return tried(lambda: file.truncate(1 << 40), ("EFBIG", "EPERM", "EINVAL", "ENOSPC"))
        finally:
            os.unlink(path)


def _overfilled(fd: int, path: str) -> Answer:
    """Whether a new file takes more than the limit; it is removed."""
    try:
        os.posix_fallocate(fd, 0, facts["tmp_bytes"] + (1 << 20))
    except OSError as error:
        return closed(error.strerror)
    finally:
        os.unlink(path)
    return opened(f"more than {facts['tmp_bytes']} bytes")


@attack(AREA, "fill the disk: more scratch than allowed", control="none")
def fill_scratch() -> Answer:
    """Blocks without data behind them; stops a little above the limit, and is removed."""
    path = _SCRATCH + f"/selftest-fill-{os.getpid()}"
    with open(path, "wb") as file:
        return _overfilled(file.fileno(), path)


@attack(AREA, "fill /dev/shm beyond its limit", control="none")
def fill_shared_memory() -> Answer:
    """The same on the other tmpfs."""
    path = f"/dev/shm/selftest-fill-{os.getpid()}"  # noqa: S108
    try:
        file = open(path, "wb")  # noqa: SIM115  closed below
    except OSError as error:
        return closed(error.strerror)
    with file:
        return _overfilled(file.fileno(), path)


@attack(
    AREA,
    "use up inodes (files without end)",
    control="none",
    intended={
        "docker": "each inode is memory, which the container's memory limit counts",
        "landlock": "scratch is a folder of the host's /tmp, which is one of the losses of this sandbox",
    },
)
def inodes() -> Answer:
    """How many inodes the scratch file systems have: a bound has to be there."""
    room = os.statvfs(_SCRATCH)
    if room.f_files == 0 or room.f_files > 1 << 20:
        return opened(f"{room.f_files} inodes")
    return closed(f"{room.f_files} inodes")


@attack(AREA, "run code that is in no file (memfd)")
def memory_program() -> Answer:
    """A shell in a memfd, executed by descriptor."""
    if not hasattr(os, "memfd_create"):
        return ABSENT, "no memfd_create in this Python"
    try:
        fd = os.memfd_create("selftest")
    except OSError:
        try:
            fd = os.memfd_create("selftest", 8)  # MFD_NOEXEC_SEAL
        except OSError as error:
            return closed(error.strerror)
    with contextlib.suppress(OSError):
        os.chmod(fd, _RUNNABLE)
    with open("/bin/sh" if os.path.exists("/bin/sh") else "/usr/bin/env", "rb") as file:
        os.write(fd, file.read())
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            os.execve(fd, ["sh", "-c", "exit 7"], {})  # noqa: S606
        os._exit(1)
    return opened("executed") if os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 7 else closed("not executed")


@attack(AREA, "run a program it has written to scratch", intended={"*": _NOT_EXECUTED})
def written_program() -> Answer:
    """A script in /tmp."""
    path = _SCRATCH + f"/selftest-program-{os.getpid()}"
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 7\n")
    os.chmod(path, _RUNNABLE)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            os.execve(path, [path], {})  # noqa: S606
        os._exit(1)
    done = os.WEXITSTATUS(os.waitpid(child, 0)[1])
    os.unlink(path)
    return opened("executed") if done == 7 else closed("not executed")


@attack(AREA, "write to memory pages of a read-only file (dirty pages by MAP_SHARED)")
def shared_mapping() -> Answer:
    """A writable shared mapping of the tool's file needs a descriptor open for writing."""
    with open(facts["tool"] + "/file", "rb") as file:
        try:
            mmap.mmap(file.fileno(), 1, flags=mmap.MAP_SHARED, prot=mmap.PROT_WRITE | mmap.PROT_READ)
        except OSError as error:
            reason = error.strerror
        else:
            return opened("mapped")
    try:
        os.close(os.open(facts["tool"] + "/file", os.O_RDWR))
    except OSError:
        return closed(reason)
    return opened("it opens for writing")


@attack(AREA, "escape by a symbolic link in a granted folder", control="none")
def link_in_grant() -> Answer:
    """The link leads to what is inside, whatever it names."""
    folder = facts.get("writable")
    if not folder:
        return ABSENT, "no granted folder in this run"
    path = folder + f"/selftest-way-{os.getpid()}"
    os.symlink(facts["canary_path"], path)
    try:
        with open(path, encoding="utf-8") as file:
            return opened("read") if facts["canary"] in file.read() else closed("something else is there")
    except OSError as error:
        return closed(error.strerror)
    finally:
        os.unlink(path)


@attack(AREA, "mount file systems of its own making (/dev/fuse)", control="none")
def fuse() -> Answer:
    """The device that a user's file systems need."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return closed(error.strerror)
    return opened("/dev/fuse")

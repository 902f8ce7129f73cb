"""Attacks by what a payload is started with, and on processes beside it."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import sys

from skillkeep.runner.selftest.inside.harness import ABSENT, Answer, attack, call, closed, facts, opened, tried

AREA = "session"
_IPC_KEY = 0x5E1F7E57


@attack(AREA, "read the environment of whoever started it", control="anyone")
def environment() -> Answer:
    """A secret that the caller's environment holds."""
    text = "\0".join(name + "=" + value for name, value in os.environ.items())
    return opened("the secret") if facts["secret"] in text else closed(sorted(os.environ))


@attack(AREA, "use descriptors that came along", control="none")
def descriptors() -> Answer:
    """All but the first three, those of this program's own making left out."""
    early = set(facts["descriptors_at_start"]) - {0, 1, 2}
    return opened(sorted(early)) if early else closed("only 0, 1 and 2")


@attack(AREA, "climb out of a folder given as a descriptor (CVE-2024-21626)", control="none")
def folder_descriptors() -> Answer:
    """Any descriptor that is a folder, and the working directory."""
    found = []
    for number in facts["descriptors_at_start"]:
        with contextlib.suppress(OSError):
            if os.path.isdir(f"/proc/self/fd/{number}"):
                found.append(number)
    with contextlib.suppress(OSError):
        if not os.path.samefile(os.getcwd(), "."):
            found.append(-1)
    return opened(found) if found else closed("none is a folder")


@attack(AREA, "write to a descriptor that was meant for reading (stdin opened anew)", control="none")
def reopen_stdin() -> Answer:
    """/proc/self/fd/0 for writing: a pipe's own other end is all there is."""
    goal = os.readlink("/proc/self/fd/0")
    if goal.startswith(("pipe:", "/dev/null")):
        return closed(goal.split(":")[0])
    try:
        os.close(os.open("/proc/self/fd/0", os.O_WRONLY))
    except OSError as error:
        return closed(error.strerror)
    return opened(goal)


@attack(AREA, "type into the terminal of whoever started it (TIOCSTI, TIOCLINUX)", control="none")
def type_into_terminal() -> Answer:
    """Each of the first three descriptors, with and without bits above the 32nd."""
    letter = ctypes.create_string_buffer(b" ")
    for fd in (0, 1, 2):
        for request in (0x5412, 0x541C, 0x5412 | 1 << 32, 0x541C | 1 << 40):
            answer = call("ioctl", fd, request, letter)
            if answer == "done":
                return opened(f"descriptor {fd}")
    return closed(answer)


@attack(AREA, "have a controlling terminal", control="none")
def controlling_terminal() -> Answer:
    """/dev/tty."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError as error:
        return closed(error.strerror)
    return opened("/dev/tty")


@attack(AREA, "stay in the session of whoever started it")
def same_session() -> Answer:
    """The session has to have been made for the payload."""
    leader = os.getsid(0)
    return opened("session of somebody else") if leader == 0 or facts.get("host_session") == leader else closed(leader)


@attack(AREA, "inherit signals that are blocked or ignored", control="none")
def inherited_signals() -> Answer:
    """What was in force when this program was started.

    Python itself ignores SIGPIPE and SIGXFSZ, and the C library's posix_spawn its own signals, 32 and 33.
    """
    blocked, ignored = facts["signals_at_start"]
    for number in (signal.SIGPIPE, signal.SIGXFSZ, 32, 33):
        ignored &= ~(1 << (number - 1))
    return opened(f"blocked {blocked:x}, ignored {ignored:x}") if blocked or ignored else closed("none")


@attack(AREA, "see processes of the host")
def host_processes() -> Answer:
    """A process of the host with a known word in its command line."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open("/proc/" + name + "/cmdline", "rb") as file:
                if facts["mark"].encode() in file.read():
                    return opened("pid " + name)
    return closed(f"{sum(name.isdigit() for name in os.listdir('/proc'))} processes")


@attack(AREA, "signal a process of the host")
def signal_host() -> Answer:
    """Signal 0 to a process of the host, by its number there."""
    try:
        os.kill(facts["host_pid"], 0)
    except OSError as error:
        return closed(error.strerror)
    with contextlib.suppress(OSError), open(f"/proc/{facts['host_pid']}/cmdline", "rb") as file:
        if facts["mark"].encode() in file.read():
            return opened("signalled")
    return closed("a process of its own has that number")


@attack(
    AREA,
    "read the memory or the environment of the sandbox's init",
    control="none",
    intended={"docker": "the engine's init runs as the payload's own user, inside the container, and holds nothing"},
)
def init_memory() -> Answer:
    """/proc/1/mem, environ, maps and fd."""
    for name in ("mem", "environ", "maps", "auxv", "fd", "cwd", "task/1/children"):
        path = "/proc/1/" + name
        with contextlib.suppress(OSError):
            if name == "fd":
                if os.listdir(path):
                    return opened(path)
            elif name == "cwd":
                os.readlink(path)
                return opened(path)
            elif name != "task/1/children":
                with open(path, "rb") as file:
                    if name != "mem" and file.read(1):
                        return opened(path)
                    if name == "mem":
                        return opened(path)
    return closed("all of it is refused")


@attack(AREA, "kill the sandbox's init", control="none")
def kill_init() -> Answer:
    """Pid 1 has to be still there afterwards. Not tried where pid 1 may be the host's."""
    if not facts.get("own_pids"):
        return ABSENT, "pid 1 may be the host's, or the engine's init, which ends the run when it is asked to"
    with contextlib.suppress(OSError):
        os.kill(1, signal.SIGTERM)
        os.kill(1, signal.SIGINT)
    try:
        os.kill(1, 0)
    except ProcessLookupError:
        return opened("it has gone")
    except OSError as error:
        return closed(error.strerror)
    return closed("it is still there")


@attack(AREA, "meet the host in System V shared memory")
def shared_memory() -> Answer:
    """A segment that the selftest made."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.shmget(facts["ipc_key"], 0, 0)
    return opened(f"segment {found}") if found >= 0 else closed(os.strerror(ctypes.get_errno()))


@attack(AREA, "meet the host in POSIX shared memory")
def posix_shared_memory() -> Answer:
    """A file that the selftest made in /dev/shm."""
    path = "/dev/shm/" + facts["shm_name"]  # noqa: S108
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        return closed(error.strerror)
    return opened(path)


@attack(AREA, "use up memory by message queues", control="none")
def message_queues() -> Answer:
    """POSIX queues: no byte of them is allowed."""
    limit = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[0]
    if limit == 0:
        return closed("limit 0")
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.mq_open(b"/selftest", os.O_CREAT | os.O_RDWR, 0o600, None)
    if found < 0:
        return closed(os.strerror(ctypes.get_errno()))
    libc.mq_unlink(b"/selftest")
    return closed(f"own namespace, limit {limit} bytes")


@attack(
    AREA,
    "use up the user's inotify instances",
    control="none",
    intended={"docker": "they are counted for user 65534, which has nothing else to do on the host"},
)
def inotify_instances() -> Answer:
    """A bound that leaves some to the host's user; what was taken is given back."""
    libc = ctypes.CDLL(None, use_errno=True)
    taken = []
    for _ in range(200):
        fd = libc.inotify_init1(0)
        if fd < 0:
            break
        taken.append(fd)
    for fd in taken:
        os.close(fd)
    return closed(f"{len(taken)}") if len(taken) < 128 else opened(f"{len(taken)} or more")


@attack(AREA, "use up descriptors", control="none")
def file_descriptors() -> Answer:
    """Until the limit; a bound has to be there."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return closed(f"{hard}") if 0 < hard <= facts["open_files"] else opened(f"{hard}")


@attack(AREA, "use up kernel memory by pending signals", control="none")
def pending_signals() -> Answer:
    """RLIMIT_SIGPENDING."""
    if not hasattr(resource, "RLIMIT_SIGPENDING"):
        return ABSENT, "no such limit in this Python"
    limit = resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]
    return closed(limit) if 0 <= limit <= 1 << 17 else opened(limit)


@attack(AREA, "take more pipe memory than an ordinary user may", control="root")
def large_pipes() -> Answer:
    """F_SETPIPE_SZ above pipe-max-size."""
    import fcntl

    ours, theirs = os.pipe()
    try:
        fcntl.fcntl(theirs, 1031, 64 << 20)
    except OSError as error:
        return closed(error.strerror)
    finally:
        os.close(ours)
        os.close(theirs)
    return opened("64 MiB in a pipe")


@attack(
    AREA,
    "pretend to be another program (comm, argv)",
    intended={
        "*": "names of processes are the payload's own; the result names it by its control group and pid namespace"
    },
)
def rename_itself() -> Answer:
    """PR_SET_NAME."""
    answer = call("prctl", 15, ctypes.c_char_p(b"systemd"), 0, 0, 0)
    return opened(answer) if answer == "done" else closed(answer)


@attack(
    AREA,
    "set an audit login id",
    control="root",
    intended={"*": "the kernel takes an id of the sandbox's own user namespace only, which is nobody's on the host"},
)
def login_id() -> Answer:
    """/proc/self/loginuid, which may be set once."""
    with open("/proc/self/loginuid", "r+", encoding="utf-8") as file:
        return tried(lambda: os.write(file.fileno(), b"0"), ("EPERM", "EACCES", "EINVAL", "ENOENT"))


@attack(
    AREA,
    "write where it may only read, through the file of its own memory",
    control="anyone",
    intended={"*": "it is the payload's own memory; on the native backend Landlock refuses the file"},
)
def memory_file() -> Answer:
    """/proc/self/mem, whose writes pay no heed to the protection of pages."""
    program_file = os.path.realpath(sys.executable)
    with open(program_file, "rb") as program:
        page = mmap.mmap(program.fileno(), mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        where = [line for line in maps if " r--p 00000000 " in line and line.endswith(program_file + "\n")]
    before = page[:]
    for line in where:
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(int(line.partition("-")[0], 16) + 1)
            memory.write(b"\0")
    return closed(len(where)) if page[:] == before else opened("written")


@attack(AREA, "set a security label, inject faults, shift clocks", control="none")
def process_switches() -> Answer:
    """attr/current, make-it-fail and timens_offsets of its own."""
    for name, text in (("attr/current", b"x"), ("make-it-fail", b"0"), ("timens_offsets", b"1 1 0")):
        with contextlib.suppress(OSError):
            fd = os.open("/proc/self/" + name, os.O_WRONLY)
            try:
                os.write(fd, text)
            finally:
                os.close(fd)
            return opened(name)
    return closed("none can be written")

"""What of the kernel a payload can still ask for: system calls, sysctls, privileges, terminals."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import subprocess
from typing import Any

import pytest
from support.callers import calling
from support.sandbox import NOBODY, Bench

from skillkeep.kernel.seccomp import ALLOW, Filter, deny
from skillkeep.kernel.syscalls import table
from skillkeep.runner.filtered.start import rules
from skillkeep.runner.native import layout
from skillkeep.runner.native.filters import payload_filter

CALLS = """
import ctypes, errno, json, os, sys
numbers = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "done"
"""
HARMLESS = {
    # name: (arguments with which it works or is at least understood outside, answer inside)
    "unshare": ([0x10000000], "EPERM"),
    "setns": ([0, 0], "EPERM"),
    "clone3": ([0, 0], "ENOSYS"),
    "ptrace": ([0, 0, 0, 0], "EPERM"),
    "process_vm_readv": ([1, 0, 0, 0, 0, 0], "EPERM"),
    "io_uring_setup": ([1, 0], "ENOSYS"),
    "io_uring_enter": ([0, 0, 0, 0], "ENOSYS"),
    "keyctl": ([0, -2 & 0xFFFFFFFF, 0, 0], "ENOSYS"),
    "add_key": ([0, 0, 0, 0, 0], "ENOSYS"),
    "bpf": ([0, 0, 0], "EPERM"),
    "userfaultfd": ([1], "EPERM"),
    "perf_event_open": ([0, 0, 0, 0, 0], "EPERM"),
    "personality": ([0x0040000], "EPERM"),
    "pidfd_getfd": ([0, 0, 0], "EPERM"),
    "prlimit64": ([1, 7, 0, 0], "EPERM"),
    "name_to_handle_at": ([0, 0, 0, 0, 0], "EPERM"),
    "open_tree": ([-100, 0, 0], "EPERM"),
}
_ROOT_ONLY = """
    mount umount2 pivot_root chroot fsopen fsmount move_mount mount_setattr open_by_handle_at init_module
    finit_module kexec_load swapon reboot settimeofday sethostname acct syslog quotactl
"""
ROOT_ONLY = _ROOT_ONLY.split()


def _answers(text: str) -> dict[str, str]:
    answers: dict[str, str] = json.loads(text)
    return answers


def test_dangerous_calls_are_refused(bench: Bench) -> None:
    code = CALLS + "print(json.dumps({n: call(numbers[n], *a) for n, a in json.loads(sys.argv[2]).items()}))"
    harmless = json.dumps({name: arguments for name, (arguments, _) in HARMLESS.items()})
    expected = {name: answer for name, (_, answer) in HARMLESS.items()}
    outside = _answers(bench.outside(code, json.dumps(table()), harmless).stdout.decode())
    understood = {name for name in expected if outside[name] not in ("ENOSYS", expected[name])}
    assert {"unshare", "clone3", "ptrace", "io_uring_setup", "keyctl", "personality"} <= understood
    assert _answers(bench.inside(code, json.dumps(table()), harmless)["stdout"]) == expected


def test_calls_that_only_root_could_make_are_refused_by_the_filter(bench: Bench) -> None:
    code = CALLS + "print(json.dumps({n: call(numbers[n], 0, 0, 0, 0, 0) for n in sys.argv[2:]}))"
    answers = _answers(bench.inside(code, json.dumps(table()), *ROOT_ONLY)["stdout"])
    assert answers == dict.fromkeys(ROOT_ONLY, "EPERM")


@pytest.mark.parametrize(
    "compiled", [payload_filter(bounded=False), Filter(rules(signals_scoped=True))], ids=["native", "landlock"]
)
def test_where_no_control_group_counts_memory_none_is_shared_without_a_file(compiled: Filter) -> None:
    shared, validated, populated, high = 0x21, 0x23, 0x8021, 0x21 | 1 << 32
    decisions = {compiled.decide("mmap", [0, 4096, 3, flags]) for flags in (shared, validated, populated, high)}
    assert decisions == {deny(errno.ENOMEM)}
    assert {compiled.decide("mmap", [0, 4096, 3, flags]) for flags in (0x22, 0x01, 0x02, 0x20022)} == {ALLOW}


def test_an_unknown_call_looks_like_an_older_kernel(bench: Bench) -> None:
    code = CALLS + "print(call(600), call(39 | 0x40000000), call(-1), call(1 << 31))"
    assert bench.inside(code, "{}")["stdout"].split() == ["ENOSYS"] * 4


def test_new_namespaces_cannot_be_cloned(bench: Bench) -> None:
    code = (
        CALLS
        + "print([call(numbers['clone'], flag | 17, 0, 0, 0, 0) for flag in (1 << 17, 1 << 28, 1 << 29, 1 << 30)])"
    )
    assert bench.inside(code, json.dumps(table()))["stdout"] == "['EPERM', 'EPERM', 'EPERM', 'EPERM']\n"


def test_threads_and_children_still_work(bench: Bench) -> None:
    code = """
import multiprocessing, subprocess, threading
seen = []
thread = threading.Thread(target=seen.append, args=(1,)); thread.start(); thread.join()
print(seen, subprocess.check_output(["/bin/echo", "child"]))
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(abs, [-1, -2]))
"""
    inside = bench.inside(code)
    assert inside["stdout"] == "[1] b'child\\n'\n[1, 2]\n", inside["stderr"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="i386 calls exist on x86-64 only")
def test_calls_of_another_architecture_kill_the_process(bench: Bench) -> None:
    code = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("53b814000000cd805bc3"))  # push rbx; mov eax, getpid; int 0x80; pop rbx; ret
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))() > 0)
"""
    assert bench.outside(code).returncode in (0, -11)  # -11: a kernel without 32-bit emulation
    inside = bench.inside(code)
    assert (inside["cause"], inside["stdout"]) == ("signal", "")


def test_sysctls_cannot_be_written(bench: Bench) -> None:
    code = """
import errno, glob, os
names = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/net/ipv4/ip_forward",
         "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity",
         "/sys/kernel/uevent_helper"]
for name in names:
    try:
        os.close(os.open(name, os.O_WRONLY))
        print(name, "open")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
"""
    if bench.who.name == "root":
        assert b"core_pattern open" in bench.outside(code).stdout
    answers = {line.split()[1] for line in bench.inside(code)["stdout"].splitlines()}
    assert answers <= {"EROFS", "EACCES", "ENOENT"}


def test_the_payload_is_nobody_and_can_become_nobody_else(bench: Bench) -> None:
    inside = bench.run("cat", "/proc/self/status")
    status = dict(line.split(":", 1) for line in inside["stdout"].splitlines())
    sets = {name: int(value, 16) for name, value in status.items() if name.startswith("Cap")}
    assert sets == dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0)
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"
    assert status["Uid"].split() == ["1000"] * 4
    become = "import os\ntry:\n  os.setuid(0); print('root')\nexcept OSError as error: print(error.strerror)"
    assert bench.inside(become)["stdout"] != "root\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a setuid program")
def test_a_setuid_program_gains_nothing(bench: Bench) -> None:
    shutil.copy("/usr/bin/id", bench.tool / "id")
    os.chown(bench.tool / "id", 0, 0)
    os.chmod(bench.tool / "id", 0o4755)
    outside = subprocess.run([bench.tool / "id"], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True)
    assert b"euid=0" in outside.stdout
    assert "euid" not in bench.run("/tool/id")["stdout"]


def test_every_mount_is_nosuid_and_only_scratch_is_writable(bench: Bench) -> None:
    rows = [line.split() for line in bench.run("cat", "/proc/mounts")["stdout"].splitlines()]
    assert all("nosuid" in row[3].split(",") for row in rows)
    writable = {row[1] for row in rows if "rw" in row[3].split(",") and not row[1].startswith("/dev/")}
    # A mask of an empty folder is a tmpfs without room for a single file.
    assert {path for path in writable if not path.startswith("/proc/")} == {"/tmp", "/proc"}


def test_the_seen_mount_table_names_no_way_back(bench: Bench) -> None:
    probe = "import os; print(os.listdir('/'), os.path.samefile('/', '/..'), os.path.exists('/proc/1/root/work'))"
    inside = bench.inside(probe)
    assert inside["stdout"].endswith("True False\n")
    assert "root'" not in inside["stdout"]


def test_devices_cannot_be_made_and_kernel_files_not_read(bench: Bench) -> None:
    code = """
import os, stat
def attempt(what):
    try:
        return what() or "done"
    except OSError as error:
        return error.strerror
print(attempt(lambda: os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))))
print(attempt(lambda: os.mknod("/tmp/mem", stat.S_IFCHR | 0o600, os.makedev(1, 1))))
print(attempt(lambda: "done" if open("/proc/kcore", "rb").read(1) else "nothing in it"))
print(attempt(lambda: "done" if open("/proc/1/environ", "rb").read(1) else "nothing in it"))
print(attempt(lambda: open("/proc/1/mem", "r+b")))
print(attempt(lambda: os.open("/dev/kmsg", os.O_RDONLY)), attempt(lambda: os.listdir("/dev/pts")))
"""
    lines = bench.inside(code)["stdout"].splitlines()
    assert "done" not in lines
    assert all(
        "Operation not permitted" in line
        or "Permission denied" in line
        or "No such file" in line
        or line == "nothing in it"
        for line in lines
    )


def test_a_terminal_of_the_host_does_not_come_in(bench: Bench) -> None:
    code = (
        CALLS
        + """
letter = ctypes.create_string_buffer(b"x")
for request in (0x5412, 0x541C, 0x5412 | 1 << 32, 0x541C | 1 << 40):
    print(call(numbers["ioctl"], 0, request, letter))
print(os.isatty(0), os.getsid(0) == os.getpid())
"""
    )
    inside = bench.run("python3", "-c", code, json.dumps(table()), stdin="pty")
    assert inside["stdout"].split() == [errno.errorcode[errno.EPERM]] * 4 + ["False", "True"]


def test_the_sandboxs_own_processes_and_their_host_paths_are_not_listed(bench: Bench) -> None:
    code = """
import os
names = [name for name in os.listdir("/proc") if name.isdigit()]
print(len(names), os.path.exists("/proc/1"), int(names[0]) == os.getpid())
"""
    assert bench.inside(code)["stdout"] == "1 False True\n"


def test_shared_memory_and_queues_are_the_sandboxs_own(bench: Bench) -> None:
    code = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None)
print(libc.shmget(int(sys.argv[1]), 4096, 0o1666 if len(sys.argv) > 2 else 0o666) >= 0, os.listdir("/dev/shm"))
"""
    key = 0x5EED0000 | os.getpid() & 0xFFFF
    made = bench.outside(code, key, "make").stdout
    try:
        assert made.startswith(b"True")
        assert bench.inside(code, key)["stdout"] == "False []\n"
    finally:
        subprocess.run(["ipcrm", "-M", str(key)], check=True)


def test_the_policy_can_be_read_inside_without_secrets(bench: Bench) -> None:
    text = bench.run("sh", "-c", 'cat "$SKILLKEEP_POLICY"', env=[["API_TOKEN", "hunter2"]])["stdout"]
    policy: dict[str, Any] = json.loads(text)
    assert policy["network"] == "none"
    assert policy["env"] == ["API_TOKEN"]
    assert "hunter2" not in text


def test_whoever_is_bounded_by_cores_stays_on_them(bench: Bench) -> None:
    code = (
        "import os\nprint(len(os.sched_getaffinity(0)))\n"
        "try: os.sched_setaffinity(0, range(64)); print('changed')\n"
        "except PermissionError: print('refused')"
    )
    answer = bench.run("python3", "-I", "-c", code, cpus=1.0)
    layers = {layer["name"]: layer["facts"] for layer in answer["assurance"]["layers"]}
    by_quota = f"{len(os.sched_getaffinity(0))}\nchanged\n"
    assert answer["stdout"] == (by_quota if "cpu" in layers["cgroup"] else "1\nrefused\n")


def test_what_reaches_past_the_sandbox_by_a_detail_of_a_call_is_refused(bench: Bench) -> None:
    """A mode in memory, a device left by a rename, a child of one's parent, a compiled filter, a disk's number."""
    code = (
        CALLS
        + """
import fcntl, socket, struct
how = ctypes.create_string_buffer(struct.pack("=QQQ", os.O_CREAT | os.O_WRONLY, 0o6755, 0))
print(call(numbers["openat2"], -100, b"/tmp/setuid", how, 24))
open("/tmp/plain", "w").close()
print(call(numbers["renameat2"], -100, b"/tmp/plain", -100, b"/tmp/moved", 4))
print(call(numbers["clone"], 0x8000 | 17, 0, 0, 0, 0))
ours, theirs = socket.socketpair()
program = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0xFFFF))
for option in (26, 51):
    try:
        ours.setsockopt(socket.SOL_SOCKET, option, struct.pack("=HxxxxxxQ", 1, ctypes.addressof(program)))
    except OSError as error:
        print(errno.errorcode[error.errno])
with open("/usr/bin/env", "rb") as file:
    try:
        fcntl.ioctl(file, 0x8008662C, bytes(8))
    except OSError as error:
        print(errno.errorcode[error.errno])
print(sorted(os.listdir("/tmp")))
"""
    )
    inside = bench.run("python3", "-c", code, json.dumps(table()))
    answers = ["ENOSYS", "EPERM", "EPERM", "EPERM", "EPERM", "ENOTTY"]
    assert inside["stdout"].split("\n")[:6] == answers, inside
    assert "plain" in inside["stdout"]
    assert "setuid" not in inside["stdout"]


def test_watches_on_files_are_bounded_for_a_whole_sandbox(bench: Bench) -> None:
    """They count for the user who made its user namespace, root included: without a bound one run takes all."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd, made = libc.inotify_init1(0), 0
for number in range(5000):
    name = f"/tmp/{number}"
    open(name, "w").close()
    if libc.inotify_add_watch(fd, name.encode(), 0x2) < 0:
        break
    made += 1
print(made, ctypes.get_errno())
"""
    made, number = map(int, bench.inside(code)["stdout"].split())
    assert (made, number) == (layout.INOTIFY_WATCHES, errno.ENOSPC)


def test_a_source_that_has_become_a_link_is_not_opened(bench: Bench) -> None:
    """Between the look at a granted folder and its mount another run could turn a folder below its own grant."""
    folder, secret = bench.home / "granted", bench.home / "secret"
    for each in (folder, secret):
        each.mkdir()
        each.chmod(0o777)
    (secret / "key").write_text("the key")
    folder.rename(bench.home / "moved")
    folder.symlink_to(secret)
    for source in (folder, folder / "key"):
        bind = {"source": str(source), "target": "/grant", "writable": True}
        done = json.dumps(bench.run("sh", "-c", "cat /grant/key /grant", binds=[bind]))
        assert "symbolic links" in done
        assert "the key" not in done


def test_the_domain_of_the_hosts_name_service_is_not_in_sight(bench: Bench) -> None:
    if bench.who.uid is not None or os.geteuid():
        pytest.skip("only root can make a host with a domain")
    named = ("unshare", "--uts", "sh", "-c", 'echo corp.example > /proc/sys/kernel/domainname && exec "$@"', "sh")
    with calling(bench, *named) as caller:
        assert caller.run("cat", "/proc/sys/kernel/domainname")["stdout"] == "(none)\n"


def test_what_the_whole_machine_does_is_told_to_nobody_and_processors_can_be_counted(bench: Bench) -> None:
    code = """
import os
print(os.cpu_count(), os.sysconf("SC_NPROCESSORS_CONF"))
for name in ("loadavg", "vmstat", "cgroups", "stat"):
    with open("/proc/" + name) as file:
        print(file.read(), end="")
for path in ("/proc/stat", "/run/sandbox/proc/stat"):
    try:
        os.chmod(path, 0o666)
    except OSError as error:
        print(error.strerror)
"""
    lines = bench.inside(code)["stdout"].splitlines()
    count = os.cpu_count()
    assert count is not None
    assert lines[:2] == [f"{count} {count}", "0.00 0.00 0.00 1/1 1"]
    idle = [line for line in lines if line.startswith("cpu")]
    assert (len(idle), {line.partition(" ")[2] for line in idle}) == (count + 1, {" ".join("0" * 10)})
    assert {"intr 0", "ctxt 0", "softirq 0"} < set(lines)
    assert lines[-2:] == ["Read-only file system"] * 2

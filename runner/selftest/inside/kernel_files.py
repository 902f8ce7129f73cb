"""Attacks by way of /proc and /sys: switches of the machine, and what they tell about the host."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from skillkeep.runner.selftest.inside.harness import Answer, attack, closed, facts, opened, register

AREA = "proc and sys"
_SHAPE = "programs size themselves by it; it says how large and how busy the machine is, nothing about who uses it"
_ENGINE = {"docker": "the engine shows it in every container"}

# path: what it would be good for, of those that a writer could turn against the host
_SWITCHES = {
    "core_pattern": ("/proc/sys/kernel/core_pattern", "a program that the host runs as root at the next crash"),
    "modprobe": ("/proc/sys/kernel/modprobe", "a program that the host runs as root"),
    "hotplug": ("/proc/sys/kernel/hotplug", "a program that the host runs as root"),
    "ip_forward": ("/proc/sys/net/ipv4/ip_forward", "the host's routing"),
    "drop_caches": ("/proc/sys/vm/drop_caches", "the host's caches emptied"),
    "overcommit": ("/proc/sys/vm/overcommit_memory", "the host's memory rules"),
    "panic": ("/proc/sys/kernel/panic", "what the host does at a fault"),
    "printk": ("/proc/sys/kernel/printk", "the host's kernel messages"),
    "userns_limit": ("/proc/sys/user/max_user_namespaces", "the limits of namespaces"),
    "binfmt": ("/proc/sys/fs/binfmt_misc/register", "an interpreter that the host runs"),
    "sysrq": ("/proc/sysrq-trigger", "a restart of the machine"),
    "irq": ("/proc/irq/default_smp_affinity", "interrupts"),
    "mtrr": ("/proc/mtrr", "memory types"),
    "scsi": ("/proc/scsi/scsi", "disks taken out"),
    "timer_migration": ("/proc/sys/kernel/timer_migration", "the host's timers"),
    "uevent_helper": ("/sys/kernel/uevent_helper", "a program that the host runs as root"),
    "power_state": ("/sys/power/state", "a machine put to sleep"),
    "cgroup_release_agent": ("/sys/fs/cgroup/memory/release_agent", "a program that the host runs as root"),
    "transparent_hugepage": ("/sys/kernel/mm/transparent_hugepage/enabled", "the host's memory rules"),
    "debugfs": ("/sys/kernel/debug/sched/features", "the scheduler"),
    "tracefs": ("/sys/kernel/tracing/tracing_on", "the kernel's tracer"),
    "efivars": ("/sys/firmware/efi/efivars", "a machine that does not start any more"),
}

# path: (what it tells, why it may be read)
_TOLD: dict[str, tuple[str, str, Mapping[str, str]]] = {
    "kcore": ("/proc/kcore", "all of memory", {}),
    "kmsg": ("/proc/kmsg", "the kernel's log", {}),
    "dev_kmsg": ("/dev/kmsg", "the kernel's log", {}),
    "dev_mem": ("/dev/mem", "all of memory", {}),
    "kallsyms": ("/proc/kallsyms", "where the kernel's functions lie", _ENGINE),
    "modules": ("/proc/modules", "which drivers are loaded, and where", _ENGINE),
    "kernel_command_line": ("/proc/cmdline", "how the host was started, sometimes with secrets", _ENGINE),
    "kernel_config": ("/proc/config.gz", "how the kernel was built", _ENGINE),
    "bootconfig": ("/proc/bootconfig", "how the host was started", _ENGINE),
    "keys": ("/proc/keys", "keys of the host's users", {}),
    "key_users": ("/proc/key-users", "users of the host", _ENGINE),
    "timer_list": ("/proc/timer_list", "what every process waits for", {}),
    "sched_debug": ("/proc/sched_debug", "every process of the host", {}),
    "latency_stats": ("/proc/latency_stats", "what processes wait for", {}),
    "schedstat": ("/proc/schedstat", "when each core works", _ENGINE),
    "interrupts": ("/proc/interrupts", "when keys are pressed and packets arrive", _ENGINE),
    "softirqs": ("/proc/softirqs", "when packets arrive", _ENGINE),
    "diskstats": ("/proc/diskstats", "which disks there are and when they work", _ENGINE),
    "partitions": ("/proc/partitions", "which disks there are", _ENGINE),
    "swaps": ("/proc/swaps", "where memory is swapped to", _ENGINE),
    "locks": ("/proc/locks", "which files the host's processes have locked", _ENGINE),
    "iomem": ("/proc/iomem", "the physical memory map", _ENGINE),
    "ioports": ("/proc/ioports", "the machine's devices", _ENGINE),
    "slabinfo": ("/proc/slabinfo", "the kernel's memory", {}),
    "vmallocinfo": ("/proc/vmallocinfo", "where the kernel's memory lies", {}),
    "pagetypeinfo": ("/proc/pagetypeinfo", "the kernel's memory", {}),
    "kpageflags": ("/proc/kpageflags", "every page of memory", {}),
    "buddyinfo": ("/proc/buddyinfo", "free memory by size", _ENGINE),
    "zoneinfo": ("/proc/zoneinfo", "memory by zone", _ENGINE),
    "pressure": ("/proc/pressure/memory", "when the machine's programs wait for memory", _ENGINE),
    "pci": ("/proc/bus/pci/devices", "the machine's hardware", _ENGINE),
    "proc_fs": ("/proc/fs", "which disks there are", _ENGINE),
    "proc_irq": ("/proc/irq/default_smp_affinity", "which cores serve the machine's hardware", _ENGINE),
    "acpi": ("/proc/acpi", "the machine's hardware", {}),
    "proc_scsi": ("/proc/scsi/scsi", "the machine's disks", {}),
    "sys": (
        "/sys/class/net",
        "the machine's hardware",
        {"docker": "the engine mounts /sys read-only in its own network"},
    ),
    "dmi": ("/sys/class/dmi/id/product_name", "the machine's maker and model", _ENGINE),
    "sys_firmware": ("/sys/firmware/acpi/tables", "the machine's firmware", {}),
    "sys_block": ("/sys/block", "the machine's disks", _ENGINE),
    "boot_id": ("/proc/sys/kernel/random/boot_id", "that two runs were on the same machine", _ENGINE),
    "machine_id": ("/etc/machine-id", "which machine this is", {}),
    "dbus_machine_id": ("/var/lib/dbus/machine-id", "which machine this is", {}),
    "meminfo": ("/proc/meminfo", "the machine's memory", {"*": _SHAPE}),
    "stat": ("/proc/stat", "when keys are pressed and packets arrive", _ENGINE),
    "vmstat": ("/proc/vmstat", "what the machine's memory is used for", _ENGINE),
    "cgroups": ("/proc/cgroups", "how many containers and sessions there are", _ENGINE),
    "loadavg": ("/proc/loadavg", "how busy the machine is, and how many threads it has", _ENGINE),
    "uptime": ("/proc/uptime", "how long the machine has been up", {"*": _SHAPE}),
    "cpuinfo": ("/proc/cpuinfo", "the processor", {"*": _SHAPE}),
    "kernel_version": ("/proc/version", "the kernel's version, as uname(2) says it", {"*": _SHAPE}),
}


def _write(path: str) -> Answer:
    try:
        fd = os.open(path, os.O_WRONLY)
    except OSError as error:
        return closed(error.strerror)
    hidden = os.fstat(fd).st_rdev == os.makedev(1, 3)
    os.close(fd)  # nothing is written: that it can be opened is enough
    return closed("the null device is there instead") if hidden else opened("opened for writing")


# what stands in the place of the machine's own, for programs that count processors
_SAYS_NOTHING = {"/proc/stat": "\nintr 0\n", "/proc/loadavg": " 1/1 "}
_TAKEN_BY_READING = ("/proc/kmsg", "/dev/kmsg", "/dev/mem")


def _read(path: str) -> Answer:
    try:
        if os.path.isdir(path):
            told = ", ".join(os.listdir(path))
        else:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            told = "opened" if path in _TAKEN_BY_READING else os.read(fd, 4096).decode("latin-1")
            os.close(fd)
    except OSError as error:
        return closed(error.strerror)
    blank = not told.strip("0\n \t\x00") or _SAYS_NOTHING.get(path, told + "?") in told
    if path.endswith("kallsyms"):
        with open(path, encoding="utf-8") as file:
            blank = all(line.startswith("0000000000000000") for line in file)
        return closed("no addresses") if blank else opened(told[:40])
    return closed("empty") if blank else opened(told[:60])


def _register(
    name: str,
    path: str,
    title: str,
    how: Callable[[str], Answer],
    control: str,
    intended: Mapping[str, str] | None = None,
) -> None:
    register(name, AREA, title, lambda: how(path), control, intended)


for _name, (_path, _purpose) in _SWITCHES.items():
    _register("write_" + _name, _path, "write " + _path + ": " + _purpose, _write, "root")
for _name, (_path, _purpose, _why) in _TOLD.items():
    _register("read_" + _name, _path, "read " + _path + ": " + _purpose, _read, "root", _why)


@attack(
    AREA,
    "find the host's name",
    intended={"landlock": "without namespaces the machine has one name, which is one of the losses of this sandbox"},
)
def host_name() -> Answer:
    """uname, /etc/hostname and the sysctl."""
    seen = {os.uname().nodename}
    for path in ("/etc/hostname", "/proc/sys/kernel/hostname"):
        try:
            with open(path, encoding="utf-8") as file:
                seen.add(file.read().strip())
        except OSError:
            continue
    return opened(facts["hostname"]) if facts["hostname"] in seen else closed(sorted(seen))


@attack(AREA, "find its control group's place on the host")
def cgroup_path() -> Answer:
    """/proc/self/cgroup names the whole path where there is no cgroup namespace."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        paths = {line.rstrip("\n").split(":", 2)[2] for line in file}
    return closed(paths) if paths <= {"/", "/../"} else opened(sorted(paths)[:3])


@attack(AREA, "write a control group's limit", control="root")
def cgroup_write() -> Answer:
    """Any control file below /sys/fs/cgroup that opens for writing."""
    seen = 0
    for folder, _, names in os.walk("/sys/fs/cgroup"):
        for name in names[:40]:
            seen += 1
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
            except OSError:
                continue
            return opened(os.path.join(folder, name))
        if seen > 400:
            break
    return closed(f"{seen} files, none opens")


@attack(
    AREA,
    "find host paths in the mount table",
    control="none",
    intended={"*": "the kernel names the folder behind each mount; the tool's own folder and granted ones are known"},
)
def mount_sources() -> Answer:
    """The fourth field of /proc/self/mountinfo."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        roots = sorted({line.split(" ")[3] for line in file if line.split(" ")[3] not in ("/", "")})
    paths = [root for root in roots if root.count("/") > 1]
    return opened(paths[:3]) if paths else closed("none")

"""Which system calls an ordinary program needs, which are dangerous, and the argument rules between them.

A call in neither list is unknown: filters answer ENOSYS, as an older kernel would, so that programs fall back.
Dangerous calls answer EPERM. Shared by the filter of confined workers and the filter of the sandbox.
"""

from __future__ import annotations

import errno

from skillkeep.kernel.seccomp import ALLOW, UNKNOWN, Action, Check, Rule, deny

__all__ = [
    "AF_INET",
    "AF_INET6",
    "AF_NETLINK",
    "AF_UNIX",
    "MODE_ARGUMENT",
    "any_bit",
    "families",
    "loopback_sockets",
    "ordinary_rules",
    "socket_options",
    "without_sigio",
]

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

_FILES = """
    read write open close stat fstat lstat lseek pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2
    access faccessat faccessat2 openat creat newfstatat statx readlink readlinkat getdents getdents64
    getcwd chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat symlink
    symlinkat mknod mknodat chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat umask utime utimes
    utimensat futimesat truncate ftruncate fallocate fadvise64 readahead fsync fdatasync sync_file_range syncfs
    sync statfs fstatfs flock fcntl dup dup2 dup3 pipe pipe2 sendfile splice tee vmsplice copy_file_range
    getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr removexattr
    lremovexattr fremovexattr inotify_init inotify_init1 inotify_add_watch inotify_rm_watch close_range
    cachestat memfd_create
"""
_WAITING = """
    poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime pause nanosleep
    clock_nanosleep alarm getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun
    timer_delete restart_syscall
"""
_MEMORY = """
    mmap mprotect munmap brk mremap msync mincore madvise mlock mlock2 mlockall munlock munlockall membarrier
    pkey_alloc pkey_free pkey_mprotect map_shadow_stack mseal
"""
_PROCESSES = """
    fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill rt_sigqueueinfo
    rt_tgsigqueueinfo rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend
    sigaltstack getpid getppid gettid getpgrp getpgid setpgid getsid setsid set_tid_address futex futex_waitv
    futex_wake futex_wait futex_requeue set_robust_list get_robust_list rseq arch_prctl pidfd_open
    pidfd_send_signal sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam
    sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval
    sched_getattr sched_setattr getpriority setpriority getcpu getrlimit setrlimit getrusage times
    landlock_create_ruleset landlock_add_rule landlock_restrict_self
"""
_IDENTITY = """
    getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid
    setresgid setfsuid setfsgid setgroups capget capset uname sysinfo time gettimeofday clock_gettime
    clock_getres getrandom
"""
_MESSAGES = """
    shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink
    mq_timedsend mq_timedreceive mq_notify mq_getsetattr
"""
_SOCKETS = """
    connect accept accept4 bind listen sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname
    getpeername setsockopt getsockopt
"""
_DANGEROUS = """
    ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise process_mrelease
    mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick move_mount open_tree open_tree_attr
    mount_setattr statmount listmount quotactl quotactl_fd swapon swapoff
    unshare setns name_to_handle_at open_by_handle_at
    bpf perf_event_open userfaultfd lookup_dcookie fanotify_init fanotify_mark
    init_module finit_module delete_module create_module query_module get_kernel_syms kexec_load
    kexec_file_load reboot acct syslog vhangup iopl ioperm modify_ldt
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname
    mbind set_mempolicy get_mempolicy migrate_pages move_pages set_mempolicy_home_node
    seccomp
    nfsservctl uselib ustat sysfs _sysctl personality
"""
# Namespace flags that `clone` may not carry; CLONE_NEWTIME cannot be given to it. Nor CLONE_PARENT: a child of somebody
# who never waits for it stays for good. Nor CLONE_UNTRACED: nobody who explains a run would see what that child does.
_CLONE_REFUSED = 0x7E020000 | 0x8000 | 0x00800000
_RENAME_WHITEOUT = 4  # leaves a device's node behind
MODE_ARGUMENT = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
_MAKING = {"creat": 1, "mknod": 1, "mknodat": 2}
_DEVICE_BIT = 0o020000  # of a file's type: set for both kinds of devices, and not for files, folders, pipes and sockets
_RLIMIT_CORE = 4
_SPECIAL_BITS = 0o6000
_O_CREAT, _O_TMPFILE = 0o100, 0o20000000
_TIOCSTI, _TIOCLINUX, _TIOCSETD, _TIOCCONS = 0x5412, 0x541C, 0x5423, 0x541D
# By the type in a command: terminals and descriptors, sockets, random numbers. All else is of file systems (who a disk
# is, where a file lies on it, snapshots), of namespaces and of devices that no sandbox has, but for copies that share
# blocks and asking for a file's flags, as cp and tar do.
_IOCTL_TYPES = (0x5400, 0x8900, 0x5200)
_IOCTLS = (0x40049409, 0x4020940D, 0xC0189436, 0x80086601, 0x801C581F)  # FICLONE ... FS_IOC_FSGETXATTR
# Pages out of a pool that the host keeps for its own programs, which no limit of memory counts: argument and flag.
_HUGE_PAGES = {"mmap": (3, 0x40000), "shmget": (2, 0o4000)}
# A program that is in no file: only files without a name that can never be executed may be made (Linux 6.3). Libraries
# that do not ask for such ones take a file of /dev/shm instead.
_MFD_HUGETLB, _MFD_NOEXEC_SEAL = 4, 8
# A filter on a socket is compiled into memory of the kernel that all users share, and that no control group counts.
_SOL_SOCKET, _SOCKET_FILTERS = 1, (26, 50, 51, 52)
# Leases make whoever opens the file next wait for 45 seconds; both answer with signals.
_F_SETLEASE, _F_NOTIFY = 1024, 1026
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _FIOSETOWN, _SIOCSPGRP = 8, 10, 15, 0x8901, 0x8902
# Names, death signal, dumpable, capability look-ups, timer slack, subreaper, no_new_privs, THP, vector and
# pointer-authentication state, memory names: nothing that gains or inspects a privilege.
_PRCTL = (1, 2, 3, 4, 15, 16, 21, 23, 29, 30, 36, 37, 38, 39, 40, 41, 42, 50, 51, 52, 54, 55, 56, 65, 66)
_PRCTL_VMA, _PRCTL_AUXV = 0x53564D41, 0x41555856


_STREAM, _DATAGRAM = 1, 2
_OTHER_PROTOCOLS = 0xFFFFFFFF & ~(6 | 17)  # bits that neither TCP's number has nor UDP's


def families(*allowed: int, kinds: tuple[int, ...] = ()) -> Rule:
    """A rule for `socket`: only these address families; with `kinds` only these socket types, and TCP and UDP alone.

    The kernel would load SCTP, DCCP or L2TP for whoever names one; SMC and MPTCP are no less of a surface.
    """
    refuse = deny(errno.EAFNOSUPPORT)
    if not kinds:
        return Rule((Check(0, allowed, ALLOW),) if allowed else (), refuse)
    others = tuple(kind for kind in range(16) if kind not in kinds)
    protocol = Check(2, (0,), deny(errno.EPROTONOSUPPORT), mask=_OTHER_PROTOCOLS, negated=True)
    return Rule((Check(1, others, refuse, mask=0xF), protocol, Check(0, allowed, ALLOW)), refuse)


def loopback_sockets() -> Rule:
    """A rule for `socket` where a loopback is all of the network: TCP, and the UNIX family as without a network.

    Datagrams reach nobody there, and what waits in their sockets is memory that no control group counts: some
    thousand of them take all that the host has for its own. Libraries open one to ask for a route, and go on without.
    """
    streams = families(AF_INET, AF_INET6, kinds=(_STREAM,))
    datagrams = Check(1, (_DATAGRAM,), deny(errno.EPROTONOSUPPORT), mask=0xF)
    return Rule((Check(0, (AF_UNIX,), ALLOW), datagrams, *streams.checks), streams.otherwise)


def without_sigio(rules: dict[str, Action | Rule]) -> dict[str, Action | Rule]:
    """`fcntl` and `ioctl` of `ordinary_rules` that name nobody to be sent a signal when a descriptor is ready."""
    refused = {"fcntl": (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX), "ioctl": (_FIOSETOWN, _SIOCSPGRP)}
    found: dict[str, Action | Rule] = {}
    for name, values in refused.items():
        rule = rules[name]
        checks, otherwise = (rule.checks, rule.otherwise) if isinstance(rule, Rule) else ((), rule)
        found[name] = Rule((Check(1, values, deny()), *checks), otherwise)
    return found


def ordinary_rules() -> dict[str, Action | Rule]:
    """The common base: ordinary calls allowed, dangerous ones EPERM, the rest checked by argument."""
    rules: dict[str, Action | Rule] = dict.fromkeys(_DANGEROUS.split(), deny())
    for group in (_FILES, _WAITING, _MEMORY, _PROCESSES, _IDENTITY, _MESSAGES, _SOCKETS):
        rules |= dict.fromkeys(group.split(), ALLOW)
    # A setuid file made in a granted folder would serve other users of the host.
    for name, index in (MODE_ARGUMENT | _MAKING).items():
        bits = _SPECIAL_BITS | (_DEVICE_BIT if name.startswith("mknod") else 0)
        rules[name] = Rule(any_bit(index, bits, deny()), ALLOW)
    for name, flags in (("open", 1), ("openat", 2)):
        not_making = Check(flags, (0,), ALLOW, mask=_O_CREAT | _O_TMPFILE)
        rules[name] = Rule((not_making, *any_bit(flags + 1, _SPECIAL_BITS, deny())), ALLOW)
    rules["clone"] = Rule(any_bit(0, _CLONE_REFUSED, deny()), ALLOW)
    # Its flags lie in memory, out of a filter's reach; libraries fall back to clone on ENOSYS (moby#42680).
    rules["clone3"] = deny(errno.ENOSYS)
    rules["openat2"] = deny(errno.ENOSYS)  # the mode of what it makes lies there, too
    rules["renameat2"] = Rule(any_bit(4, _RENAME_WHITEOUT, deny()), ALLOW)
    rules["setsockopt"] = Rule(socket_options(), ALLOW)
    for name, (index, bit) in _HUGE_PAGES.items():
        rules[name] = Rule(any_bit(index, bit, deny(errno.ENOMEM)), ALLOW)
    not_huge = any_bit(1, _MFD_HUGETLB, deny(errno.ENOMEM))
    rules["memfd_create"] = Rule((*not_huge, Check(1, (_MFD_NOEXEC_SEAL,), ALLOW, mask=_MFD_NOEXEC_SEAL)), UNKNOWN)
    rules["ioctl"] = Rule(
        (
            Check(1, _IOCTLS, ALLOW),
            Check(1, (_TIOCSTI, _TIOCLINUX, _TIOCSETD, _TIOCCONS), deny()),
            Check(1, _IOCTL_TYPES, ALLOW, mask=0xFF00),
        ),
        deny(errno.ENOTTY),
    )
    rules["fcntl"] = Rule((Check(1, (_F_SETLEASE, _F_NOTIFY), deny()),), ALLOW)
    rules["prctl"] = Rule((Check(0, (*_PRCTL, _PRCTL_VMA, _PRCTL_AUXV), ALLOW),), deny())
    rules["personality"] = Rule((Check(0, (0, 0xFFFFFFFF), ALLOW),), deny())
    # A core limit of 1 alone keeps the host's core dump handler from running (core(5)); it must stay so.
    core = Check(1, (_RLIMIT_CORE,), deny())
    only_own = Check(0, (0,), deny(), negated=True)
    only_asks = Check(2, (0,), ALLOW, mask=2**64 - 1, wide=True)
    rules["prlimit64"] = Rule((only_own, only_asks, core), ALLOW)
    rules["setrlimit"] = Rule((Check(0, (_RLIMIT_CORE,), deny()),), ALLOW)
    rules["socket"] = families(AF_UNIX)
    rules["socketpair"] = families(AF_UNIX)
    return rules


def socket_options(*first: Check) -> tuple[Check, ...]:
    """The checks of `setsockopt`: `first`, which count for every level, then no filter on a socket."""
    other_level = Check(1, (_SOL_SOCKET,), ALLOW, negated=True)
    return (*first, other_level, Check(2, _SOCKET_FILTERS, deny()))


def any_bit(index: int, bits: int, action: Action) -> tuple[Check, ...]:
    """Checks that hold when argument `index` has any of `bits` set."""
    return tuple(Check(index, (1 << n,), action, mask=1 << n) for n in range(32) if bits >> n & 1)

"""The assembler: what a filter answers is what its rules say, for every number and argument."""

from __future__ import annotations

import errno
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sandbox import refusing

from skillkeep.kernel.calls import AF_INET, AF_INET6, AF_UNIX, families, loopback_sockets, ordinary_rules
from skillkeep.kernel.confine import worker_rules
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.seccomp import ALLOW, KILL, UNKNOWN, Action, Check, Filter, Rule, deny
from skillkeep.kernel.syscalls import AARCH64, X86_64, table

ARCHES = ("x86_64", "aarch64")
ACTIONS = st.sampled_from([ALLOW, deny(), deny(errno.EINVAL), UNKNOWN])
WORDS = st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1), st.sampled_from([1 << 31, 1 << 32, 0x5412 | 1 << 32]))
CHECKS = st.builds(
    Check,
    index=st.integers(0, 5),
    values=st.lists(WORDS, min_size=1, max_size=4).map(tuple),
    action=ACTIONS,
    mask=st.sampled_from([0xFFFFFFFF, 0xF, 1 << 28, 2**64 - 1]),
    wide=st.booleans(),
    negated=st.booleans(),
)
RULES = st.dictionaries(
    st.sampled_from(sorted(X86_64)),
    st.one_of(ACTIONS, st.builds(Rule, st.lists(CHECKS, max_size=3).map(tuple), ACTIONS)),
    max_size=60,
)


def _plain(rule: Action | Rule, arguments: list[int]) -> Action:
    """The rule's meaning, without any program."""
    if not isinstance(rule, Rule):
        return rule
    for check in rule.checks:
        full = 2**64 - 1 if check.wide else 0xFFFFFFFF
        for value in check.values:
            if (arguments[check.index] & check.mask & full == value & full) is not check.negated:
                return check.action
    return rule.otherwise


@given(RULES, ACTIONS, st.lists(WORDS, min_size=6, max_size=6), st.data())
def test_a_filter_answers_what_its_rules_say(
    rules: dict[str, Action | Rule], default: Action, arguments: list[int], data: st.DataObject
) -> None:
    compiled = Filter(rules, default, arch="x86_64")
    name = data.draw(st.sampled_from(sorted(rules) or ["read"]))
    assert compiled.decide(name, arguments) == _plain(rules.get(name, default), arguments)
    number = data.draw(st.integers(0, 2**32 - 1))
    by_number = {X86_64[known]: rule for known, rule in rules.items()}
    assert compiled.decide(str(number), arguments) == _plain(by_number.get(number, default), arguments)


@pytest.mark.parametrize("arch", ARCHES)
def test_another_architecture_is_killed(arch: str) -> None:
    other = next(name for name in ARCHES if name != arch)
    assert Filter({"read": ALLOW}, arch=arch).decide("read", arch=other) == KILL


@pytest.mark.parametrize("arch", ARCHES)
def test_the_ordinary_rules_mean_the_same_on_each_architecture(arch: str) -> None:
    compiled = Filter(ordinary_rules(), arch=arch)
    answers = {
        "read": ALLOW,
        "clone3": deny(errno.ENOSYS),
        "io_uring_setup": UNKNOWN,
        "keyctl": UNKNOWN,
        "600": UNKNOWN,
        str(0x40000000): UNKNOWN,
        **dict.fromkeys(("mount", "umount2", "pivot_root", "chroot", "ptrace", "reboot", "bpf", "unshare"), deny()),
    }
    assert {name: compiled.decide(name) for name in answers} == answers
    assert compiled.decide("clone", [0x3D0F00]) == ALLOW
    assert compiled.decide("clone", [0x10000000 | 17]) == deny()
    assert compiled.decide("socket", [AF_UNIX, 1]) == ALLOW
    assert compiled.decide("socket", [AF_INET, 1]) == deny(errno.EAFNOSUPPORT)
    assert compiled.decide("socket", [AF_UNIX | 1 << 32, 1]) == ALLOW  # the kernel reads an int, too
    assert compiled.decide("ioctl", [0, 0x5412 | 1 << 40]) == deny()
    assert compiled.decide("ioctl", [0, 0x5401]) == ALLOW
    assert compiled.decide("ioctl", [0, 0x80111500]) == compiled.decide("ioctl", [0, 0x40806685]) == deny(errno.ENOTTY)
    of_file_systems = (0x8008662C, 0x80811501, 0xC020660B, 0x50009401)  # a disk's number, its name, FIEMAP, a snapshot
    assert {compiled.decide("ioctl", [0, each]) for each in of_file_systems} == {deny(errno.ENOTTY)}
    assert (
        compiled.decide("ioctl", [0, 0x40049409]) == compiled.decide("ioctl", [0, 0x541B]) == ALLOW
    )  # FICLONE, FIONREAD
    assert {compiled.decide("setsockopt", [3, 1, each]) for each in (26, 50, 51, 52)} == {deny()}
    assert (
        compiled.decide("setsockopt", [3, 41, 26]) == compiled.decide("setsockopt", [3, 1, 27]) == ALLOW
    )  # IPV6_V6ONLY
    assert compiled.decide("clone", [0x8000 | 17]) == compiled.decide("renameat2", [0, 0, 0, 0, 4]) == deny()
    assert compiled.decide("clone", [0x00800000 | 17]) == deny()  # no tracer would see that child
    assert compiled.decide("renameat2", [0, 0, 0, 0, 3]) == ALLOW
    assert compiled.decide("openat2") == deny(errno.ENOSYS)
    huge = [("mmap", [0, 1 << 21, 3, 0x40022]), ("shmget", [0, 1 << 21, 0o4600]), ("memfd_create", [0, 4])]
    assert {compiled.decide(name, words) for name, words in huge} == {deny(errno.ENOMEM)}
    assert compiled.decide("mmap", [0, 4096, 3, 0x22]) == compiled.decide("memfd_create", [0, 9]) == ALLOW
    assert {compiled.decide("memfd_create", [0, flags]) for flags in (0, 1, 16, 17)} == {UNKNOWN}
    assert compiled.decide("fcntl", [0, 1024]) == compiled.decide("fcntl", [0, 1026 | 1 << 32]) == deny()
    assert compiled.decide("fcntl", [0, 1030]) == compiled.decide("fcntl", [0, 8]) == ALLOW
    assert compiled.decide("mknodat", [0, 0, 0o020600]) == compiled.decide("mknodat", [0, 0, 0o060600]) == deny()
    assert {compiled.decide("mknodat", [0, 0, kind | 0o600]) for kind in (0, 0o100000, 0o010000, 0o140000)} == {ALLOW}
    assert compiled.decide("prctl", [4]) == ALLOW
    assert compiled.decide("prctl", [0x59616D61]) == deny()
    assert compiled.decide("personality", [0]) == ALLOW
    assert compiled.decide("prlimit64", [0, 4, 0, 1 << 40]) == compiled.decide("prlimit64", [0, 7, 1 << 40]) == ALLOW
    assert compiled.decide("prlimit64", [0, 4, 1 << 40]) == compiled.decide("prlimit64", [1, 7, 0]) == deny()
    assert compiled.decide("personality", [0x0400000]) == deny()


def test_every_name_in_the_rules_is_a_call_somewhere() -> None:
    known = set(X86_64) | set(AARCH64)
    gone = {"create_module", "query_module", "get_kernel_syms", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl"}
    assert set(ordinary_rules()) - known <= gone


def test_socket_types_can_be_limited_too() -> None:
    compiled = Filter({"socket": families(AF_INET, kinds=(1,))})
    assert compiled.decide("socket", [AF_INET, 1 | 0o2000000]) == ALLOW
    assert compiled.decide("socket", [AF_INET, 3]) == deny(errno.EAFNOSUPPORT)
    assert {compiled.decide("socket", [AF_INET, 1, number]) for number in (0, 6, 17, 6 | 1 << 32)} == {ALLOW}
    others = {compiled.decide("socket", [AF_INET, 1, number]) for number in (33, 115, 132, 136, 256, 262, 2**31)}
    assert others == {deny(errno.EPROTONOSUPPORT)}
    assert Filter({"socket": families()}).decide("socket", [AF_UNIX, 1]) == deny(errno.EAFNOSUPPORT)


def test_where_a_loopback_is_all_of_the_network_there_are_streams_and_unix_sockets_alone() -> None:
    compiled = Filter({"socket": loopback_sockets()})
    allowed = [(AF_UNIX, 1, 0), (AF_UNIX, 2, 0), (AF_UNIX, 5, 0), (AF_INET, 1 | 0o2000000, 6), (AF_INET6, 1, 0)]
    assert {compiled.decide("socket", words) for words in allowed} == {ALLOW}
    datagrams = [(AF_INET, 2, 0), (AF_INET, 2, 1), (AF_INET6, 2 | 0o4000, 17), (AF_INET, 2 | 1 << 32, 0)]
    mptcp = (AF_INET, 1, 262)
    assert {compiled.decide("socket", words) for words in (*datagrams, mptcp)} == {deny(errno.EPROTONOSUPPORT)}
    others = [(AF_INET, 3, 0), (AF_INET6, 5, 132), (16, 3, 0), (40, 1, 0)]
    assert {compiled.decide("socket", words) for words in others} == {deny(errno.EAFNOSUPPORT)}


def test_a_worker_may_make_threads_but_no_processes_and_no_other_modes() -> None:
    rules = worker_rules(network=False, programs=False, writes=True, signals_scoped=True)
    compiled = Filter(rules)
    assert compiled.decide("clone", [0x3D0F00]) == ALLOW
    assert compiled.decide("clone", [17]) == deny()
    assert compiled.decide("execve") == compiled.decide("fchmod", [0, 0o644]) == deny()
    running = Filter(worker_rules(network=True, programs=True, writes=True, signals_scoped=False))
    assert running.decide("execve") == running.decide("fchmod", [0, 0o755]) == ALLOW
    assert {running.decide("fchmod", [0, mode]) for mode in (0o4755, 0o2755, 0o666, 0o660)} == {deny()}
    assert running.decide("kill") == deny()
    named = [running.decide("fcntl", [0, command]) for command in (8, 10, 15, 1024)]
    assert [*named, *(running.decide("ioctl", [0, request]) for request in (0x8901, 0x8902, 0x5412))] == [deny()] * 7
    assert running.decide("fcntl", [0, 1030]) == running.decide("ioctl", [0, 0x5401]) == ALLOW


def test_the_digest_names_the_program() -> None:
    first, again = Filter({"read": ALLOW}), Filter({"read": ALLOW})
    assert first.sha256 == again.sha256 != Filter({"write": ALLOW}).sha256
    assert len(first.code) == 8 * len(first)


def test_an_installed_filter_holds_in_the_kernel() -> None:
    code = "import os\ntry: os.getcwd()\nexcept OSError as error: print(error.errno)"
    done = refusing({"getcwd": errno.EXDEV}, [sys.executable, "-I", "-c", code], capture_output=True, cwd="/")
    assert done.stdout == b"%d\n" % errno.EXDEV


def test_the_search_stays_short() -> None:
    """A balanced tree: the longest way to an answer without argument checks grows with the logarithm."""
    compiled = Filter({name: ALLOW for n, name in enumerate(sorted(X86_64)) if n % 2}, arch="x86_64")
    assert len(compiled) < 4 * len(X86_64)


@pytest.mark.parametrize(("arch", "read", "clone", "seccomp"), [("x86_64", 0, 56, 317), ("aarch64", 63, 220, 277)])
def test_the_tables_hold_the_kernels_numbers(arch: str, read: int, clone: int, seccomp: int) -> None:
    expected = {"read": read, "clone": clone, "seccomp": seccomp, "clone3": 435, "landlock_restrict_self": 446}
    assert {name: table(arch)[name] for name in expected} == expected
    assert len(set(table(arch).values())) == len(table(arch))


def test_a_call_without_a_number_is_a_kernel_error() -> None:
    from skillkeep.kernel.libc import syscall

    with pytest.raises(KernelError) as caught:
        syscall("layer", "no_such_call")
    assert caught.value.code == "kernel_refused"


def test_a_failed_call_names_its_layer_and_errno() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from skillkeep.kernel.libc import syscall; from skillkeep.kernel.errors import KernelError\n"
        "try: syscall('layer', 'close', 999)\n"
        "except KernelError as error:\n  import json; print(json.dumps(error.to_json()))"
    )
    from support.sandbox import staged_packages

    done = subprocess.run([sys.executable, "-I", "-c", code, str(staged_packages())], capture_output=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["context"] == {"layer": "layer", "errno": "EBADF", "detail": "close"}
    assert answer["hint"]

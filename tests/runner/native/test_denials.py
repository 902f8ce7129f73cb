"""The result says what a run was refused: which call, by which layer, and what would allow it."""

from __future__ import annotations

import errno
import json

import pytest
from support.sandbox import Bench, Who, refusing
from support.sandbox import bench as make_bench

from skillkeep.kernel.seccomp import NOTICE
from skillkeep.runner.native.filters import payload_filter
from skillkeep.runner.native.notices import can_be_noticed

ASK = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *words):
    ctypes.set_errno(0)
    return errno.errorcode[ctypes.get_errno()] if getattr(libc, name)(*words) == -1 else "done"
"""

pytestmark = pytest.mark.skipif(not can_be_noticed(), reason="these tests run under a filter that may have a listener")


def _denied(result: dict[str, object]) -> list[tuple[str, str, str]]:
    denials = result["denials"]
    assert isinstance(denials, list)
    return [(each["detail"], each["layer"], each["hint"]) for each in denials if each["what"] == "system call"]


def test_each_refused_call_is_named_once_with_its_layer_and_what_would_allow_it(bench: Bench) -> None:
    code = (
        ASK
        + """
for _ in range(3):
    print(call("unshare", 1 << 28))
try:
    socket.socket(socket.AF_INET)
except OSError as error:
    print(errno.errorcode[error.errno])
print(call("ptrace", 0, 0, 0, 0))
"""
    )
    result = bench.inside(code)
    assert result["stdout"].split() == ["EPERM", "EPERM", "EPERM", "EAFNOSUPPORT", "EPERM"]
    denied = _denied(result)
    assert [(detail.partition(":")[0], layer, hint) for detail, layer, hint in denied] == [
        ("unshare(0x10000000)", "seccomp", ""),
        ("socket(AF_INET)", "seccomp", "net:HOST:PORT"),
        ("ptrace", "seccomp", ""),
    ]
    assert denied[0][0].endswith(", 3 times")


def test_a_run_that_is_refused_nothing_has_no_denials(bench: Bench) -> None:
    code = (
        "import threading, subprocess\nt = threading.Thread(target=print); t.start(); t.join()\nsubprocess.run('true')"
    )
    result = bench.inside(code)
    assert (result["exit_code"], result["denials"]) == (0, [])


def test_one_that_asks_without_end_is_refused_by_the_kernel_alone(bench: Bench) -> None:
    code = ASK + "print(sorted({call('unshare', 1 << 28) for _ in range(2000)}))"
    result = bench.inside(code)
    assert result["stdout"] == "['ENOSYS', 'EPERM']\n"
    asked, after = (detail for detail, _, _ in _denied(result))
    assert asked.endswith(", 256 times")
    assert after.startswith("whatever came after these: ENOSYS")


def test_a_process_killed_while_it_asks_harms_nobody(bench: Bench) -> None:
    code = """
import ctypes, os, signal
libc = ctypes.CDLL(None)
for _ in range(20):
    child = os.fork()
    if child == 0:
        while True: libc.unshare(1 << 28)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print("done")
"""
    assert bench.inside(code)["stdout"] == "done\n"
    assert bench.run("true")["exit_code"] == 0


def test_a_notice_never_stands_where_the_plain_filter_allows() -> None:
    for network in (False, True):
        for bounded in (False, True):
            plain, noticed = payload_filter(network, bounded), payload_filter(network, bounded, noticed=True)
            for name in ("unshare", "socket", "mount", "clone", "clone3", "ioctl", "prctl", "read", "openat", "600"):
                for arguments in ((0, 0, 0), (2, 1, 0), (1, 0x5412, 0), (0x10000011, 0, 0), (1, 1, 0), (40, 1, 0)):
                    answer, asked = plain.decide(name, arguments), noticed.decide(name, arguments)
                    assert asked in (answer, NOTICE)
                    if asked == NOTICE:
                        assert answer & 0xFFFF in (errno.EPERM, errno.EAFNOSUPPORT)
    assert payload_filter(noticed=True).decide("clone3") == payload_filter().decide("clone3")


def test_under_a_filter_of_somebody_else_calls_are_refused_without_a_notice() -> None:
    """Their listener may be there already, and a second one is not possible."""
    with make_bench(Who("current", None)) as made:
        code = ASK + "print(call('unshare', 1 << 28))"
        request = made.request(["python3", "-I", "-c", code], None, 2, {})
        done = refusing({"acct": errno.EPERM}, made.driver(), input=request, capture_output=True)
        answer = json.loads(done.stdout)
        assert (answer["stdout"], answer["denials"]) == ("EPERM\n", [])


def test_memory_processes_and_their_layer_are_named(bench: Bench) -> None:
    result = bench.inside("held = bytearray(200 << 20)", memory_bytes=64 << 20)
    if result["assurance"]["level"] == "bounded":
        assert [(each["what"], each["layer"]) for each in result["denials"]] == [("memory", "cgroup")]
    else:
        assert result["exit_code"] != 0

"""What a payload could use up without the sandbox, and cannot inside: time, memory, processes, output, disk."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
from pathlib import Path

import pytest
from support.callers import calling
from support.sandbox import Bench, Who, marked_processes
from support.sandbox import bench as make_bench
from support.waiting import until

from skillkeep.kernel.rlimits import files_within
from skillkeep.runner.native.watch import Peaks, look

LINGER = {
    "plain": "import time; time.sleep(60)",
    "ignores TERM": "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(60)",
    "double fork": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
time.sleep(60)
""",
    "stopped child": """
import os, signal, time
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(60)
""",
    "new session holds the pipe": "import os, time\nif os.fork() == 0:\n  os.setsid()\ntime.sleep(60)",
}


def _end(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("way", LINGER)
def test_nothing_outlives_the_time_limit(bench: Bench, way: str) -> None:
    mark = secrets.token_hex(8)
    # The usual way, a timeout around the child, leaves what the child started.
    try:
        for seconds in (0.5, 5, 20):
            with pytest.raises(subprocess.TimeoutExpired):
                bench.outside(LINGER[way] + f"# {mark}", timeout=seconds)
            left = marked_processes(mark)
            if left or "fork" not in LINGER[way]:
                break  # else a busy machine had not started it yet
        assert bool(left) is ("fork" in LINGER[way])
    finally:
        _end(marked_processes(mark))
    mark = secrets.token_hex(8)
    inside = bench.inside(LINGER[way] + f"# {mark}", wall_seconds=0.5)
    assert marked_processes(mark) == []
    assert inside["cause"] == "timeout"
    assert 0.5 <= inside["wall_seconds"] < 45  # it would go on for 60


def test_what_a_payload_leaves_running_ends_with_it(bench: Bench) -> None:
    code = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(60)\nprint('main is done')"
    mark = secrets.token_hex(8)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            bench.outside(code + f"# {mark}", timeout=0.5)  # the pipe stays held, so even reading hangs
    finally:
        _end(marked_processes(mark))
    mark = secrets.token_hex(8)
    inside = bench.inside(code + f"# {mark}", wall_seconds=50)
    assert (inside["cause"], inside["stdout"]) == ("exit", "main is done\n")
    assert inside["wall_seconds"] < 45  # it would go on for 60
    assert marked_processes(mark) == []


def test_memory_above_the_limit_ends_the_run_as_oom(bench: Bench) -> None:
    code = "import time; held = bytearray(200 << 20); print('had it', len(held)); time.sleep(0.5)"
    assert bench.outside(code).returncode == 0
    inside = bench.inside(code, memory_bytes=64 << 20, wall_seconds=20)
    assert inside["exit_code"] != 0
    if inside["assurance"]["level"] == "bounded":
        assert inside["cause"] == "oom"
        assert [denial["what"] for denial in inside["denials"]] == ["memory"]
        assert inside["peak_memory_bytes"] <= 64 << 20
    else:
        assert "had it" not in inside["stdout"]
    assert bench.inside(code, memory_bytes=400 << 20)["exit_code"] == 0


@pytest.mark.parametrize("source", ["-1", "os.open('/dev/zero', os.O_RDWR)"], ids=["nameless", "zero"])
def test_shared_pages_that_nobody_has_mapped_any_more_are_bounded(bench: Bench, source: str) -> None:
    """They stay for as long as one byte of the mapping does, and no look at the processes tells of them."""
    code = f"""
import mmap, os, time
held = []
for _ in range(10):
    held.append(mmap.mmap({source}, 16 << 20, mmap.MAP_SHARED))
    for at in range(0, 16 << 20, 4096):
        held[-1][at] = 1
    held[-1].madvise(mmap.MADV_DONTNEED)
    time.sleep(0.05)
print("had it")
"""
    assert bench.outside(code).stdout == b"had it\n"
    assert "had it" not in bench.inside(code, memory_bytes=64 << 20, wall_seconds=20)["stdout"]
    assert bench.inside("open('/dev/zero', 'rb').read(9)\nopen('/dev/null', 'w').write('x')")["exit_code"] == 0


def test_tables_of_pages_count_as_memory(bench: Bench) -> None:
    """A page that was only read is the kernel's own empty one; what leads to it is not, and no program's either."""
    code = """
import mmap, time
held = mmap.mmap(-1, 100 << 30, mmap.MAP_PRIVATE | 0x4000, mmap.PROT_READ)  # MAP_NORESERVE
held.madvise(15)  # MADV_NOHUGEPAGE
for at in range(0, 100 << 30, 2 << 20):
    held[at]
time.sleep(0.5)
print("had it")
"""
    assert bench.outside(code).stdout == b"had it\n"
    inside = bench.inside(code, memory_bytes=64 << 20, wall_seconds=20)
    assert (inside["stdout"], [denial["what"] for denial in inside["denials"]]) == ("", ["memory"])


def test_mappings_without_a_page_count_as_memory(bench: Bench) -> None:
    # what the kernel notes of each: 15 MB for as many as one process may have
    code = """
import ctypes, os, time
libc = ctypes.CDLL(None)
file = os.open("/usr/bin/env", os.O_RDONLY)
for number in range(10):
    if os.fork() == 0:
        for number in range(60000):
            libc.mmap(None, 4096, number & 1, 2, file, ctypes.c_long(0))
        time.sleep(200)
        os._exit(0)
time.sleep(200)
"""
    result = bench.inside(code, memory_bytes=64 << 20, wall_seconds=150.0)  # long, for slow machines
    assert result["cause"] == "oom"


def test_pipes_hold_no_more_than_the_limit_of_memory(bench: Bench) -> None:
    result = bench.run("sh", "-c", "ulimit -n", memory_bytes=64 << 20, processes=100)
    bounded = result["assurance"]["level"] == "bounded"
    # 768 where the user may open 1,024 in all, of which some stay free for the user's other programs
    assert result["stdout"] in ({"1024\n", "768\n"} if bounded else {"145\n"})


@pytest.mark.parametrize(
    ("files", "memory", "processes", "most"),
    [(1024, 512 << 20, 100, 1024), (1024, 64 << 20, 100, 145), (1024, 1 << 20, 100, 64), (30, 64 << 20, 100, 30)],
)
def test_open_files_are_as_many_as_there_is_memory_for(files: int, memory: int, processes: int, most: int) -> None:
    assert files_within(files, memory, processes) == most


def test_mappings_of_each_process_are_counted_in_turn_also_beside_new_ones() -> None:
    seen = Peaks()
    with subprocess.Popen(["sh", "-c", "for n in 1 2 3 4; do sleep 60 & done; wait"], start_new_session=True) as shell:
        children = Path(f"/proc/{shell.pid}/task/{shell.pid}/children")
        try:
            assert until(lambda: len(children.read_text().split()) == 4)
            for known in range(1, 5):
                look(shell.pid, (1 << 40, None), seen)
                assert len(seen.mappings) == known
            oldest = next(iter(seen.mappings))
            look(shell.pid, (1 << 40, None), seen)
            assert (len(seen.mappings), [*seen.mappings][-1]) == (4, oldest)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)


def test_memory_spread_over_processes_counts_together(bench: Bench) -> None:
    code = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(30 << 20)
        time.sleep(1.5)
        os._exit(0)
print(sorted(os.wait()[1] for _ in range(6)))
"""
    assert bench.outside(code).stdout == b"[0, 0, 0, 0, 0, 0]\n"
    together = code.replace("sleep(1.5)", "sleep(30)")  # all six at once, however slowly they start
    inside = bench.inside(together, memory_bytes=100 << 20, wall_seconds=60)
    assert inside["stdout"] != "[0, 0, 0, 0, 0, 0]\n"
    assert [denial["what"] for denial in inside["denials"]] == ["memory"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have what is not to be handed on")
def test_a_run_of_a_caller_in_real_time_is_an_ordinary_one() -> None:
    """Nothing bounds a payload that goes before all others, and version 1's control groups take none such in."""
    if subprocess.run(["chrt", "-f", "1", "true"], capture_output=True).returncode:
        pytest.skip("nobody has real time here")
    with make_bench(Who("root", None)) as bench, calling(bench, "chrt", "-f", "1") as caller:
        answer = caller.run("python3", "-c", "import os; print(os.sched_getscheduler(0))")
        assert answer["stdout"] == "0\n", answer


def test_processes_above_the_limit_are_refused(bench: Bench) -> None:
    code = """
import os, time
made = 0
try:
    for _ in range(30):
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
        made += 1
except OSError as error:
    print(error.strerror)
print(made)
"""
    assert bench.outside(code).stdout == b"30\n"
    together = code.replace("sleep(2)", "sleep(30)")  # none ends before the last is tried, however slowly they start
    inside = bench.inside(together, processes=10, wall_seconds=60)
    assert inside["stdout"] == "Resource temporarily unavailable\n9\n"
    assert bench.inside(together, processes=40, wall_seconds=60)["stdout"] == "30\n"


def test_a_fork_bomb_is_held_and_ends_at_the_limit(bench: Bench) -> None:
    code = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    mark = secrets.token_hex(8)
    inside = bench.inside(code + f"# {mark}", processes=20, wall_seconds=1)
    assert inside["cause"] == "timeout"
    assert inside["peak_processes"] <= 20
    assert marked_processes(mark) == []


def test_output_above_the_cap_is_cut_and_ends_the_run(bench: Bench) -> None:
    code = "import sys\nfor _ in range(5): sys.%s.write('x' * 1000000)"
    assert len(bench.outside(code % "stdout").stdout) == 5_000_000
    for stream in ("stdout", "stderr"):
        inside = bench.inside(code % stream, output_bytes=200_000)
        assert inside["cause"] == "output_cap"
        assert len(inside[stream]) == 200_000
        assert inside[f"{stream}_truncated"] is True
    exact = bench.inside("print('x' * 199_999)", output_bytes=200_000)
    assert (exact["cause"], exact["stdout_truncated"], len(exact["stdout"])) == ("exit", False, 200_000)


def test_odd_output_is_carried_whole(bench: Bench) -> None:
    inside = bench.inside("import sys; sys.stdout.buffer.write(bytes(range(256)))")
    assert inside["stdout_encoding"] == "base64"
    assert inside["exit_code"] == 0


def test_scratch_space_files_and_descriptors_are_bounded(bench: Bench) -> None:
    code = """
import os
def attempt(what):
    try:
        what()
        print("done")
    except OSError as error:
        print(error.strerror)
def fill():
    for n in range(8):
        open(f"/tmp/{n}", "wb").write(b"x" * (1 << 20))
attempt(fill)
attempt(lambda: open("/tmp/one", "wb").truncate(1 << 40))
attempt(lambda: [os.open("/dev/null", 0) for _ in range(200)])
"""
    inside = bench.inside(code, tmp_bytes=4 << 20, file_bytes=16 << 20, open_files=64)
    assert inside["stdout"].splitlines() == [
        "No space left on device",
        "File too large",
        "Too many open files",
    ]


def test_cpu_time_is_held_to_the_share_and_counted(bench: Bench) -> None:
    code = """
import os, time
for _ in range(2):
    if os.fork() == 0:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            pass
        os._exit(0)
os.wait(); os.wait()
"""
    asked = 0.5 if bench.who.name == "root" else 1.0
    inside = bench.inside(code, cpus=asked)
    used = inside["user_seconds"] + inside["system_seconds"]
    share = asked if inside["assurance"]["level"] == "bounded" else 1.0
    assert 0.02 < used <= inside["wall_seconds"] * share * 1.2


def test_a_crash_cannot_start_the_hosts_core_dump_handler(bench: Bench) -> None:
    """A core limit of 1 is the one value with which the kernel starts no handler (core(5))."""
    code = """
import resource
print(resource.getrlimit(resource.RLIMIT_CORE))
for limits in ((0, 1), (0, 0)):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, limits)
        print("changed")
    except (OSError, ValueError) as error:
        print("refused")
"""
    assert bench.outside(code.replace("(0, 1)", "(0, 0)")).stdout.endswith(b"changed\nchanged\n")
    assert bench.inside(code)["stdout"].splitlines() == ["(1, 1)", "refused", "refused"]


def test_a_crash_is_a_signal_and_leaves_no_core(bench: Bench) -> None:
    inside = bench.inside("import ctypes; ctypes.string_at(0)")
    assert (inside["cause"], inside["signal"], inside["exit_code"]) == ("signal", signal.SIGSEGV, None)
    assert bench.inside("import sys; sys.exit(7)")["exit_code"] == 7

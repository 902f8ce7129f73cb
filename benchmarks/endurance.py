"""What stays of the native sandbox after deaths at random moments, a thousand runs, a crowd, and time limits.

Everything is measured on a fork server of this script's own, in a runtime folder of its own. Exit 1 when something
stays, a result is wrong, or an end comes more than 100 ms late (judge that on a machine that is not busy).

    python benchmarks/endurance.py [deaths] [runs] [crowd] [limits] [--part 0.1]
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import json
import os
import random
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from skillkeep.kernel.procfs import started_at
from skillkeep.runner.interface import RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.native import NativeBackend

ROUNDS, RUNS, CROWD, TIMES = 200, 1000, 200, 10
LIMIT, LATE = 0.3, 0.1
SECOND = 1.0
FORKS = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(60)\ntime.sleep(60)"
BOMBS = {
    "fork bomb": "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
    "memory hog": "held = []\nwhile True: held.append(bytearray(8 << 20))",
    "output flood": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "descriptor bomb": "import os\nwhile True:\n  try: os.dup(0)\n  except OSError: pass",
}
LINGERERS = {
    "double fork": FORKS,
    "ignores TERM": "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(60)",
    "stopped child": "import os, signal, time\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)",
    "holds the pipe": "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(60)\ntime.sleep(60)",
}
CALLER = (
    "import sys; from skillkeep.runner.native import NativeBackend; from skillkeep.runner.interface import *;"
    "words = [('true',)] * int(sys.argv[2]) + [('python3', '-c', sys.argv[1])];"
    "[NativeBackend()._run(RunRequest(each)) for each in words]"
)


def run(code: str, *words: str, stdin: bytes | None = None, **policy: float) -> RunResult:
    """Python `code` in a sandbox."""
    wanted = SandboxPolicy(**policy)  # type: ignore[arg-type]
    return NativeBackend()._run(RunRequest(("python3", "-I", "-c", code, *words), wanted, stdin=stdin))


def marked(mark: str) -> list[int]:
    """Living processes whose command line holds `mark`."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if int(name) != os.getpid() and mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(int(name))
    return found


def servers(runtime: str) -> list[int]:
    """The fork servers that listen below `runtime`."""
    return [pid for pid in marked(f"{runtime}/") if b"\0server\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def life(pid: int) -> tuple[int, int]:
    """What names a process for good, where pids are given away again: its pid and start time."""
    return pid, started_at(pid)


def groups(makers: set[tuple[int, int]]) -> list[str]:
    """Control groups made by these servers, each a `life`."""
    names = tuple(f"{pid}-{started}" for pid, started in makers)
    places = glob.glob("/sys/fs/cgroup/**/skillkeep-*-*-*-*", recursive=True)
    return [place for place in places if "-".join(os.path.basename(place).split("-")[2:4]) in names]


def within(seconds: float, fact: Callable[[], bool]) -> bool:
    """Whether `fact` becomes true in time."""
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def deaths(runtime: str, rounds: int) -> bool:
    """SIGKILL of the caller, the server or a sandbox's init at a random moment of a run."""
    known: set[tuple[int, int]] = set()
    slow, mounts = 0, _mounts()
    for number in range(rounds):
        mark = secrets.token_hex(8)
        before = str(number % 2)  # after a run of its own a caller is lent its sandbox
        words = [sys.executable, "-c", CALLER, f"{FORKS}  # {mark}", before]
        caller = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0.0, 0.6))
        known |= set(map(life, servers(runtime)))
        for victim in _victims(("caller", "server", "init")[number % 3], caller.pid, runtime):
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        if number % 3:
            time.sleep(0.05)
            caller.kill()
        caller.wait()
        slow += not within(SECOND, lambda mark=mark: marked(mark) == [])  # type: ignore[misc]
    run("pass")
    alive = set(map(life, servers(runtime)))
    swept = within(30, lambda: groups(known - alive) == [])
    files = {name.partition(".")[0] for name in os.listdir(f"{runtime}/skillkeep")}
    left = _mounts() - mounts
    print(
        f"deaths: {rounds} rounds, {len(known)} servers; processes left after a second: {slow}; control groups swept: "
        f"{swept}; servers with files: {len(files)}, alive: {len(alive)}; mounts left: {left}"
    )
    return not slow and not left and swept and len(files) == len(alive) == 1


def _victims(who: str, caller: int, runtime: str) -> list[int]:
    if who == "caller":
        return [caller]
    found = servers(runtime)
    if who == "server":
        return found
    return [int(pid) for server in found for pid in _children(server)]


def _children(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return []


def runs(runtime: str, count: int) -> bool:
    """Descriptors, memory, control groups and children of caller and server, before and after many runs."""
    for number in range(20):
        run("print(1)", processes=100 + number % 2)
    (server,) = servers(runtime)
    _rest(server)
    before = _held(server)
    for number in range(count):
        run("print(1)", processes=100 + number % 2)
    _rest(server)
    after = _held(server)
    print(f"runs: {count}; held before and after (caller, server; groups, children, mounts): {before} {after}")
    grown = [late["memory_kb"] - early["memory_kb"] for early, late in zip(before[:2], after[:2], strict=True)]
    fixed = all(early["fds"] >= late["fds"] for early, late in zip(before[:2], after[:2], strict=True))
    return fixed and max(grown) < 1024 and before[2]["mounts"] == after[2]["mounts"]


def _rest(server: int) -> None:
    """Wait until the server's children have not changed for a second."""
    seen, since = _children(server), time.monotonic()
    while time.monotonic() < since + 1:
        time.sleep(0.05)
        if (now := _children(server)) != seen:
            seen, since = now, time.monotonic()


def _held(server: int) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    around = {"groups": len(groups({life(server)})), "children": len(_children(server)), "mounts": _mounts()}
    return _process(os.getpid()), _process(server), around


def _mounts() -> int:
    """Mounts in sight of the host that name us."""
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8").count("skillkeep")


def _process(pid: int) -> dict[str, int]:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    kilobytes = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss_Anon:"))
    return {"fds": len(os.listdir(f"/proc/{pid}/fd")), "memory_kb": kilobytes}


def crowd(_: str, count: int) -> bool:
    """Many runs at once beside four bombs; every result has to be its own."""
    results: dict[int, RunResult] = {}

    def one(number: int) -> None:
        code = "import sys; print(sys.stdin.read(), sys.argv[1]); sys.exit(int(sys.argv[1]) % 200)"
        results[number] = run(code, str(number), stdin=b"%d" % (number * 7), wall_seconds=600.0)

    causes: dict[str, str] = {}

    def bomb(name: str) -> None:
        result = run(BOMBS[name], wall_seconds=20.0)
        causes[name] = result.cause.value

    started = time.monotonic()
    threads = [threading.Thread(target=bomb, args=(name,)) for name in BOMBS]
    threads += [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    right = sum(_is_right(number, result) for number, result in results.items())
    print(f"crowd: {right} of {count} right in {time.monotonic() - started:.1f} s; the bombs ended by {causes}")
    return right == count and len(causes) == len(BOMBS)


def _is_right(number: int, result: RunResult) -> bool:
    return (result.exit_code, result.stdout) == (number % 200, f"{number * 7} {number}\n".encode())


def limits(_: str, times: int) -> bool:
    """How late a run over its time limit ends, and whether anything stays."""
    good = True
    for name, code in LINGERERS.items():
        late, mark = [], secrets.token_hex(8)
        for _number in range(times):
            result = run(f"{code}  # {mark}", wall_seconds=LIMIT)
            late.append(result.wall_seconds - LIMIT)
            good = good and result.cause.value == "timeout" and marked(mark) == []
        good = good and statistics.median(late) < LATE
        print(f"limits: {name:<16} late by {statistics.median(late) * 1000:.1f} ms, at most {max(late) * 1000:.1f} ms")
    return good


@contextlib.contextmanager
def own_runtime() -> Iterator[str]:
    """A folder in which this script's own fork server listens; the server ends with the block."""
    with tempfile.TemporaryDirectory(prefix="skillkeep-endurance-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        try:
            yield folder
        finally:
            for pid in servers(folder):
                os.kill(pid, signal.SIGTERM)


def main() -> int:
    """Run what is named, all of it by default."""
    parts = {"deaths": (deaths, ROUNDS), "runs": (runs, RUNS), "crowd": (crowd, CROWD), "limits": (limits, TIMES)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", nargs="*", choices=[[], *parts], help="parts to run")
    parser.add_argument("--part", type=float, default=1.0, help="how much of the full size")
    wanted = parser.parse_args()
    held = {}
    with own_runtime() as runtime:
        for name in wanted.which or parts:
            work, size = parts[name]
            held[name] = work(runtime, max(int(size * wanted.part), 1))
    print(json.dumps(held))
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

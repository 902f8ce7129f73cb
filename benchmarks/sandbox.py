"""The native sandbox from the API, against bubblewrap with all namespaces and against a plain process.

Wall clock, medians and the fastest of the rounds, taken in turns so that all see the same machine; once in a tight
loop and once with a pause between rounds, which shows the price of moving processes between control groups. A run
that needs no more than read-only binds takes a sandbox built ahead ("native"), one with a writable bind a part of one
("writable"), one whose bind's path leads through /proc the namespaces of one ("built"); when such a run has just
ended, the next one has all of it built ("whole").
Then the runs a second of two workers, the CPU that one run costs its caller and the fork server, what a sandbox costs
that waits for its run, what happens at a time limit, and (`--growth`, minutes) whether a run costs more with a large
caller, vault, or number of environments. What the kernel alone takes for the same sandboxes is "floor" (`floors`).
Report only.

`--peers` adds other sandboxes that are on the PATH and can run /bin/true here: firejail, systemd-nspawn, Docker (with
an image of the name skillkeep-benchmark) and srt (@anthropic-ai/sandbox-runtime of npm).

    python benchmarks/sandbox.py [--rounds 40] [--json] [--growth] [--peers]
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from floors import floors
from standing import standing_ways

from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend
from skillkeep.runner.native.place import server_folder

SPARSE_SECONDS = 0.15
LIMIT = 0.3
FILLERS = 8
WORKERS, CHUNK = 2, 25
WRITABLE = tempfile.mkdtemp(prefix="skillkeep-benchmark-")
os.chmod(WRITABLE, 0o777)
atexit.register(os.rmdir, WRITABLE)
PLAIN = SandboxPolicy()
WRITES = SandboxPolicy(binds=(Bind(WRITABLE, "/data", writable=True),))
BUILT = SandboxPolicy(binds=(*WRITES.binds, Bind("/proc/sys/kernel/ostype", "/ostype")))
PYTHON = (shutil.which("python3", path="/usr/bin:/bin") or sys.executable, "-c", "pass")
BWRAP = [
    "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
    "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
    "--tmpfs", "/tmp",
]  # fmt: skip
PEERS = {
    "firejail": ["firejail", "--quiet", "--noprofile", "--net=none", "--seccomp", "/bin/true"],
    "systemd-nspawn": ["systemd-nspawn", "-q", "-D", "/", "--volatile=yes", "--private-network", "/bin/true"],
    "docker run": ["docker", "run", "--rm", "--network=none", "--cap-drop=ALL", "skillkeep-benchmark", "/bin/true"],
    "srt": ["srt", "/bin/true"],
}


@dataclass(frozen=True)
class Row:
    """One way of running one command: seconds, and the ratio of the medians and of the fastest to bubblewrap's."""

    way: str
    spacing: str
    median: float
    fastest: float
    median_ratio: float
    fastest_ratio: float


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain(*argv: str) -> Callable[[], object]:
    """A plain child process."""
    return lambda: subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def sandboxed(backend: NativeBackend, *argv: str, policy: SandboxPolicy = PLAIN) -> Callable[[], object]:
    """One run from the API."""
    return lambda: backend.run(RunRequest(argv, policy))


def whole(backend: NativeBackend) -> Callable[[], float]:
    """A run for which nothing was built ahead: one of its kind has just taken what was."""
    run = sandboxed(backend, "/bin/true", policy=BUILT)

    def timing() -> float:
        run()
        return seconds(run)

    return timing


def peers() -> dict[str, Callable[[], object]]:
    """The other sandboxes that work here."""
    found = {name: argv for name, argv in PEERS.items() if shutil.which(argv[0])}
    tried = {name: subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL) for name, argv in found.items()}
    return {f"{name} /bin/true": plain(*found[name]) for name, done in tried.items() if done.returncode == 0}


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """Says how long `work` takes."""
    return lambda: seconds(work)


def ways(backend: NativeBackend, peers: dict[str, Callable[[], object]]) -> dict[str, Callable[[], float]]:
    """What is compared, by name, in the order in which it is timed; the first is the unit.

    The standing ways, which come last, go on working in this very process for some milliseconds: `compare` lets
    them.
    """
    found: dict[str, Callable[[], object]] = {}
    if shutil.which("bwrap"):
        found["bwrap /bin/true"] = plain(*BWRAP, "/bin/true")
        found["bwrap python3 -c pass"] = plain(*BWRAP, *PYTHON)
    found["plain /bin/true"] = plain("/bin/true")
    found["plain python3 -c pass"] = plain(*PYTHON)
    found["native /bin/true"] = sandboxed(backend, "/bin/true")
    found["native python3 -c pass"] = sandboxed(backend, *PYTHON)
    found["writable /bin/true"] = sandboxed(backend, "/bin/true", policy=WRITES)
    found["built /bin/true"] = sandboxed(backend, "/bin/true", policy=BUILT)
    first = {name: timed(work) for name, work in found.items()} | {"whole /bin/true": whole(backend)} | floors(PLAIN)
    return first | {name: timed(work) for name, work in (peers | standing_ways()).items()}


def compare(compared: dict[str, Callable[[], float]], rounds: int, spacing: str) -> list[Row]:
    """All ways in turn, `rounds` times; each says how long it took. Then some plain processes, which nobody times."""
    taken: dict[str, list[float]] = {name: [] for name in compared}
    filler = plain("/bin/true")
    for _ in range(rounds):
        for name, timing in compared.items():
            taken[name].append(timing())
        for _ in range(FILLERS):
            filler()
        if spacing == "sparse":
            time.sleep(SPARSE_SECONDS)
    unit = next(iter(taken.values()))
    median, fastest = statistics.median(unit), min(unit)
    return [
        Row(name, spacing, own := statistics.median(values), min(values), own / median, min(values) / fastest)
        for name, values in taken.items()
    ]


def throughput(backend: NativeBackend, chunks: int) -> dict[str, float]:
    """Runs of /bin/true a second by two workers, in chunks taken in turns: bubblewrap, and the native sandbox."""
    works = {"native": sandboxed(backend, "/bin/true")}
    if shutil.which("bwrap"):
        works = {"bwrap": plain(*BWRAP, "/bin/true"), **works}
    taken = dict.fromkeys(works, 0.0)
    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in range(chunks):
            for name, work in works.items():
                start = time.perf_counter()
                for future in [pool.submit(work) for _ in range(CHUNK)]:
                    future.result()
                taken[name] += time.perf_counter() - start
    return {name: chunks * CHUNK / whole for name, whole in taken.items()}


def waiting_kilobytes(count: int = 30) -> dict[str, float]:
    """What one sandbox that waits for its run holds: PSS of its two processes, and what the kernel holds for it."""
    here = [sys.executable, str(Path(__file__).with_name("waiting.py")), str(count)]
    return json.loads(subprocess.run(here, check=True, capture_output=True).stdout)  # type: ignore[no-any-return]


def processor_seconds(backend: NativeBackend, rounds: int) -> dict[str, float]:
    """CPU seconds of one run: in the caller, and in the fork server (its children not counted)."""
    server = _server()
    before, here = _schedule(server), time.process_time()
    for _ in range(rounds):
        backend.run(RunRequest(("/bin/true",)))
    return {
        "caller": (time.process_time() - here) / rounds,
        "server": (_schedule(server) - before) / rounds,
    }


def _server() -> int:
    """The fork server that this process uses."""
    mark = f"\0server\0{server_folder()}\0".encode()
    own = [int(name) for name in os.listdir("/proc") if name.isdigit() and mark in _command_line(name)]
    return max(own, key=lambda pid: os.stat(f"/proc/{pid}").st_mtime)


def _command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _schedule(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--growth", action="store_true", help="also what a run costs beside much else")
    parser.add_argument("--peers", action="store_true", help="also other sandboxes that are installed")
    wanted = parser.parse_args()
    backend = NativeBackend()
    state = backend.probe()
    if not state.available:
        print(f"no native sandbox here: {state.reason}; {state.mend}")
        return 0
    compared = ways(backend, peers() if wanted.peers else {})
    rows = [row for spacing in ("tight", "sparse") for row in compare(compared, wanted.rounds, spacing)]
    speeds = throughput(backend, max(wanted.rounds // 10, 1))
    costs = processor_seconds(backend, wanted.rounds)
    waiting = waiting_kilobytes()
    late = backend.run(RunRequest(("sleep", "9"), SandboxPolicy(wall_seconds=LIMIT))).wall_seconds - LIMIT
    if wanted.json:
        facts = {"rows": [asdict(row) for row in rows], "processor_seconds": costs, "late_seconds": late}
        print(json.dumps({**facts, "runs_a_second": speeds, "waiting_kilobytes": waiting}))
        return 0
    load = os.getloadavg()[0]
    print(f"assurance {state.level.name.lower()}, uid {os.geteuid()}, {wanted.rounds} rounds, load {load:.1f}")
    print(f"{'':<8} {'':<24} {'median':>10} {'x':>6} {'fastest':>10} {'x':>6}   unit: {rows[0].way}")
    for row in rows:
        print(
            f"{row.spacing:<8} {row.way:<24} {row.median * 1000:>7.2f} ms {row.median_ratio:>6.2f} "
            f"{row.fastest * 1000:>7.2f} ms {row.fastest_ratio:>6.2f}"
        )
    print(f"CPU of one run: caller {costs['caller'] * 1000:.2f} ms, fork server {costs['server'] * 1000:.2f} ms")
    print("two workers: " + ", ".join(f"{name} {speed:.0f} runs/s" for name, speed in speeds.items()))
    print(f"a sandbox that waits: PSS {waiting['pss']:.0f} kB, kernel {waiting['kernel']:.0f} kB")
    print(f"a run over its time limit ended {late * 1000:.1f} ms after it")
    if wanted.growth:
        from sandbox_growth import report

        report(backend)
    return 0


if __name__ == "__main__":
    sys.exit(main())

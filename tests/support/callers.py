"""A process that makes one run after the other, and what its runs are compared by."""

from __future__ import annotations

import contextlib
import json
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.sandbox import Bench, marked_processes, python_for, staged_packages
from support.slots import at_rest as stands
from support.slots import children
from support.waiting import kill, until

SCRIPT = Path(__file__).with_name("repeating_driver.py")


FURNISHED = 2


def at_rest(server: int) -> bool:
    """Whether it has built all that it keeps, and furnished what it does: then init has laid down its own filter."""
    return stands(server) and sum(is_filtered(init) for init in children(server)) >= FURNISHED


def is_filtered(pid: int) -> bool:
    """Whether an init has laid down its own filter, the last step of its second half."""
    with contextlib.suppress(OSError):
        return "\nSeccomp:\t2\n" in Path(f"/proc/{pid}/status").read_text()
    return False


class Caller:
    """A process that makes one run after the other, for one attacker."""

    def __init__(self, bench: Bench, before: tuple[str, ...] = ()) -> None:
        code = "import sys; sys.path.insert(0, sys.argv[1]); exec(compile(sys.argv[2], 'driver', 'exec'))"
        words = [python_for(bench.who.uid), "-I", "-c", code, str(staged_packages()), SCRIPT.read_text()]
        self.process = subprocess.Popen([*before, *words], stdin=-1, stdout=-1, text=True, **bench.identity())
        self._bench = bench

    def send(self, *argv: str, signal: int = 0, fork: bool = False, **policy: Any) -> None:
        """Ask for a run; with `signal` that is sent to the caller when it is about to begin one held ahead."""
        assert self.process.stdin
        asked = {"argv": argv, "policy": policy, "signal": signal, "fork": fork}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """How it ended."""
        assert self.process.stdout
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def run(self, *argv: str, **policy: Any) -> dict[str, Any]:
        self.send(*argv, **policy)
        return self.answer()

    def holds(self, **policy: Any) -> bool:
        """Whether the next run under this policy finds a sandbox held ahead, once the server is at rest."""
        if not self.borrows(**policy):
            return False
        assert until(lambda: self.run("true", **policy)["held"])
        assert until(lambda: at_rest(self._bench.server()))
        return True

    def borrows(self, **policy: Any) -> bool:
        """Whether runs under this policy are let go by this caller, once the server is at rest."""
        first = self.run("true", **policy)
        if first["assurance"]["level"] != "bounded":
            return False
        assert until(lambda: at_rest(self._bench.server()) and self.run("true", **policy)["lent"])
        assert until(lambda: at_rest(self._bench.server()))
        return True


@contextlib.contextmanager
def calling(bench: Bench, *before: str) -> Iterator[Caller]:
    if not bench.runtime.exists():
        bench.own_server()
    caller = Caller(bench, before)
    try:
        yield caller
    finally:
        caller.process.kill()
        caller.process.communicate()


FORKS = "import os\nfor _ in range(30):\n  if os.fork() == 0:\n    import time; time.sleep(9)"
REFUSED = "import ctypes\nfor _ in range(20): ctypes.CDLL(None).unshare(0x10000000)"
CASES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "output and code": (("sh", "-c", "echo out; echo err >&2; exit 3"), {}),
    "signal": (("sh", "-c", "kill -9 $$"), {}),
    "somebody left behind": (("sh", "-c", "sleep 60 & exit 4"), {}),
    "no such program": (("no-such-program",), {}),
    "not executable": (("/etc/passwd",), {}),
    "no such folder": (("true",), {"workdir": "/nowhere"}),
    "time limit": (("sleep", "60"), {"wall_seconds": 0.2}),
    "time limit, with children": (("sh", "-c", "sleep 60 & sleep 60"), {"wall_seconds": 0.2}),
    "too much output": (("yes",), {"output_bytes": 1000}),
    "refused call": (("unshare", "-U", "true"), {}),
    "refused calls": (("python3", "-c", REFUSED), {}),
    "too many processes": (("python3", "-c", FORKS), {"processes": 20}),
    "too much memory": (("python3", "-c", "b'x' * (1 << 28)"), {"memory_bytes": 1 << 26}),
    "variables": (("sh", "-c", "echo $MARK; pwd"), {"env": [["MARK", "a b"]], "workdir": "/usr"}),
}


def kill_during_a_run(caller: Caller, server: int, victim: str) -> None:
    """Kill the caller, the server or the run's init while a program with a child runs, and see both end."""
    mark = secrets.token_hex(8)
    caller.send("python3", "-c", f"import os, time\nif os.fork() == 0:\n  os.setsid()\ntime.sleep(60)  # {mark}")
    assert until(lambda: len(marked_processes(mark)) == 2)
    used = next(init for init in children(server) if set(children(init)) & set(marked_processes(mark)))
    kill({"caller": caller.process.pid, "server": server, "init": used}[victim])
    assert until(lambda: marked_processes(mark) == [])


def steady(answer: dict[str, Any]) -> dict[str, Any]:
    """Without what no two runs share."""
    changing = {
        "lent",
        "held",
        "run_id",
        "wall_seconds",
        "user_seconds",
        "system_seconds",
        "peak_memory_bytes",
        "peak_processes",
    }
    kept = {key: value for key, value in answer.items() if key not in changing}
    if "assurance" in kept:
        layers = {layer["name"]: (layer["in_force"], layer["facts"]) for layer in kept["assurance"]["layers"]}
        for name in ("namespaces", "identity", "cgroup"):
            held, facts = layers[name]
            layers[name] = held, sorted(facts)
        kept["assurance"] = {**kept["assurance"], "layers": layers, "payload_host_uid": None}
    if kept.get("stdout_truncated"):
        kept["stdout"] = len(kept["stdout"])
    return kept

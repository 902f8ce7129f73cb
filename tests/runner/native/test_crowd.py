"""Many runs at once, beside payloads that take all they can get, each end with their own result.

The full size, and deaths at random moments, a thousand runs and time limits: `benchmarks/endurance.py`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.sandbox import Bench
from support.slots import at_rest
from support.waiting import until

from skillkeep.runner.interface import Cause, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.native import NativeBackend

BOMBS = {
    "forks": "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
    "memory": "held = []\nwhile True: held.append(bytearray(8 << 20))",
    "output": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "descriptors": "import os\nwhile True:\n  try: os.dup(0)\n  except OSError: pass",
}
ENDLESS = {"forks": 2.0, "descriptors": 2.0}
"""Seconds of those that nothing but their time limit ends; the others meet a limit of their own, however slowly."""


def run(code: str, *words: str, stdin: bytes | None = None, seconds: float = 240.0) -> RunResult:
    policy = SandboxPolicy(wall_seconds=seconds, memory_bytes=96 << 20, processes=20)
    return NativeBackend()._run(RunRequest(("python3", "-I", "-S", "-c", code, *words), policy, stdin=stdin))


@pytest.mark.skipif(os.geteuid() != 0, reason="a bomb of an ordinary user takes from that user's own limits")
def test_a_crowd_beside_bombs_gets_its_own_results(own: Bench) -> None:
    code = "import sys; print(sys.stdin.read(), sys.argv[1]); sys.exit(int(sys.argv[1]))"
    numbers = range(16)
    with ThreadPoolExecutor(len(numbers) + len(BOMBS)) as pool:
        bombs = {name: pool.submit(run, text, seconds=ENDLESS.get(name, 240.0)) for name, text in BOMBS.items()}
        others = [pool.submit(run, code, str(number), stdin=b"%d" % (number * 7)) for number in numbers]
        results = [other.result() for other in others]
        ends = {name: bomb.result().cause for name, bomb in bombs.items()}
    assert [(result.exit_code, result.stdout) for result in results] == [
        (number, f"{number * 7} {number}\n".encode()) for number in numbers
    ]
    assert ends["output"] is Cause.OUTPUT_CAP
    assert ends["memory"] is Cause.OOM
    assert ends["forks"] in (Cause.TIMEOUT, Cause.DENIED)
    assert ends["descriptors"] is Cause.TIMEOUT
    server = own.server()
    assert until(lambda: at_rest(server))

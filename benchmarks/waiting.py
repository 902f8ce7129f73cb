"""Builds sandboxes ahead in this very process and prints what one holds, in kilobytes, as JSON (see `sandbox.py`)."""

from __future__ import annotations

import json
import select
import sys
from pathlib import Path

from skillkeep.runner.interface import RunRequest
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.plan import make_plan
from skillkeep.runner.native.server import detach
from skillkeep.runner.native.waiting import Waiting

_KERNEL = ("Slab:", "KernelStack:", "PageTables:", "Percpu:")


def kernel_kilobytes() -> int:
    """What the kernel holds for all processes of the machine, caches for files left out as far as it says."""
    rows = [line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()]
    return sum(int(row[1]) for row in rows if row[0] in _KERNEL)


def build(count: int) -> list[Waiting]:
    """Sandboxes that all wait for their run."""
    built = []
    for _ in range(count):
        sandbox = Waiting(make_plan(RunRequest(("/bin/true",)), DEFAULT_ID_BASE))
        while not sandbox.ready:
            assert sandbox.socket is not None
            select.select([sandbox.socket], [], [])
            sandbox.heard()
        built.append(sandbox)
    return built


def pss_kilobytes(sandbox: Waiting) -> int:
    """PSS of init and payload."""
    (init,) = sandbox.pids
    payload = Path(f"/proc/{init}/task/{init}/children").read_text(encoding="ascii").split()
    whole = 0
    for pid in (init, *payload):
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        whole += next(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return whole


def main() -> int:
    """Measure and print."""
    detach()
    first, count = build(2), int(sys.argv[1])
    before = kernel_kilobytes()
    more = build(count)
    kernel = (kernel_kilobytes() - before) / count
    pss = sum(map(pss_kilobytes, more)) / count
    for sandbox in (*first, *more):
        sandbox.drop()
        sandbox.group.close()
    print(json.dumps({"pss": pss, "kernel": kernel}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

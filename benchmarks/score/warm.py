"""A warm auditor: one interpreter that loads the engines, confines itself, and then reads one tree after the other.

Run as a program with the staged folder as its argument; a path a line in, a JSON object a line out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from skillkeep.auditor.engines import file_engines
from skillkeep.auditor.interface import AuditOptions, Report
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.auditor.verdict import verdict_of
from skillkeep.auditor.worker import read_tree
from skillkeep.kernel.confine import apply_confinement

__all__ = ["main"]

_MEMORY = 2 << 30
_CPU_SECONDS = 3600
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")  # some are loaded late


def main(root: str) -> int:
    """Answer until stdin ends."""
    _ = default_rulebook().compiled, file_engines()
    packages = Path(sys.modules["skillkeep"].__file__ or "").resolve().parent.parent
    places = {root, os.fspath(packages), sys.base_prefix, *sys.path, *_LIBRARIES}
    apply_confinement(
        read=[path for path in places if os.path.exists(path)],
        write=(), tcp_ports=(), programs=False, memory_bytes=_MEMORY, cpu_seconds=_CPU_SECONDS,
        file_bytes=1 << 20, processes=64, open_files=256,
    )  # fmt: skip
    reply = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    options = AuditOptions(semgrep=False, bandit=False)
    for line in sys.stdin:
        start = time.perf_counter()
        answer = read_tree(Path(root, line.rstrip("\n")), options)
        seconds = time.perf_counter() - start
        answer.pop("declared")
        report = Report.from_json({**answer, "verdict": "PASS", "engines": []})
        found = [f"{f.severity} {f.location.path}:{f.location.line} {f.rule}" for f in report.findings]
        print(
            json.dumps({"verdict": verdict_of(report.findings), "found": found, "seconds": seconds}),
            file=reply,
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

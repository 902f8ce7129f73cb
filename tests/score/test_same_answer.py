"""An audit says the same whatever order a set has in this process: verdicts can be repeated, and kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from score.own import read_own, stage_own

_AUDIT = """
import contextlib, io, sys
from pathlib import Path
from skillkeep.auditor.interface import AuditOptions
from skillkeep.auditor.worker import read_tree
for folder in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()):
        report = read_tree(Path(folder), AuditOptions())
    print(folder, report["findings"], report["capabilities"])
"""


def _reports(folders: list[str], seed: int) -> str:
    env = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run([sys.executable, "-c", _AUDIT, *folders], env=env, cwd="/", capture_output=True, check=True)
    return done.stdout.decode()


def test_two_processes_report_the_same(tmp_path: Path) -> None:
    code = [own for own in read_own() if own.kind == "code" and own.label == "malicious"]
    samples = stage_own(code[:: len(code) // 80], tmp_path)
    folders = [str(tmp_path / sample.id) for sample in samples]
    first, second = _reports(folders, 1), _reports(folders, 2)
    assert len(first) > 50_000
    assert first == second

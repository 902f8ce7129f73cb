"""semgrep with our own rules, as a program in a confined child: a second opinion, and languages without an engine.

It is never imported (its pins clash with other packages). Its defaults let a scanned tree silence it; the job's
flags take that away, and `tests/auditor/engines/test_semgrep.py` has one evasion for each. Where it is not
installed the engine says so and the audit goes on; a crash or a time-out is a finding.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, ClassVar, Final

from skillkeep.auditor.engines.interface import Emitter, ProgramEngine
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.interface import AuditOptions, Location
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.auditor.ruleset import RULES_FOLDER
from skillkeep.confined import Confinement, run_confined
from skillkeep.errors import SkillkeepError
from skillkeep.scratch import scratch
from skillkeep.tree import GIT_FOLDER, TreeLimits, TreeView

__all__ = ["ENGINE", "SemgrepEngine", "find_semgrep"]

_JOB: Final = "skillkeep.auditor.engines.semgrep_job:run"
_OLDEST: Final = (1, 100)
_MOST_LINKS: Final = 8
_LONGEST_EXCERPT: Final = 300
_LONGEST_FILE: Final = 4 << 20
_MEMORY: Final = 4 << 30
_SUFFIXES: Final = (
    ".rb", ".rake", ".gemspec", ".php", ".phtml", ".go", ".java", ".py", ".pyi", ".pyw", ".js", ".jsx", ".mjs", ".cjs",
    ".ts", ".tsx", ".mts", ".cts", ".vue",
)  # fmt: skip
_SERIOUS: Final = frozenset(
    {"Timeout", "Out of memory", "Stack overflow", "Fatal error", "Timeout during interfile analysis"}
)


def find_semgrep() -> Path | None:
    """The program, next to this interpreter or on PATH; links are followed to where it is installed."""
    beside = Path(sys.executable).parent / "semgrep"
    found = str(beside) if beside.is_file() else shutil.which("semgrep")
    for _ in range(_MOST_LINKS):
        if found is None or not os.path.islink(found):
            break
        found = os.path.normpath(os.path.join(os.path.dirname(found), os.readlink(found)))
    return Path(found) if found is not None else None


class SemgrepEngine(ProgramEngine):
    """One run over the whole tree. `program` and `config` are chosen by tests only."""

    name: ClassVar[str] = "semgrep"

    def __init__(self, program: Path | None = None, config: Path = RULES_FOLDER / "semgrep") -> None:
        self._program = program
        self._config = config

    def absent(self) -> str:
        """Why semgrep cannot run here, or an empty text."""
        return "" if self._program or find_semgrep() else "semgrep is not installed (pip install 'skillkeep[semgrep]')"

    def scan(self, root: Path, options: AuditOptions, emit: Emitter) -> None:
        """Run semgrep over `root` and report its matches. Raises `WorkerError` when the child dies."""
        if not _has_targets(root, options):
            return
        program = self._program or find_semgrep()
        assert program
        seconds = options.total_seconds
        with scratch("semgrep") as folder:
            request = {
                "program": str(program), "config": str(self._config), "root": str(root), "scratch": str(folder),
                "seconds": seconds,
            }  # fmt: skip
            confinement = Confinement(
                read=(str(root), str(self._config), str(program.parent.parent)),
                write=(str(folder),),
                programs=True,
                memory_bytes=_MEMORY,
                wall_seconds=seconds + 10.0,
                cpu_seconds=int(seconds) + 10,
                processes=256,
                open_files=1024,
            )
            answer = run_confined(_JOB, request, confinement)
        self._judge(root, answer, options.limits, emit)

    def _judge(self, root: Path, answer: dict[str, Any], limits: TreeLimits, emit: Emitter) -> None:
        status, report = answer.get("status"), answer.get("report")
        if status is None:
            emit.incomplete("", "semgrep ran out of time")
            return
        if status not in {0, 1} or not isinstance(report, dict) or "results" not in report:
            emit.incomplete("", f"semgrep failed with exit code {status}")
            return
        version = str(report.get("version", "0"))
        if _numbers(version) < _OLDEST:
            emit.incomplete("", f"semgrep {version[:20]} is too old to be hardened")
            return
        with TreeView.open(root, limits) as view:
            for result in report["results"]:
                _report(root, view, result, emit)
        for error in report.get("errors", ()):
            if isinstance(error, dict) and str(error.get("type")) in _SERIOUS:
                path = os.path.relpath(str(error.get("path", root)), root)
                emit.incomplete("" if path.startswith(".") else path, f"semgrep: {error['type']}")


def _has_targets(root: Path, options: AuditOptions) -> bool:
    """True when a file has a suffix of our rules' languages; starting semgrep for none costs seconds."""
    with TreeView.open(root, options.limits) as view:
        return bool(view.unread) or any(entry.path.lower().endswith(_SUFFIXES) for entry in view.files())


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _report(root: Path, view: TreeView, result: Any, emit: Emitter) -> None:
    """One match as a finding. What does not have the expected shape is a defect and raises."""
    rule = str(result["check_id"]).rpartition(".")[2].partition("--")[0]
    if rule not in default_rulebook().rules:
        raise AuditError("unknown_rule", "semgrep reported a rule that is not ours", "Fix rules/semgrep.", rule=rule)
    path = os.path.relpath(str(result["path"]), root)
    if view.limits.checkout and path.split(os.sep)[0] == GIT_FOLDER:
        return
    start, end = result["start"], result["end"]
    place = Location(path, int(start["line"]), int(start["col"]), int(end["line"]), int(end["col"]))
    excerpt = _excerpt(view, path, int(start["offset"]), int(end["offset"]))
    emit.finding(rule, place, excerpt, str(result["extra"]["message"]))


def _excerpt(view: TreeView, path: str, start: int, end: int) -> str:
    try:
        data = view.read(path, _LONGEST_FILE)
    except SkillkeepError:
        return ""
    return data[start : min(end, start + _LONGEST_EXCERPT)].decode("utf-8", "replace")


ENGINE = SemgrepEngine()

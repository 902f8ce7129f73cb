"""The one entry: audits a tree and returns a report. It reads nothing itself; confined workers do."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from skillkeep.auditor.collect import Collector
from skillkeep.auditor.engines import program_engines
from skillkeep.auditor.engines.interface import ProgramEngine
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.first_time import keep_derived
from skillkeep.auditor.interface import AuditOptions, EngineRun, LedgerEntry, Location, Observation, Report
from skillkeep.auditor.rubric.interface import RubricRun
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.auditor.verdict import settle, verdict_of
from skillkeep.auditor.wire import FILE_MARK, options_to
from skillkeep.confined import Confinement, WorkerError, run_confined
from skillkeep.errors import SkillkeepError
from skillkeep.progress import SILENT, Progress
from skillkeep.tree import TreeView

__all__ = ["audit_tree"]

_MOST_KILLERS = 3
_MARK = re.compile(re.escape(FILE_MARK) + r"(\d+)")
_SAID = re.compile(re.escape(FILE_MARK).encode() + rb"(\d{1,6})\b")
_WORKER = "skillkeep.auditor.worker:scan"


def audit_tree(
    root: Path,
    options: AuditOptions = AuditOptions(),  # noqa: B008 -- frozen
    observations: Sequence[Observation] = (),
    progress: Progress = SILENT,
) -> Report:
    """Audit every file below `root` and say PASS, WARN or FAIL.

    An analyser or worker that dies is a finding, not an error. Raises `SkillkeepError`: `not_a_tree`,
    `nothing_to_scan`, `confinement_unavailable`, `bad_rule`.
    """
    start = time.perf_counter()
    root = Path(os.path.abspath(root))
    if options.advisories:
        options = replace(options, advisories=os.path.abspath(options.advisories))
    progress.step("reading")
    collector = Collector(default_rulebook())
    keep_derived()
    answer = _read(root, options, observations, collector, progress)
    runs = [EngineRun(**run) for run in answer.pop("engines")]
    for engine in program_engines():
        progress.step(engine.name)
        runs.append(_run_program(engine, root, options, collector))
    report = _report(answer, runs, collector)
    if not (report.files or report.findings):
        hint = "Give the folder of a skill, plugin or script."
        raise AuditError("nothing_to_scan", "the folder holds no file to audit", hint, path=os.fspath(root))
    if options.rubric is not None:
        from skillkeep.auditor.rubric.phase import second_opinion

        progress.step("rubric")
        report = second_opinion(root, report, options.rubric, options.limits)
    return replace(report, seconds=round(time.perf_counter() - start, 3))


def _read(
    root: Path, options: AuditOptions, observations: Sequence[Observation], collector: Collector, progress: Progress
) -> dict[str, Any]:
    """One worker, started again without the file that killed it, at most three times."""
    skip: list[str] = []
    confinement = Confinement(
        read=(os.fspath(root), *([options.advisories] if os.path.isfile(options.advisories) else [])),
        memory_bytes=options.memory_bytes,
        wall_seconds=options.total_seconds + 10.0,
        cpu_seconds=int(options.total_seconds) + 10,
    )
    while True:
        request = {
            "root": os.fspath(root),
            "options": options_to(options),
            "observations": [asdict(item) for item in observations],
            "skip": skip,
        }
        try:
            return run_confined(_WORKER, request, confinement, heard=partial(_tell, progress))
        except WorkerError as error:
            if error.code != "worker_failed":
                raise
            cause = str(error.context.get("cause", "crash"))
            killer = _killer(root, options, str(error.context.get("stderr", "")))
            if killer is None or killer in skip or len(skip) >= _MOST_KILLERS or cause == "timeout":
                _lost(collector, killer, cause)
                return {"digest": "", "findings": [], "capabilities": [], "ledger": [], "engines": [], "files": 0,
                        "ruleset": collector.rulebook.digest, "declared": []}  # fmt: skip
            skip.append(killer)
            _lost(collector, killer, cause)


def _tell(progress: Progress, said: bytes) -> None:
    """Count the files by the last number the worker told."""
    if marks := _SAID.findall(said):
        progress.count(int(marks[-1]) + 1, 0)


def _lost(collector: Collector, path: str | None, cause: str) -> None:
    place = path or ""
    collector.ledger[LedgerEntry(place, "worker", "failed", cause)] = None
    collector.bound("audit").finding(
        "audit-reader-killed", Location(place), cause, f"The confined reader died ({cause}) while it read this file"
    )


def _killer(root: Path, options: AuditOptions, stderr: str) -> str | None:
    """The file a dead worker was reading, by the number it wrote last."""
    marks = _MARK.findall(stderr)
    if not marks:
        return None
    with TreeView.open(root, options.limits) as view:
        paths = [entry.path for entry in view.files()]
    number = int(marks[-1])
    return paths[number] if number < len(paths) else None


def _run_program(engine: ProgramEngine, root: Path, options: AuditOptions, collector: Collector) -> EngineRun:
    off = (engine.name == "semgrep" and not options.semgrep) or (
        options.engines is not None and engine.name not in options.engines
    )
    if off:
        return EngineRun(engine.name, "off", version=engine.version)
    if reason := engine.absent():
        return EngineRun(engine.name, "absent", version=engine.version, reason=reason)
    start = time.perf_counter()
    reason = ""
    try:
        engine.scan(root, options, collector.bound(engine.name))
    except SkillkeepError as error:
        reason = f"{error.code}: {error.message}"
    except Exception as error:  # the law: a crash of an analyser is a finding
        reason = f"failed: {type(error).__name__}"
    if reason:
        collector.bound(engine.name).incomplete("", reason)
    seconds = round(time.perf_counter() - start, 3)
    return EngineRun(engine.name, "failed" if reason else "ran", 0, seconds, engine.version, reason)


def _report(answer: dict[str, Any], runs: list[EngineRun], collector: Collector) -> Report:
    """The worker's answer (checked field by field: a worker may have been taken over) with what the parent saw."""
    declared = frozenset(str(name) for name in answer.pop("declared", ()))
    try:
        inner = Report.from_json({**answer, "verdict": "PASS", "engines": []})
    except AuditError as error:
        raise WorkerError(
            "worker_failed", "the confined reader's answer has the wrong shape", error.hint, cause="protocol"
        ) from error
    own = settle(collector.raws, declared, collector.rulebook)
    findings = tuple(sorted((*inner.findings, *own), key=lambda f: (-f.severity.rank, f.location, f.rule)))
    return replace(
        inner,
        verdict=verdict_of(findings),
        findings=_once(findings),
        capabilities=(*inner.capabilities, *(c for c in collector.capabilities if c not in inner.capabilities)),
        ledger=(*inner.ledger, *collector.ledger),
        engines=tuple(runs),
        rubric=RubricRun(),
    )


def _once(findings: Sequence[Any]) -> tuple[Any, ...]:
    """Each rule once a line, whichever engine said it first."""
    kept: dict[tuple[Any, ...], Any] = {}
    for finding in findings:
        place = finding.location
        kept.setdefault((finding.rule, place.path, place.line, finding.message if place.line == 0 else ""), finding)
    return tuple(kept.values())

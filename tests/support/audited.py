"""Audits small trees made of texts, in this process: only ever our own, defanged examples."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.interface import AuditOptions, Report
from skillkeep.auditor.rulebook import Example, Searched
from skillkeep.auditor.verdict import verdict_of
from skillkeep.auditor.worker import read_tree

_NAMES = {
    Context.PYTHON: "tool.py",
    Context.JAVASCRIPT: "tool.js",
    Context.TYPESCRIPT: "tool.ts",
    Context.SHELL: "run.sh",
    Context.POWERSHELL: "run.ps1",
    Context.RUBY: "tool.rb",
    Context.CONFIG: "config.json",
    Context.TEXT: "data.dat",
}


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write `files` (path to content) below `root` and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def audited(files: Mapping[str, str | bytes], options: AuditOptions | None = None) -> Report:
    """Audit `files` with every engine that reads files, without confinement."""
    with tempfile.TemporaryDirectory() as folder:
        answer: dict[str, Any] = read_tree(write_tree(Path(folder), files), options or AuditOptions(bandit=False))
    answer.pop("declared")
    report = Report.from_json({**answer, "verdict": "PASS"})
    return Report.from_json({**report.to_json(), "verdict": str(verdict_of(report.findings))})


def files_of(rule: Searched, example: Example | str) -> dict[str, str]:
    """The tree an example stands for; a bare text is a file in the rule's first context."""
    if isinstance(example, str):
        return {_NAMES.get(rule.contexts[0], "SKILL.md") if rule.contexts else "SKILL.md": example}
    return {example.file or "SKILL.md": example.text, **example.files}


@cache
def rules_found(files: tuple[tuple[str, str], ...]) -> frozenset[str]:
    """The ids of the rules that report something about `files`."""
    return frozenset(finding.rule for finding in audited(dict(files)).findings)

"""A whole audit of a folder with one file: every engine at once, as the confined worker runs them."""

from __future__ import annotations

import json
import tempfile
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from fuzzing.target import Target, chosen, examples, with_choice
from skillkeep.auditor.interface import AuditOptions, Report
from skillkeep.auditor.verdict import verdict_of
from skillkeep.auditor.worker import read_tree

NAMES = (
    "SKILL.md", "a.py", "a.js", "a.ts", "a.sh", "a.ps1", "a.rb", "package.json", "pyproject.toml", "requirements.txt",
    "package-lock.json", ".mcp.json", "hooks/hooks.json", ".claude/settings.json", ".vscode/tasks.json", "a.ipynb",
    "a.yaml", "a.toml", "Dockerfile", "Makefile", "setup.cfg", "setup.py", "Pipfile", "environment.yml", "Cargo.toml",
    "go.mod", "Gemfile", "composer.json", ".github/workflows/a.yml", "a.pth", ".devcontainer/devcontainer.json",
    "plugin.json", "a.html", "a.zip", "a.pyc", "a.docx", "a.pdf", "uv.lock", "yarn.lock", "deno.json",
)  # fmt: skip
OPTIONS = AuditOptions(bandit=False, semgrep=False, file_seconds=5.0, total_seconds=60.0)


def _tree(data: bytes) -> None:
    name, content = chosen(data, NAMES)
    with tempfile.TemporaryDirectory(prefix="skillkeep-fuzz-") as folder:
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        with redirect_stderr(StringIO()):
            answer = read_tree(Path(folder), OPTIONS)
    json.dumps(answer)
    broken = [entry["reason"] for entry in answer["ledger"] if entry["state"] == "failed"]
    failed = [reason for reason in broken if reason.startswith(("failed:", "out of time", "out of memory"))]
    assert not failed, f"{name}: {failed[0]}"
    answer.pop("declared")
    report = Report.from_json({**answer, "verdict": "PASS"})
    verdict_of(report.findings)


def _seeds() -> list[bytes]:
    seeds = []
    for name in NAMES:
        suffix = name.rpartition("/")[2] if "." not in name else "." + name.rpartition(".")[2]
        seeds += [with_choice(NAMES, name, text.encode("utf-8", "replace")) for text in examples(suffix)[:12]]
    return seeds


TARGETS = (Target("tree", "every engine on one file", _tree, _seeds),)

"""The caller's cache of reports: a hit only for the same bytes, rules and options; any doubt is a miss."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.audited import write_tree
from support.reports import finding, report

from skillkeep.auditor import cache as module
from skillkeep.auditor.cache import ReportCache
from skillkeep.auditor.interface import AuditOptions, LedgerEntry, Observation, Report
from skillkeep.progress import SILENT, Progress

QUICK = AuditOptions(semgrep=False, bandit=False)
FILES = {"SKILL.md": "---\nname: a\ndescription: Says hello.\n---\n# A\n", "a.py": "import requests\n"}


class Counted:
    """Stands where `audit_tree` does: a report about the tree's digest, and how often it was asked for."""

    def __init__(self) -> None:
        self.calls = 0
        self.failed = False

    def __call__(
        self,
        root: Path,
        options: AuditOptions = QUICK,
        observations: Sequence[Observation] = (),
        progress: Progress = SILENT,
    ) -> Report:
        self.calls += 1
        found = replace(report(finding()), digest=_digest(root), seconds=1.5)
        return replace(found, ledger=(LedgerEntry("", "x", "failed"),)) if self.failed else found


def _digest(root: Path) -> str:
    from skillkeep.manifest import Manifest
    from skillkeep.tree import TreeView

    with TreeView.open(root) as view:
        return Manifest.of_tree(view).digest


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted()
    monkeypatch.setattr(module, "audit_tree", counted)
    return counted


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tool", FILES)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def same(first: Report, second: Report) -> bool:
    return replace(first, seconds=0.0) == replace(second, seconds=0.0)


def test_unchanged_bytes_get_the_same_report_without_an_audit(tool: Path, reports: Path, asked: Counted) -> None:
    first = ReportCache(reports).audit(tool, QUICK)
    second = ReportCache(reports).audit(tool, QUICK)
    assert asked.calls == 1
    assert same(first, second)


def test_entries_are_private(tool: Path, reports: Path, asked: Counted) -> None:
    ReportCache(reports).audit(tool, QUICK)
    assert reports.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in reports.iterdir()] == [0o600]


@pytest.mark.parametrize("change", ["byte", "folder", "mode", "option", "observation", "advisories"])
def test_whatever_the_answer_depends_on_makes_another_key(
    tool: Path, reports: Path, asked: Counted, change: str
) -> None:
    options, seen = QUICK, ()
    ReportCache(reports).audit(tool, options)
    if change == "byte":
        (tool / "a.py").write_text("import requests \n")
    elif change == "folder":
        (tool / "empty").mkdir()
    elif change == "mode":
        (tool / "a.py").chmod(0o4755)
    elif change == "option":
        options = replace(QUICK, file_seconds=9.0)
    elif change == "observation":
        seen = (Observation("tree-anomaly", "x", "y"),)
    else:
        (tool.parent / "osv.json").write_text("{}")
        options = replace(QUICK, advisories=str(tool.parent / "osv.json"))
        ReportCache(reports).audit(tool, options)
        (tool.parent / "osv.json").write_text("{ }")
    calls = asked.calls
    ReportCache(reports).audit(tool, options, seen)
    assert asked.calls == calls + 1


def test_other_rules_or_another_program_make_another_key(
    tool: Path, reports: Path, asked: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    ReportCache(reports).audit(tool, QUICK)
    monkeypatch.setattr(module, "_made_by", lambda: "other")
    ReportCache(reports).audit(tool, QUICK)
    assert asked.calls == 2


def test_an_incomplete_audit_is_not_kept(tool: Path, reports: Path, asked: Counted) -> None:
    asked.failed = True
    for _ in range(2):
        ReportCache(reports).audit(tool, QUICK)
    assert asked.calls == 2


def test_a_tree_that_is_not_fully_read_is_not_kept(tool: Path, reports: Path, asked: Counted) -> None:
    for _ in range(2):
        ReportCache(reports).audit(tool, replace(QUICK, file_bytes=4))
    assert asked.calls == 2
    assert not reports.exists()


def _rewritten(data: bytes, change: Any) -> bytes:
    _, key, report = data.split(b"\n", 2)
    body = {"key": json.loads(key), "report": json.loads(report)}
    change(body)
    text = b"\n".join(json.dumps(body[name], sort_keys=True).encode() for name in ("key", "report"))
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "one byte": lambda data: data[:-2] + bytes([data[-2] ^ 1]) + data[-1:],
    "no json": lambda data: hashlib.sha256(b"[").hexdigest().encode() + b"\n[",
    "no object": lambda data: hashlib.sha256(b"3").hexdigest().encode() + b"\n3",
    "nested": lambda data: hashlib.sha256(b"[" * 100_000).hexdigest().encode() + b"\n" + b"[" * 100_000,
    "another key": lambda data: _rewritten(data, lambda body: body["key"].update(digest="sha256:" + "0" * 64)),
    "another tool": lambda data: _rewritten(data, lambda body: body["report"].update(digest="sha256:" + "0" * 64)),
    "another shape": lambda data: _rewritten(data, lambda body: body["report"].update(verdict="FINE")),
    "huge": lambda data: data + b" " * (5 << 20),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_or_foreign_entry_is_a_miss_and_is_replaced(
    tool: Path, reports: Path, asked: Counted, kind: str
) -> None:
    first = ReportCache(reports).audit(tool, QUICK)
    [path] = reports.iterdir()
    path.write_bytes(DAMAGE[kind](path.read_bytes()))
    assert same(ReportCache(reports).audit(tool, QUICK), first)
    assert asked.calls == 2
    ReportCache(reports).audit(tool, QUICK)
    assert asked.calls == 2


def test_a_link_and_an_entry_others_may_write_are_not_read(tool: Path, reports: Path, asked: Counted) -> None:
    ReportCache(reports).audit(tool, QUICK)
    [path] = reports.iterdir()
    path.chmod(0o666)
    ReportCache(reports).audit(tool, QUICK)
    assert asked.calls == 2
    path.rename(reports.parent / "elsewhere")
    path.symlink_to(reports.parent / "elsewhere")
    ReportCache(reports).audit(tool, QUICK)
    assert asked.calls == 3


def test_a_folder_that_cannot_be_used_is_as_if_there_were_none(tool: Path, tmp_path: Path, asked: Counted) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "real")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "way"):
        assert ReportCache(folder).audit(tool, QUICK).files == 1
    assert list((tmp_path / "real").iterdir()) == []


def test_the_oldest_entries_make_room(tool: Path, reports: Path, asked: Counted) -> None:
    kept = ReportCache(reports, most_entries=2)
    for number in range(4):
        (tool / "a.py").write_text(f"print({number})\n")
        kept.audit(tool, QUICK)
        for path in reports.iterdir():
            os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns - 10**9))
    assert len(list(reports.iterdir())) == 2
    kept.audit(tool, QUICK)
    assert asked.calls == 4
    tiny = ReportCache(reports.parent / "tiny", most_bytes=100)
    tiny.audit(tool, QUICK)
    assert list((reports.parent / "tiny").glob("*")) == []


def test_what_a_killed_writer_left_is_removed(tool: Path, reports: Path, asked: Counted) -> None:
    reports.mkdir(mode=0o700)
    left = reports / ".x.abc.tmp"
    left.write_text("half")
    os.utime(left, (1, 1))
    ReportCache(reports).audit(tool, QUICK)
    assert not left.exists()

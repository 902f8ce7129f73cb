"""What an accepted warning can do, and what no entry can: lift a FAIL, apply to other bytes, come from the tool."""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

import pytest
from support.reports import finding, report

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.interface import Report, Severity, Verdict
from skillkeep.auditor.suppressions import Suppressions, apply_suppressions, load_suppressions

TODAY = date(2026, 11, 21)
DIGEST = "sha256:" + "a" * 64
GOOD = {
    "rule": "code-network",
    "digest": DIGEST,
    "reason": "talks to our own mirror only",
    "owner": "ada@example.invalid",
    "expires": TODAY + timedelta(days=30),
}


def entry(**changes: object) -> str:
    fields = {**GOOD, **changes}
    shown = {key: str(value) if isinstance(value, date | int) else f"{value!r}" for key, value in fields.items()}
    return "[[suppress]]\n" + "".join(f"{key} = {value}\n" for key, value in shown.items() if value != "None")


def written(folder: Path, text: str) -> Path:
    path = folder / "suppressions.toml"
    path.write_text(text)
    return path


def loaded(folder: Path, text: str) -> Suppressions:
    return load_suppressions(written(folder, text), TODAY, [], named=True)


def applied(folder: Path, text: str, before: Report) -> Report:
    return apply_suppressions(before, loaded(folder, text), TODAY)


def refused(path: Path, *audited: Path) -> str:
    with pytest.raises(AuditError) as caught:
        load_suppressions(path, TODAY, audited, named=True)
    assert caught.value.code == "bad_suppressions"
    return caught.value.message


def test_an_accepted_warning_stays_in_the_report_and_no_longer_counts(tmp_path: Path) -> None:
    after = applied(tmp_path, entry(), report(finding()))
    assert after.verdict is Verdict.PASS
    [kept] = after.findings
    assert kept.suppression
    assert (kept.suppression.owner, kept.suppression.expires) == ("ada@example.invalid", "2026-12-21")


def test_another_warning_still_counts(tmp_path: Path) -> None:
    after = applied(tmp_path, entry(path="b.py"), report(finding(), finding(path="b.py")))
    assert after.verdict is Verdict.WARN
    assert [bool(each.suppression) for each in after.findings] == [False, True]


def test_a_fail_is_never_lifted_and_the_report_says_so(tmp_path: Path) -> None:
    before = report(finding(severity=Severity.FAIL), verdict=Verdict.FAIL)
    after = applied(tmp_path, entry(fingerprint=before.findings[0].fingerprint), before)
    assert after.verdict is Verdict.FAIL
    assert after.findings[0].suppression is None
    assert "nothing lifts a FAIL" in after.notes[0]


def test_an_incomplete_audit_stays_incomplete(tmp_path: Path) -> None:
    from dataclasses import replace

    before = report(replace(finding(rule="audit-incomplete"), category="audit"))
    after = applied(tmp_path, entry(rule="audit-incomplete"), before)
    assert after.verdict is Verdict.WARN
    assert "incomplete" in after.notes[0]


@pytest.mark.parametrize(
    "change",
    [{"digest": "sha256:" + "c" * 64}, {"rule": "python-eval"}, {"path": "b.py"}, {"fingerprint": "0" * 16}],
    ids=lambda change: next(iter(change)),
)
def test_an_entry_applies_to_nothing_else(tmp_path: Path, change: dict[str, object]) -> None:
    after = applied(tmp_path, entry(**change), report(finding()))
    assert after.verdict is Verdict.WARN
    assert after.findings[0].suppression is None
    assert bool(after.notes) == ("digest" not in change)


def test_an_expired_entry_does_nothing_and_is_reported(tmp_path: Path) -> None:
    after = applied(tmp_path, entry(expires=TODAY - timedelta(days=1)), report(finding()))
    assert after.verdict is Verdict.WARN
    assert "expired" in after.notes[0]
    assert applied(tmp_path, entry(expires=TODAY), report(finding())).verdict is Verdict.PASS


def test_a_report_without_a_digest_is_not_excused(tmp_path: Path) -> None:
    from dataclasses import replace

    assert applied(tmp_path, entry(), replace(report(finding()), digest="")).verdict is Verdict.WARN


def test_marks_that_a_worker_sent_are_dropped(tmp_path: Path) -> None:
    marked = apply_suppressions(report(finding()), loaded(tmp_path, entry()), TODAY)
    assert marked.findings[0].suppression
    again = apply_suppressions(marked, Suppressions(), TODAY)
    assert (again.verdict, again.findings[0].suppression, again.notes) == (Verdict.WARN, None, ())


@pytest.mark.parametrize(
    "text",
    [
        entry(expires=TODAY + timedelta(days=367)),
        entry(expires="2026-12-21"),
        entry(expires=None),
        entry(reason="ok"),
        entry(owner=""),
        entry(digest=None),
        entry(digest="sha256:" + "A" * 64),
        entry(severity="fail"),
        entry(fingerprint="zz"),
        "[suppress]\n",
        "allow = ['*']\n",
        "not toml",
        "x = '''" + "a" * (1 << 20) + "'''",
        "[[suppress]]\n" * 10_001,
    ],
    ids=lambda text: text[-24:].strip().replace("\n", " "),
)
def test_a_file_that_is_not_whole_and_exact_is_refused(tmp_path: Path, text: str) -> None:
    refused(written(tmp_path, text))


def test_a_missing_file_is_refused_only_when_it_was_named(tmp_path: Path) -> None:
    refused(tmp_path / "none.toml")
    assert load_suppressions(tmp_path / "none.toml", TODAY, [], named=False) == Suppressions()


def test_a_file_inside_what_is_audited_is_refused_however_it_is_reached(tmp_path: Path) -> None:
    tool, elsewhere = tmp_path / "tool", tmp_path / "elsewhere"
    (tool / "deep").mkdir(parents=True)
    elsewhere.mkdir()
    path = written(tool / "deep", entry())
    (elsewhere / "way").symlink_to(tool / "deep")
    (elsewhere / "file.toml").symlink_to(path)
    (elsewhere / "tool").symlink_to(tool)
    for spelling in (path, elsewhere / "way" / path.name, tool / "deep" / ".." / "deep" / path.name):
        assert "inside" in refused(spelling, tool)
        assert "inside" in refused(spelling, elsewhere / "tool")
    refused(elsewhere / "file.toml", tool)
    assert load_suppressions(written(elsewhere, entry()), TODAY, [tool], named=True).entries


def test_the_homes_own_file_inside_an_audited_folder_is_left_out_with_a_note(tmp_path: Path) -> None:
    found = load_suppressions(written(tmp_path, entry()), TODAY, [tmp_path], named=False)
    assert found.entries == ()
    assert "inside" in found.notes[0]


def test_a_file_that_others_may_write_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, entry())
    path.chmod(0o666)
    refused(path)
    refused(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe")

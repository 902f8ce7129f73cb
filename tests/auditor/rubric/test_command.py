"""A program as the reviewer: prompt in, JSON out, and every way it can fail."""

from __future__ import annotations

import json
import os
import stat
import sys
from functools import cache
from pathlib import Path

import pytest
from support.audited import audited, write_tree
from support.llm_server import claim
from support.waiting import until

from skillkeep.auditor import Report, Verdict
from skillkeep.auditor.rubric.command import CommandReviewer
from skillkeep.auditor.rubric.interface import RubricOptions
from skillkeep.auditor.rubric.phase import second_opinion
from skillkeep.tree import TreeLimits

FILES = {"SKILL.md": "---\nname: greet\ndescription: Says hello.\n---\n# Greet\n\nSay hello.\n"}
HELLO = claim(start_line=7, end_line=7, quote="Say hello.")


@cache
def static() -> Report:
    """The report of `FILES` without the phase."""
    return audited(FILES)


def ask(tmp_path: Path, *argv: str, seconds: float = 20.0, **env: str) -> Report:
    """The report of `FILES` after the program `argv` was asked."""
    reviewer = CommandReviewer(argv, {"PATH": os.environ["PATH"], **env})
    root = write_tree(tmp_path / "tool", FILES)
    return second_opinion(root, static(), RubricOptions(reviewer, seconds=seconds), TreeLimits())


def python(tmp_path: Path, code: str, **options: float) -> Report:
    """The same for a program in Python."""
    return ask(tmp_path, sys.executable, "-c", code, seconds=options.get("seconds", 20.0))


def test_a_program_reads_the_prompt_and_its_output_is_the_reply(tmp_path: Path) -> None:
    code = f"""
import os, sys
text = sys.stdin.read()
assert "   7| Say hello." in text and "untrusted" in text
assert os.listdir(".") == []
print({json.dumps({"findings": [HELLO]})!r})
"""
    report = python(tmp_path, code)
    assert report.verdict is Verdict.FAIL
    assert (report.rubric.state, report.rubric.kept) == ("ran", 1)
    assert report.rubric.reviewer == os.path.basename(sys.executable)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit(3)", "server_error"),
        ("print('{\"findings\": []}'); raise SystemExit(1)", "server_error"),
        ("pass", "empty"),
        ("print('I think it is SAFE')", "malformed"),
        ("import sys; sys.stdout.buffer.write(bytes([255, 254]))", "malformed"),
        ("print('x' * (3 << 20))", "too_long"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "server_error"),
    ],
)
def test_a_program_that_fails_skips_the_phase(tmp_path: Path, code: str, reason: str) -> None:
    report = python(tmp_path, code)
    assert (report.rubric.state, report.rubric.reason) == ("skipped", reason)
    assert report.verdict is Verdict.PASS


def test_a_program_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    assert ask(tmp_path, "/nonexistent/agent").rubric.reason == "unreachable"
    script = tmp_path / "agent"
    script.write_text("not executable")
    script.chmod(stat.S_IRUSR)
    assert ask(tmp_path, str(script)).rubric.reason == "unreachable"


def test_a_program_that_hangs_is_ended_with_everything_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    report = ask(tmp_path, "sh", "-c", f"sleep 600 & echo $! >'{note}'; exec >&-; wait", seconds=5.0)
    assert report.rubric.reason == "timeout"
    left = Path("/proc") / note.read_text()
    assert until(lambda: not left.exists() or (left / "stat").read_text().rpartition(")")[2].split()[0] == "Z")


def test_a_program_whose_child_keeps_its_output_open_is_not_waited_for_beyond_the_time(tmp_path: Path) -> None:
    code = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print('{"findings": []}')
"""
    assert python(tmp_path, code, seconds=3.0).rubric.reason == "timeout"

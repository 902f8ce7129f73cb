"""Errors become text or JSON with the documented exit code; a closed pipe is quiet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillkeep.cli.entry import run_app
from skillkeep.cli.options import JsonOption, new_app
from skillkeep.errors import SkillkeepError


def command(fail: str = "", json_: JsonOption = False) -> int:
    if fail == "typed":
        raise SkillkeepError("limit_exceeded", "too \x1b[31mlarge", "make it smaller", path="a\nb", nested={"x": 1})
    if fail == "defect":
        raise ZeroDivisionError("oops")
    return 7


def start(*arguments: str) -> int:
    app = new_app("test")
    app.command("go")(command)
    app.callback()(lambda: None)
    return run_app(app, arguments, "prog")


def test_a_command_returns_its_exit_code() -> None:
    assert start("go") == 7


def test_a_typed_error_is_text_on_stderr_with_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert start("go", "--fail", "typed") == 20
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "error[limit_exceeded]: too \\x1b[31mlarge\n  path: a\\nb\nhint: make it smaller\n"
    )  # fmt: skip


def test_with_json_the_error_is_one_object_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert start("go", "--fail", "typed", "--json") == 20
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "ok": False,
        "error_code": "limit_exceeded",
        "error_message": "too \x1b[31mlarge",
        "hint": "make it smaller",
        "context": {"path": "a\nb", "nested": {"x": 1}},
    }
    assert out.isascii()
    assert "\x1b" not in out


@pytest.mark.parametrize("arguments", [("go", "--nope"), ("gone",), ("go", "extra")])
def test_a_usage_error_is_2_and_json_when_asked(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert start(*arguments) == 2
    assert start(*arguments, "--json") == 2
    assert json.loads(capsys.readouterr().out)["error_code"] == "usage"


def test_a_misspelt_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    app = new_app("test")
    app.command("ingest")(command)
    app.command("status")(lambda: 0)
    assert run_app(app, ["ingets"], "prog") == 2
    assert "ingest" in capsys.readouterr().err


def test_json_behind_a_double_dash_belongs_to_the_child(capsys: pytest.CaptureFixture[str]) -> None:
    start("go", "--fail", "typed", "--", "--json")
    assert capsys.readouterr().out == ""


def test_a_defect_is_an_internal_error_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert start("go", "--fail", "defect") == 1
    err = capsys.readouterr().err
    assert "error[internal_error]" in err
    assert "Traceback" not in err


def cli(home: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    script = "import sys; from skillkeep.dispatch.cli.main import skill; sys.exit(skill())"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True, text=True, check=False,
        env={**os.environ, "SKILLKEEP_HOME": str(home)}, **options,  # type: ignore[call-overload]
    )  # fmt: skip


def test_the_journal_can_be_shown_and_verified_from_the_shell(tmp_path: Path) -> None:
    from skillkeep.home import Home
    from skillkeep.journal import Journal

    home = Home(tmp_path / "home").ensure()
    for number in range(3):
        Journal(home.journal).append("run.start", number=number, name="\x1b[2J")
    shown = cli(home.root, "journal", "show", "-n", "2")
    assert shown.stdout.count("run.start") == 2
    assert "\x1b" not in shown.stdout
    assert [line["seq"] for line in json.loads(cli(home.root, "journal", "show", "--json").stdout)["lines"]] == [
        1,
        2,
        3,
    ]
    assert cli(home.root, "journal", "verify").stdout.startswith("journal holds: 3 lines in 1 file,")
    file = next(home.journal.glob("*.jsonl"))
    file.write_text(file.read_text().replace('"number":1', '"number":9'))
    broken = cli(home.root, "journal", "verify", "--json")
    assert broken.returncode == 1
    assert json.loads(broken.stdout)["error_code"] == "journal_broken"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    from skillkeep.home import Home
    from skillkeep.journal import Journal

    home = Home(tmp_path / "home").ensure()
    journal = Journal(home.journal)
    for _ in range(400):
        journal.append("event", text="x" * 1000)
    script = "import sys; from skillkeep.dispatch.cli.main import skill; sys.exit(skill())"
    child = subprocess.Popen(
        [sys.executable, "-c", script, "journal", "show", "-n", "400"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "SKILLKEEP_HOME": str(home.root)},
    )  # fmt: skip
    assert child.stdout
    assert child.stderr
    child.stdout.read(10)
    child.stdout.close()
    errors = child.stderr.read()
    child.stderr.close()
    assert (child.wait(), errors) == (141, b"")

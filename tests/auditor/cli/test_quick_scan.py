"""A scan that is asked for in plain words goes past the parser of options, and nobody can tell."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.commands import BIN, Done, environment, run_command

from skillkeep.dispatch.cli.quick import quick_run

FILES = {
    "good/SKILL.md": "---\nname: good\ndescription: Formats tables.\n---\n\n# Good\n\nFormats tables.\n",
    "bad/SKILL.md": "---\nname: bad\ndescription: Formats tables.\n---\n\n# Bad\n",
    "bad/run.py": "import os\n\nos.system(input())\n",
}


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "empty").mkdir()
    return tmp_path


def timeless(ran: Done) -> tuple[int, str, str]:
    """What was said, without the seconds that it took."""
    out = re.sub(r'\d+\.\d+ s\b|"(?:seconds|created_at|at|generated_at)": ?[^,}]+', "", ran.out)
    return ran.code, out, ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("good",),
        ("bad",),
        ("good", "bad"),
        ("bad", "--strict", "-q", "--no-semgrep", "--no-bandit"),
        ("--verbose", "--no-cache", "--no-input", "bad", "-v"),
        ("bad", "--format", "github"),
        ("bad", "-f", "markdown", "--strict"),
        ("good", "--format", "jsn"),
        ("good", "--json", "--format", "sarif"),
        ("--json", "gone"),
        ("gone", "--format", "json"),
        ("gone",),
        ("empty",),
        ("good/SKILL.md",),
        ("g\udcffod",),
    ],
)
@pytest.mark.parametrize(("program", "command"), [("auditor", "scan"), ("skill", "audit")])
def test_both_ways_of_a_scan_say_the_same(tools: Path, program: str, command: str, words: tuple[str, ...]) -> None:
    quick = run_command(program, command, *words, home=tools / "home", cwd=tools)
    parsed = run_command(program, "--color", "auto", command, *words, home=tools / "home", cwd=tools)
    assert timeless(quick) == timeless(parsed)


@pytest.mark.parametrize("colour", [{"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}])
def test_colours_are_chosen_alike(tools: Path, colour: dict[str, str]) -> None:
    quick = run_command("auditor", "scan", "bad", home=tools / "home", cwd=tools, env=colour)
    parsed = run_command("auditor", "--color", "auto", "scan", "bad", home=tools / "home", cwd=tools, env=colour)
    assert timeless(quick) == timeless(parsed)
    assert ("\x1b[" in quick.out) == ("FORCE_COLOR" in colour)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("scan",),
        ("scan", "--help"),
        ("scan", ""),
        ("scan", "-"),
        ("scan", "--", "good"),
        ("scan", "-qv", "good"),
        ("scan", "good", "--rubric"),
        ("scan", "good", "--config", "x.toml"),
        ("scan", "good", "--output", "x"),
        ("scan", "good", "--format"),
        ("scan", "good", "--format", "--json"),
        ("scan", "good", "--format=json"),
        ("scan", "good", "--color", "never"),
        ("--no-config", "scan", "good"),
        ("rules", "good"),
    ],
)
def test_what_is_less_plain_is_left_to_the_parser(words: tuple[str, ...]) -> None:
    assert quick_run("auditor", words) is None
    assert quick_run("vault", ("scan", "good")) is None
    assert quick_run("skill", ("scan", "good")) is None


def test_a_shell_that_completes_is_answered_by_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_AUDITOR_COMPLETE", "complete_bash")
    assert quick_run("auditor", ("scan", "good")) is None


def test_neither_the_parser_nor_its_library_of_types_is_imported(tools: Path) -> None:
    code = (
        "import sys; sys.argv = ['auditor', 'scan', 'bad', '--strict']\n"
        "from skillkeep.dispatch.cli.main import auditor\n"
        "code = auditor(); assert code == 20, code\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    argv = [str(BIN / "python"), "-c", code]
    done = subprocess.run(argv, env=environment(tools / "home"), cwd=tools, capture_output=True, check=True)
    assert not {"typer", "rich", "pydantic", "yaml"} & set(done.stderr.decode().split())

"""What holds for each command there is: --json, JSON errors, help, exit codes, and no question off a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import BIN, PROGRAMS, Command, environment, every_command, run_command

from skillkeep.cli.failure import report
from skillkeep.errors import Exit

COMMANDS = every_command()
NO_TEXT = os.fsdecode(b"\xff")


def named(command: Command) -> str:
    return " ".join(command.words)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("user") / "home"


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_a_command_offers_json_and_explains_itself(command: Command) -> None:
    assert "--json" in command.spellings
    assert len(command.about) > 20
    assert [names for names, text in command.options if not text] == []


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_a_misspelt_option_is_a_usage_error_in_json_too(command: Command, home: Path) -> None:
    done = run_command(*command.words, "--json", "--jsonn", home=home)
    assert done.code == 2
    assert done.json["ok"] is False
    assert done.json["error_code"] == "usage"
    assert done.json["hint"]
    assert done.err == ""


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_a_command_answers_without_a_terminal_and_without_arguments(command: Command, home: Path) -> None:
    """Whatever it says, it says at once, in one JSON object, and never as a defect."""
    done = run_command(*command.words, "--json", home=home)
    assert done.json["ok"] is (done.code in {0, 10}) or done.json["ok"] is True
    assert done.json.get("error_code") not in {"internal_error"}
    assert done.json["ok"] or done.json["hint"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_version_and_help_are_answered(program: str, home: Path) -> None:
    version = run_command(program, "--version", home=home)
    assert (version.code, version.err) == (0, "")
    assert version.out.startswith(f"{program} 0.")
    shown = run_command(program, "--help", home=home)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("Usage: ")
    assert run_command(program, "-h", home=home).out == shown.out


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_without_a_word_shows_its_help(program: str, home: Path) -> None:
    bare = run_command(program, home=home)
    assert (bare.code, bare.out) == (2, "")
    assert bare.err == run_command(program, "--help", home=home).out


def test_version_loads_nothing_it_does_not_need() -> None:
    code = (
        "import sys; before = set(sys.modules); sys.argv = ['skill', '--version']\n"
        "from skillkeep.dispatch.cli.main import skill; skill()\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[1].split()
    assert [name for name in loaded if not name.startswith("skillkeep")] == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_misspelt_command_names_the_one_that_was_meant(program: str, home: Path) -> None:
    wrong = {"skill": "ingets", "auditor": "scna", "vault": "lits", "runner": "dcotor"}[program]
    done = run_command(program, wrong, home=home)
    assert done.code == 2
    assert done.out == ""
    assert "Did you mean" in done.err


@pytest.mark.parametrize(
    ("word", "full"), [("doctor", "runner doctor"), ("list", "vault list"), ("scan", "auditor scan")]
)
def test_a_command_of_a_group_is_named_in_full(word: str, full: str, home: Path) -> None:
    done = run_command("skill", word, "--json", home=home)
    assert (done.code, done.json["hint"]) == (2, f"Use `skill {full}`.")


@pytest.mark.parametrize(
    "words",
    [("skill", "--version"), ("skill", "--help"), ("vault", "list", "--json"), ("auditor", "explain", "code-network")],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_device_is_told_and_is_no_defect(words: tuple[str, ...], unbuffered: str, home: Path) -> None:
    env = environment(home, {"PYTHONUNBUFFERED": unbuffered})
    with open("/dev/full", "wb") as full:
        done = subprocess.run([str(BIN / words[0]), *words[1:]], stdout=full, stderr=-1, env=env, check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 3)
    assert done.stderr.startswith(b"error[io_error]: cannot write: No space left on device\n")


def test_a_limit_that_is_reached_is_told_and_is_no_defect(home: Path) -> None:
    """Few enough open files that no worker can be started, and enough to get there."""
    (tree := home.parent / "tool").mkdir(exist_ok=True)
    (tree / "a.py").write_text("print(1)\n")
    script = 'ulimit -n 8; exec "$@"'
    command = ["sh", "-c", script, "sh", str(BIN / "auditor"), "scan", str(tree), "--no-bandit", "--no-semgrep"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(home), check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error[io_error]: cannot go on: Too many open files")


def test_memory_that_is_used_up_is_told_and_is_no_defect(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(MemoryError(), as_json=True, failure=Exit.RUN_FAILED) == 125
    assert json.loads(capsys.readouterr().out)["error_code"] == "io_error"


@pytest.mark.parametrize(
    "words",
    [("auditor", "scan", ""), ("auditor", "scan", ".", "--output", ""), ("vault", "export", "--output", "")],
)
def test_an_empty_path_is_no_path(words: tuple[str, ...], home: Path) -> None:
    done = run_command(*words, "--json", home=home)
    assert (done.code, done.json["error_code"]) == (2, "usage")
    assert "the path is empty" in done.json["error_message"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("skill", "--version"), 0),
        (("vault", "list"), 0),
        (("vault", "show", "x"), 126),
        (("vault", "show", "x", "--json"), 126),
    ],
)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_changes_no_exit_code(words: tuple[str, ...], code: int, closed: str, home: Path) -> None:
    script = f'"$@" {closed}'
    command = ["sh", "-c", script, "sh", str(BIN / words[0]), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(home), check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)


def test_nothing_is_made_in_the_home_by_asking_for_help(home: Path) -> None:
    fresh = home.parent / "untouched"
    run_command("skill", "--help", home=fresh)
    run_command("skill", "ingest", "--help", home=fresh)
    assert not fresh.exists()


def test_a_reader_that_goes_away_ends_a_command_quietly(home: Path) -> None:
    run_command("vault", "list", home=home)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [BIN / "skill", "--help"], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
        env=environment(home), check=False, text=True,
    )  # fmt: skip
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode in {0, 141}


def test_a_command_works_with_all_standard_streams_closed(home: Path) -> None:
    script = f'exec "{BIN}/vault" list --json <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", script], env=environment(home), check=False, timeout=240)
    assert done.returncode in {0, 1}


@pytest.mark.parametrize("bad", ["relative/home", "/dev/null/home", "/proc/skillkeep"])
def test_a_home_that_cannot_be_is_an_error_with_a_hint(bad: str, tmp_path: Path) -> None:
    done = run_command("vault", "list", "--json", home=tmp_path / "h", env={"SKILLKEEP_HOME": bad})
    assert done.code in {1, 2}
    assert done.json["error_code"] in {"bad_home", "io_error"}
    assert done.json["hint"]


def test_an_unknown_setting_is_refused_by_name(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[sandbox]\nmemory_bites = 5\n")
    done = run_command("vault", "list", "--json", home=home)
    assert (done.code, done.json["error_code"]) == (2, "bad_config")
    assert "sandbox.memory_bites" in done.json["error_message"]


def test_errors_without_json_go_to_standard_error_with_code_and_hint(tmp_path: Path) -> None:
    done = run_command("vault", "show", "no-such-tool", home=tmp_path / "home")
    assert done.code != 0
    assert done.out == ""
    assert done.err.startswith("error[")
    assert "\nhint: " in done.err


def test_what_a_user_types_comes_back_escaped(tmp_path: Path) -> None:
    done = run_command("vault", "show", "\x1b[31mred\x1b[0m", home=tmp_path / "home")
    assert done.code == 2
    assert "\x1b" not in done.err
    plain = run_command("vault", "show", "\x1b[31mred", "--json", home=tmp_path / "home")
    assert json.loads(plain.out)["ok"] is False
    assert "\x1b" not in plain.out


@pytest.mark.parametrize(
    "words",
    [
        ("skill", "run", NO_TEXT, "count"),
        ("runner", "run", "--json", NO_TEXT, "count"),
        ("vault", "history", NO_TEXT),
        ("vault", "rollback", NO_TEXT),
        ("vault", "diff", NO_TEXT),
        ("vault", "verify", NO_TEXT),
    ],
)
def test_a_name_that_is_no_text_is_the_name_of_no_tool(words: tuple[str, ...], home: Path) -> None:
    done = run_command(*words, home=home)
    assert (done.code, "not_vaulted" in done.out + done.err) == (126, True)
    assert "\\xff" in done.out + done.err
    assert "\\ud" not in done.out

"""Options that stand before and after every command's name, and the help that agents read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.commands import PROGRAMS, Command, every_command, run_command

COMMANDS = every_command()
EVERYWHERE = {"--color", "--no-config", "--help-json"}
RED = "\x1b[31m"


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.words))
def test_every_command_takes_them(command: Command) -> None:
    assert command.spellings >= EVERYWHERE


@pytest.mark.parametrize("words", [("--color", "always", "show", "x"), ("show", "x", "--color=always")])
def test_colour_can_be_asked_for_on_either_side_and_goes_before_the_variables(words: Any, home: Path) -> None:
    assert RED in run_command("vault", *words, home=home, env={"NO_COLOR": "1"}).err


def test_colour_can_be_refused_and_the_nearer_word_counts(home: Path) -> None:
    forced = {"FORCE_COLOR": "1"}
    assert RED in run_command("vault", "show", "x", home=home, env=forced).err
    assert RED not in run_command("vault", "--color", "never", "show", "x", home=home, env=forced).err
    both = run_command("vault", "--color", "always", "show", "x", "--color", "auto", home=home)
    assert RED not in both.err


def test_a_tools_own_words_are_not_taken_for_ours(home: Path) -> None:
    """Behind NAME ENTRY nothing is an option of ours: the colour is not even looked at."""
    done = run_command("skill", "run", "x", "entry", "--color", "sometimes", home=home)
    assert done.err.startswith("error[not_vaulted]")


@pytest.mark.parametrize(
    "words", [("--no-config", "list"), ("list", "--no-config"), ("--config", "/dev/null", "list")], ids=" ".join
)
def test_the_homes_configuration_can_be_left_out_on_either_side(words: tuple[str, ...], home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("no = configuration\n")
    assert run_command("vault", "list", "--json", home=home).json["error_code"] == "bad_config"
    assert run_command("vault", *words, "--json", home=home).code == 0


@pytest.mark.parametrize(
    "words", [("skill", "--config", "/none", "vault", "list"), ("vault", "--config", "/none", "list")]
)
def test_a_configuration_named_before_the_command_is_the_one_that_is_read(words: tuple[str, ...], home: Path) -> None:
    done = run_command(*words, "--json", home=home)
    assert (done.code, done.json["error_code"], done.json["context"]["path"]) == (2, "bad_config", "/none")


def test_a_configuration_and_none_exclude_each_other(home: Path) -> None:
    done = run_command("skill", "--no-config", "status", "--config", "/dev/null", "--json", home=home)
    assert (done.code, done.json["error_code"]) == (2, "usage")


def test_the_command_that_goes_on_has_no_configuration_either(home: Path, tmp_path: Path) -> None:
    (tree := tmp_path / "tool").mkdir()
    (tree / "a.py").write_text("print(1)\n")
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("no = configuration\n")
    done = run_command("skill", "--no-config", "ingest", str(tree), "--json", home=home)
    assert done.code == 10
    assert " --config /dev/null" in done.json["next"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_as_json_has_every_command_with_every_option(program: str, home: Path) -> None:
    shown = run_command(program, "--help-json", home=home)
    assert (shown.code, shown.err, shown.json["schema"]) == (0, "", "skillkeep/help-v1")
    found = {each["command"]: each for each in leaves(shown.json["command"])}
    wanted = {" ".join(each.words): each for each in COMMANDS if each.words[0] == program}
    assert found.keys() == wanted.keys()
    for words, each in found.items():
        assert {name for option in each["options"] for name in option["spellings"]} == wanted[words].spellings
        assert each["help"]


def test_help_as_json_of_one_command_says_what_it_takes(home: Path) -> None:
    command = run_command("skill", "run", "--help-json", home=home).json["command"]
    name, words = command["arguments"]
    assert (command["command"], name["name"], name["required"], words["repeatable"]) == (
        "skill run",
        "NAME",
        True,
        True,
    )
    options = {option["spellings"][0]: option for option in command["options"]}
    assert [options[each]["type"] for each in ("--timeout", "--processes", "--config", "--json", "--memory")] == [
        "number", "integer", "path", "flag", "text",
    ]  # fmt: skip
    assert options["--color"]["choices"] == ["auto", "always", "never"]
    assert options["--env"]["repeatable"]


def test_the_version_is_answered_behind_other_options_too(home: Path) -> None:
    assert run_command("vault", "--color", "never", "-V", home=home).out.startswith("vault 0.")


def test_an_option_without_its_value_is_explained_by_its_own_command(home: Path) -> None:
    done = run_command("skill", "vault", "show", "--config", "--json", "--config", home=home)
    assert (done.code, done.json["hint"]) == (2, "Run `skill vault show --help`.")


def leaves(command: dict[str, Any]) -> list[dict[str, Any]]:
    """The commands that do something, below and with this one."""
    return [leaf for child in command["commands"] for leaf in leaves(child)] if command["commands"] else [command]

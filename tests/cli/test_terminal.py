"""At a terminal: an interrupted question vaults nothing, who says so is not asked, colour can be switched off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pexpect
import pytest
from support.commands import BIN, environment, run_command

SKILL = "---\nname: weather\ndescription: Fetches the weather of a city.\n---\n\nRun `python3 fetch.py Oslo`.\n"
CODE = "import urllib.request\nprint(urllib.request.urlopen('https://weather.example.invalid/').read())\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    """A harmless tool with one warning."""
    folder = tmp_path / "weather"
    folder.mkdir()
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "fetch.py").write_text(CODE)
    return folder


def at_terminal(home: Path, *words: str) -> Any:
    env = environment(home, {"TERM": "dumb", "COLUMNS": "120"})
    return pexpect.spawn(
        str(BIN / words[0]), list(words[1:]), env=env, timeout=240, encoding="utf-8", dimensions=(40, 120)
    )


def ended(child: Any) -> int:
    child.expect(pexpect.EOF)
    child.close()
    return int(child.exitstatus)


def test_an_interrupt_at_the_question_vaults_nothing(home: Path, weather: Path) -> None:
    child = at_terminal(home, "skill", "ingest", str(weather), "--confirm")
    child.expect("Vault it with these findings")
    child.sendintr()
    assert ended(child) == 130
    assert run_command("vault", "list", "--json", home=home).json["tools"] == []
    assert [path.name for path in (home / "quarantine").iterdir() if path.name != ".lock"] == []


@pytest.mark.parametrize("words", [["--no-input"], ["--json"]])
def test_who_says_so_is_not_asked_at_a_terminal_either(home: Path, weather: Path, words: list[str]) -> None:
    child = at_terminal(home, "skill", "ingest", str(weather), "--confirm", *words)
    assert ended(child) == 10


def test_colour_is_for_terminals_and_can_be_switched_off(home: Path, weather: Path) -> None:
    env = environment(home, {"TERM": "xterm-256color"})
    shown = pexpect.spawn(str(BIN / "auditor"), ["scan", str(weather)], env=env, timeout=240, encoding="utf-8").read()
    assert "\x1b[" in shown
    env["NO_COLOR"] = "1"
    plain = pexpect.spawn(str(BIN / "auditor"), ["scan", str(weather)], env=env, timeout=240, encoding="utf-8").read()
    assert "WARN" in plain
    assert "\x1b[3" not in plain
    assert "\x1b[" not in run_command("auditor", "scan", str(weather), home=home).out

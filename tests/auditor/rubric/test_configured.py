"""From config.toml to the phase, on the command lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.audited import write_tree
from support.commands import run_command
from support.llm_server import claim, finds, llm_server

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.rubric.configured import rubric_options
from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.settings import RubricSettings, load_settings

SKILL = {"SKILL.md": "---\nname: greet\ndescription: Says hello.\n---\n# Greet\n\nSay hello.\n"}
HELLO = claim(start_line=7, end_line=7, quote="Say hello.")
KEY = "sk-test-0123456789abcdef"


def configured(tmp_path: Path, text: str) -> Path:
    """A home with this section in its configuration."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f"[auditor]\nsemgrep = false\nbandit = false\n[rubric]\n{text}")
    return home


@pytest.mark.parametrize(
    "url",
    [
        "https://user:pw@llm.example.invalid/v1",
        "https://user@llm.example.invalid/v1",
        "https://llm.example.invalid/v1?key=1",
        "https://llm.example.invalid/v1?",
        "https://llm.example.invalid/v1#x",
        "ftp://llm.example.invalid/v1",
        "file:///etc/passwd",
        "llm.example.invalid/v1",
        "https://",
        "https:///v1",
        "https://llm.example.invalid:99999/v1",
        "https://llm.example.invalid /v1",
        "https://llm.example.invalid\\\\@127.0.0.1/v1",
        "https://llm.example.invalid\\n/v1",
    ],
)
def test_a_url_that_carries_more_than_a_place_is_refused(tmp_path: Path, url: str) -> None:
    home = configured(tmp_path, f'model = "m"\nbase_url = "{url}"\n')
    with pytest.raises(SkillkeepError) as caught:
        load_settings(Home(home))
    assert caught.value.code == "bad_config"
    assert "pw@" not in json.dumps(caught.value.to_json())


@pytest.mark.parametrize(
    "text",
    [
        "enabled = true\n",
        'enabled = true\nmodel = "m"\n',
        'base_url = "http://llm.example.invalid/v1"\nmodel = "m"\napi_key_env = "KEY"\n',
        'base_url = "https://llm.example.invalid/v1"\nmodel = "m"\napi_key_env = "sk-0123"\n',
        'command = ["agent"]\nmodel = "m"\n',
        'command = [""]\n',
        'command = "agent --print"\n',
        "consensus = 0\n",
        "tokens = 10\n",
        "seconds = 0\n",
        'api_key = "sk-0123"\n',
    ],
)
def test_settings_that_do_not_fit_together_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SkillkeepError) as caught:
        load_settings(Home(configured(tmp_path, text)))
    assert caught.value.code == "bad_config"


@pytest.mark.parametrize("url", ["https://llm.example.invalid/v1", "http://127.0.0.1:8080/v1", "http://[::1]:8080/v1/"])
def test_a_server_elsewhere_by_https_and_here_by_http_may_get_a_key(url: str) -> None:
    settings = RubricSettings(enabled=True, base_url=url, model="m", api_key_env="KEY")
    options = rubric_options(settings, {"KEY": KEY})
    assert options is not None
    assert options.reviewer.name == "m"
    assert KEY not in repr(options)


def test_the_phase_is_off_unless_enabled_or_asked_for() -> None:
    assert rubric_options(RubricSettings(), {}) is None
    settings = RubricSettings(command=("agent",))
    assert rubric_options(settings, {}) is None
    assert rubric_options(settings, {}, asked=True) is not None


def test_asking_for_a_phase_that_nobody_configured_is_a_usage_error() -> None:
    with pytest.raises(AuditError) as caught:
        rubric_options(RubricSettings(), {}, asked=True)
    assert (caught.value.code, int(caught.value.exit_code)) == ("rubric_not_configured", 2)


def test_a_scan_asks_when_told_to_and_says_what_came_of_it(tmp_path: Path) -> None:
    tool = write_tree(tmp_path / "tool", SKILL)
    with llm_server(finds(HELLO)) as server:
        home = configured(tmp_path, f'base_url = "{server.url}"\nmodel = "m"\napi_key_env = "MY_KEY"\n')
        env = {"MY_KEY": KEY}
        assert run_command("auditor", "scan", str(tool), home=home, env=env).code == 0
        assert server.asked == []
        done = run_command("auditor", "scan", "--rubric", str(tool), home=home, env=env)
    assert done.code == 20
    assert "rubric-agent-hijack" in done.out
    assert "rubric by m: 1 finding" in done.out
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in done.out + done.err


def test_a_scan_without_its_reviewer_keeps_the_static_verdict_and_says_why(tmp_path: Path) -> None:
    tool = write_tree(tmp_path / "tool", SKILL)
    home = configured(tmp_path, 'enabled = true\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    done = run_command("auditor", "scan", str(tool), home=home)
    assert done.code == 0
    assert "rubric skipped: unreachable" in done.out


def test_an_ingest_asks_when_enabled_and_a_blocking_finding_rejects(tmp_path: Path) -> None:
    tool = write_tree(tmp_path / "tool", SKILL)
    with llm_server(finds(HELLO)) as server:
        home = configured(tmp_path, f'enabled = true\nbase_url = "{server.url}"\nmodel = "m"\n')
        rejected = run_command("skill", "ingest", str(tool), "--json", home=home)
    assert (rejected.code, rejected.json["status"], rejected.json["verdict"]) == (20, "rejected", "FAIL")
    assert "rubric-agent-hijack" in [finding["rule"] for finding in rejected.json["findings"]]
    assert (rejected.json["rubric"]["state"], rejected.json["rubric"]["kept"]) == ("ran", 1)


def test_an_ingest_whose_reviewer_is_down_goes_on_and_says_so(tmp_path: Path) -> None:
    tool = write_tree(tmp_path / "tool", SKILL)
    home = configured(tmp_path, 'enabled = true\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    shown = run_command("skill", "ingest", str(tool), home=home)
    assert shown.code == 10
    assert "rubric   skipped, unreachable" in shown.out
    noted = [line.facts["rubric"] for line in Journal(home / "journal").read() if line.event == "ingest.verdict"]
    assert noted == ["unreachable"]


def test_a_program_is_asked_by_its_command_line(tmp_path: Path) -> None:
    tool = write_tree(tmp_path / "tool", SKILL)
    agent = tmp_path / "agent.py"
    agent.write_text(f"import sys\nsys.stdin.read()\nprint({json.dumps({'findings': [HELLO]})!r})\n")
    home = configured(tmp_path, f"enabled = true\ncommand = {json.dumps([sys.executable, str(agent)])}\n")
    assert run_command("auditor", "scan", str(tool), home=home).code == 20


def test_the_client_is_not_imported_when_nobody_is_asked(tmp_path: Path) -> None:
    modules = "sys, skillkeep.auditor.cli.app, skillkeep.auditor.audit, skillkeep.ingest.cli"
    code = f"import {modules}\nprint('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "False\n"

"""`auditor scan` as a user runs it: formats, several paths, suppressions, the cache."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.audited import write_tree
from support.commands import Done, run_command

WARNS = {"SKILL.md": "---\nname: w\ndescription: Fetches.\n---\n# W\n", "w.py": "import requests\nrequests.get(u)\n"}
FAILS = {"SKILL.md": "---\nname: f\ndescription: Runs.\n---\n# F\n", "f.py": "eval(input())\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    (path / "config.toml").write_text("[auditor]\nsemgrep = false\nbandit = false\n")
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    write_tree(tmp_path / "work" / "w", WARNS)
    write_tree(tmp_path / "work" / "f", FAILS)
    return tmp_path / "work"


def scan(home: Path, tools: Path, *words: str) -> Done:
    return run_command("auditor", "scan", *words, home=home, cwd=tools)


def suppression(digest: str, rule: str) -> str:
    expires = (datetime.now(UTC) + timedelta(days=9)).date()
    return (
        f"[[suppress]]\nrule = '{rule}'\ndigest = '{digest}'\nreason = 'our own mirror only'\n"
        f"owner = 'ada'\nexpires = {expires}\n"
    )


def test_several_paths_make_one_document_and_the_worst_decides(home: Path, tools: Path) -> None:
    done = scan(home, tools, "w", "f", "--json")
    assert done.code == 20
    assert [(each["path"], each["verdict"]) for each in done.json["reports"]] == [("w", "WARN"), ("f", "FAIL")]
    assert done.json["verdict"] == "FAIL"


def test_a_path_that_cannot_be_audited_fails_the_whole_command(home: Path, tools: Path) -> None:
    (tools / "empty").mkdir()
    assert scan(home, tools, "w", "none", "--json").json["error_code"] == "not_a_tree"
    done = scan(home, tools, "w", "empty", "--json")
    assert (done.code, done.json["error_code"]) == (3, "nothing_to_scan")


@pytest.mark.parametrize(
    ("words", "code"), [(["sarif"], 0), (["sarif", "--strict"], 20), (["github"], 20), (["html"], 20)]
)
def test_the_verdict_is_the_exit_code_but_for_sarif(home: Path, tools: Path, words: list[str], code: int) -> None:
    assert scan(home, tools, "f", "--format", *words).code == code


def test_a_report_is_written_to_a_file_with_paths_from_the_working_folder(home: Path, tools: Path) -> None:
    done = scan(home, tools, "w", "f/f.py", "--format", "sarif", "--output", "out.sarif")
    assert (done.code, done.out) == (0, "")
    [run] = json.loads((tools / "out.sarif").read_text())["runs"]
    assert {each["location"]["uri"] for each in run["artifacts"]} == {"w/w.py", "f/f.py"}


def test_an_unknown_format_is_a_usage_error(home: Path, tools: Path) -> None:
    assert scan(home, tools, "w", "--format", "pdf").code == 2


def test_a_suppressed_warning_passes_and_is_shown_and_the_tools_own_file_does_nothing(home: Path, tools: Path) -> None:
    before = scan(home, tools, "w", "--json").json
    rules = {each["rule"] for each in before["findings"] if each["severity"] == "warn"}
    text = "".join(suppression(before["digest"], rule) for rule in rules)
    (home / "suppressions.toml").write_text(text)
    done = scan(home, tools, "w", "--json", "--strict")
    assert (done.code, done.json["verdict"]) == (0, "PASS")
    assert {each["rule"] for each in done.json["findings"] if each["suppression"]} == rules
    assert "suppressed" in scan(home, tools, "w").out
    (home / "suppressions.toml").rename(tools / "f" / "suppressions.toml")
    refused = scan(home, tools, "f", "--suppressions", "f/suppressions.toml", "--json")
    assert (refused.code, refused.json["error_code"]) == (2, "bad_suppressions")


def test_a_suppressed_fail_stays_a_fail_in_scan_and_in_ingest(home: Path, tools: Path) -> None:
    before = scan(home, tools, "f", "--json").json
    (home / "suppressions.toml").write_text(
        "".join(suppression(before["digest"], each["rule"]) for each in before["findings"])
    )
    done = scan(home, tools, "f", "--json")
    assert (done.code, done.json["verdict"]) == (20, "FAIL")
    assert any("nothing lifts a FAIL" in note for note in done.json["notes"])
    taken = run_command("skill", "ingest", str(tools / "f"), "--confirm", "--json", home=home)
    assert (taken.code, taken.json["status"]) == (20, "rejected")


def test_ingest_takes_a_tool_whose_warnings_were_accepted_for_these_bytes(home: Path, tools: Path) -> None:
    first = run_command("skill", "ingest", str(tools / "w"), "--json", home=home).json
    rules = {each["rule"] for each in first["findings"] if each["severity"] == "warn"}
    named = home.parent / "accepted.toml"
    named.write_text("".join(suppression(first["digest"], rule) for rule in rules))
    again = run_command("skill", "ingest", str(tools / "w"), "--json", "--suppressions", str(named), home=home)
    assert (again.json["status"], again.json["verdict"]) == ("awaiting_confirmation", "PASS")
    assert f"--suppressions {named}" in again.json["next"]
    inside = tools / "w" / "accepted.toml"
    named.rename(inside)
    done = run_command("skill", "ingest", str(tools / "w"), "--json", "--suppressions", str(inside), home=home)
    assert done.json["error_code"] == "bad_suppressions"


def test_what_has_not_changed_is_answered_from_the_cache_unless_asked_not_to(home: Path, tools: Path) -> None:
    def entries() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (home / "cache" / "reports" / "scan").iterdir()}

    first = scan(home, tools, "w", "--json").json
    kept = entries()
    assert len(kept) == 1
    second = scan(home, tools, "w", "--json").json
    assert {**first, "seconds": 0} == {**second, "seconds": 0}
    scan(home, tools, "w", "--no-cache")
    assert entries() == kept


def test_the_limits_of_a_source_are_those_of_a_scan(home: Path, tools: Path) -> None:
    write_tree(tools / "large", {**WARNS, "big.txt": "word " * 4_000_000})
    assert "tree-file-too-large" in scan(home, tools, "large").out
    with (home / "config.toml").open("a") as config:
        config.write("[limits]\nfile_bytes = 40000000\n")
    assert "tree-file-too-large" not in scan(home, tools, "large").out


def test_less_memory_than_a_reader_needs_is_a_mistake_of_the_settings(home: Path, tools: Path) -> None:
    (home / "config.toml").write_text("[auditor]\nmemory_bytes = 30000000\n")
    done = scan(home, tools, "w", "--json")
    assert (done.code, done.json["error_code"]) == (2, "bad_config")


@pytest.mark.parametrize(
    "address", ["https://x.example.invalid/a.git", "git@x.example.invalid:a/b.git", "file:///tmp/a"]
)
def test_an_address_is_told_which_command_fetches(home: Path, tools: Path, address: str) -> None:
    assert "skill ingest" in scan(home, tools, address, "--json").json["hint"]


def test_trees_outside_of_the_working_folder_are_told_apart(home: Path, tools: Path) -> None:
    (tools / "here").mkdir()
    done = scan(home, tools / "here", "../w", "../f", "--format", "sarif", "--no-input")
    places = {place["location"]["uri"] for place in json.loads(done.out)["runs"][0]["artifacts"]}
    assert places == {"../w/w.py", "../f/f.py"}

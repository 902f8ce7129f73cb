"""A run that is asked for without options goes past the parser of options, and nobody can tell."""

from __future__ import annotations

import os
import subprocess

import pytest
from support.commands import BIN, environment, run_command
from support.vaults import make_tool, open_vault

from skillkeep.dispatch.cli.quick import quick_run
from skillkeep.home import Home
from skillkeep.runner.native import NativeBackend
from skillkeep.vault import signature

NATIVE = NativeBackend().probe()
FILES = {
    "run.py": "import sys\nprint(sys.argv[1:], sys.stdin.read())\n",
    "fail.sh": "echo oops >&2; exit 7\n",
    "net.py": "import socket\nsocket.socket()\n",
    "SKILL.md": "# x\n",
}


@pytest.mark.skipif(not NATIVE.available, reason=f"no native sandbox: {NATIVE.reason}")
@pytest.mark.parametrize(
    "words",
    [
        ("tool", "run", "a b", "--json", "-q", "--", "--help"),
        ("tool", "run.py", "-"),
        ("tool", "--", "sh", "-c", "echo $0 $1; exit 3", "--", "--json"),
        ("--", "tool", "fail"),
        ("tool", "net"),
        ("tool", "--"),
        ("tool", "nun"),
        ("tool", ""),
        ("tool", "--", "no-such-program"),
        ("tool", "--", "sh", "-c", "kill -TERM $$"),
        ("too", "run"),
        ("", "run"),
        ("tool", "r\udcffn"),
    ],
)
@pytest.mark.parametrize("program", ["skill", "runner"])
def test_both_ways_of_a_command_line_do_the_same(home: Home, program: str, words: tuple[str, ...]) -> None:
    make_tool(home, "tool", FILES)
    quick = run_command(program, "run", *words, home=home.root, stdin=b"in")
    parsed = run_command(program, "--color", "auto", "run", *words, home=home.root, stdin=b"in")
    assert quick == parsed


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("run",),
        ("run", "tool"),
        ("run", "--help"),
        ("run", "-q", "tool", "entry"),
        ("run", "tool", "-q", "entry"),
        ("run", "--", "-tool", "entry"),
        ("--no-config", "run", "tool", "entry"),
        ("ingest", "tool", "entry"),
        ("dry-run", "tool", "entry"),
    ],
)
def test_what_holds_an_option_of_ours_is_left_to_the_parser(words: tuple[str, ...]) -> None:
    assert quick_run("skill", words) is None
    assert quick_run("vault", ("run", "tool", "entry")) is None


def test_a_shell_that_completes_is_answered_by_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SKILL_COMPLETE", "complete_bash")
    assert quick_run("skill", ("run", "tool", "entry")) is None


def imported_for_a_run(home: Home, first: str = "") -> set[str]:
    """What a process has imported that did `first` and then ran a tool of `home` as a shell would have it run."""
    code = (
        f"import sys; sys.argv = ['skill', 'run', 'tool', 'run']\n{first}\n"
        "from skillkeep.dispatch.cli.main import skill\n"
        "code = skill(); assert code == 0, code\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    env, argv = environment(home.root), [str(BIN / "python"), "-c", code]
    done = subprocess.run(argv, env=env, cwd=home.root, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return set(done.stderr.decode().split())


@pytest.mark.skipif(not NATIVE.available, reason=f"no native sandbox: {NATIVE.reason}")
def test_neither_the_parser_nor_dataclasses_are_imported_for_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tool(home, "tool", FILES)
    monkeypatch.setattr(signature, "RACY_NS", 0)  # as if it lay there for some time, so that a run hashes no file
    open_vault(home).open("tool")
    assert not {"typer", "rich", "pydantic", "dataclasses", "inspect"} & imported_for_a_run(home)


@pytest.mark.skipif(not NATIVE.available, reason=f"no native sandbox: {NATIVE.reason}")
def test_to_try_the_sandbox_first_is_no_reason_to_expect_more_runs(home: Home) -> None:
    make_tool(home, "tool", FILES)
    for_many = {"skillkeep.runner.native.own", "skillkeep.runner.native.lent", "skillkeep.kernel.tape"}
    tried = "from skillkeep.runner.native import backend; backend.held_lately = lambda _: None"
    assert not for_many & imported_for_a_run(home, tried)


@pytest.mark.skipif(not NATIVE.available, reason=f"no native sandbox: {NATIVE.reason}")
def test_a_reader_who_leaves_is_no_error(home: Home) -> None:
    make_tool(home, "tool", FILES)
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        argv = [str(BIN / "skill"), "run", "tool", "--", "echo", "x"]
        done = subprocess.run(argv, env=environment(home.root), stdout=write_end, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")

"""`skill run --tty`: a tool that is talked to, at a terminal of its own."""

from __future__ import annotations

import os
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pexpect
import pytest
from support.commands import BIN, environment, run_command
from support.vaults import make_tool
from support.waiting import later, until

from skillkeep.home import Home
from skillkeep.runner.native import NativeBackend

NATIVE = NativeBackend().probe()
pytestmark = pytest.mark.skipif(not NATIVE.available, reason=f"no native sandbox: {NATIVE.reason}")
# TIOCSTI and TIOCLINUX, also with a bit that the kernel ignores.
TYPING = """
import fcntl
for request in (0x5412, 0x541C, 0x100005412, 0x10000541C):
    try:
        fcntl.ioctl(0, request, b"x")
        print("typed")
    except (OSError, OverflowError) as error:
        print("refused", getattr(error, "errno", "python"))
"""
FILES = {
    "SKILL.md": "# x\n",
    "ask.py": "name = input('name? ')\nprint('hello', name)\nraise SystemExit(5)\n",
    "size.sh": "stty size; until [ \"$(stty size)\" = '40 120' ]; do :; done; echo re''sized $TERM\n",
    "flood.sh": "exec yes\n",
    "up.sh": "echo up; exec sleep 300\n",
    "typing.py": TYPING,
    "hostile.sh": r"printf 'one\033]52;c;cm0gLXJm\007two\033[31mthree\033[?25l\n'" + "\n",
    "owner.py": "import os\nprint(os.tcgetpgrp(0) == os.getpgrp(), os.path.exists('/dev/tty'))\n",
}


def at_terminal(home: Home, *words: str, **variables: str) -> Any:
    make_tool(home, "tool", FILES)
    env = environment(home.root, {"TERM": "xterm", **variables})
    child = pexpect.spawn(
        str(BIN / "skill"), ["run", "--tty", *words], env=env, timeout=120, encoding="utf-8", dimensions=(33, 99)
    )
    child.delaybeforesend = None
    return child


def ended(child: Any) -> int | None:
    child.expect(pexpect.EOF)
    child.close()
    code: int | None = child.exitstatus
    return code


def test_only_what_draws_reaches_the_terminal_which_is_switched_back(home: Home) -> None:
    child = at_terminal(home, "tool", "hostile")
    child.expect("one")
    child.expect(pexpect.EOF)
    assert child.before.startswith("two\x1b[31mthree\x1b[?25l\r\n")
    assert "52;c" not in child.before
    assert child.before.endswith("\x1b[?25h\x0f\x1b(B\x1b[0m\x1b>")


def test_a_tool_is_talked_to_and_its_code_comes_back(home: Home) -> None:
    child = at_terminal(home, "tool", "ask")
    child.expect("name\\? ")
    child.sendline("Ada")
    child.expect("hello Ada")
    assert ended(child) == 5


def test_its_terminal_has_the_size_of_the_persons_also_later(home: Home) -> None:
    child = at_terminal(home, "tool", "size")
    child.expect("33 99")
    child.setwinsize(40, 120)
    child.expect("resized xterm")
    assert ended(child) == 0


def test_the_terminal_is_its_own_and_nothing_can_be_typed_into_it(home: Home) -> None:
    child = at_terminal(home, "tool", "typing")
    assert ended(child) == 0
    words = child.before.split("\r\n")
    assert "typed" not in words
    assert words.count("refused 1") >= 2
    child = at_terminal(home, "tool", "owner")
    child.expect("True False")
    ended(child)


def test_interrupt_reaches_the_tool_as_a_key(home: Home) -> None:
    child = at_terminal(home, "tool", "up")
    child.expect("up")
    child.sendintr()
    assert ended(child) == 130


@pytest.mark.parametrize("number", [1, 2, 3, 15])
def test_the_persons_terminal_is_as_it_was_when_the_runner_was_told_to_end(home: Home, number: int) -> None:
    child = at_terminal(home, "tool", "up")
    child.expect("up")
    assert not termios.tcgetattr(child.child_fd)[3] & termios.ICANON
    os.kill(child.pid, number)
    child.expect(pexpect.EOF)
    wanted = termios.ICANON | termios.ECHO
    assert termios.tcgetattr(child.child_fd)[3] & wanted == wanted
    child.close()
    assert child.exitstatus == 137


def test_the_persons_terminal_is_restored_also_when_the_runner_was_killed(home: Home) -> None:
    child = at_terminal(home, "tool", "up")
    child.expect("up")
    os.kill(child.pid, 9)
    assert until(lambda: bool(termios.tcgetattr(child.child_fd)[3] & termios.ICANON))
    child.close()


def test_the_terminal_is_restored_by_a_shell_that_was_slow_to_start(home: Home, tmp_path: Path) -> None:
    slow = tmp_path / "sh"
    slow.write_text(
        f"#!{sys.executable} -IS\nimport os, sys, time\ntime.sleep(1)\nos.execv('/bin/sh', ['sh', *sys.argv[1:]])\n"
    )
    slow.chmod(0o755)
    child = at_terminal(home, "tool", "up", PATH=f"{tmp_path}:{os.environ['PATH']}")
    child.expect("up")
    os.kill(child.pid, 9)
    assert until(lambda: bool(termios.tcgetattr(child.child_fd)[3] & termios.ICANON))
    child.close()


def test_the_time_limit_holds_at_a_terminal_and_the_terminal_is_restored(home: Home) -> None:
    child = at_terminal(home, "--timeout", "1", "tool", "up")
    child.expect("time limit")
    child.expect(pexpect.EOF)
    assert termios.tcgetattr(child.child_fd)[3] & termios.ICANON
    child.close()
    assert child.exitstatus == 124


@pytest.mark.parametrize("by", ["limit", "key", "signal"])
def test_a_flood_at_a_slow_terminal_ends_at_the_limit_by_a_key_and_by_a_signal(home: Home, by: str) -> None:
    child = at_terminal(home, *(["--timeout", "2"] if by == "limit" else []), "tool", "flood")
    child.expect("y\r\ny")
    if by == "key":
        child.sendintr()
    if by == "signal":
        os.kill(child.pid, 15)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.read(child.child_fd, 2048)
        except OSError:
            break
        later(0.001)  # two million bytes a second, as many a terminal
    else:
        child.kill(9)
        pytest.fail("it went on")
    child.close()
    assert child.exitstatus == {"limit": 124, "key": 130, "signal": 137}[by]


def test_without_a_terminal_or_with_json_there_is_nothing_to_join(home: Home) -> None:
    make_tool(home, "tool", FILES)
    for words in (("--tty",), ("--tty", "--json"), ("--tty", "--stdin")):
        done = run_command("skill", "run", *words, "tool", "ask", home=home.root)
        assert done.code == 2
    refused = at_terminal(home, "--backend", "local", "tool", "ask")
    assert ended(refused) in (2, 126)

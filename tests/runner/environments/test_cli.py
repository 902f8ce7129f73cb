"""`runner shell` and `runner env`, as a person and as a program use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pexpect
import pytest
from support.commands import BIN, Done, environment, run_command
from support.waiting import later, until

# What a terminal's program may try: TIOCSTI and TIOCLINUX, also with a bit that the kernel ignores.
TYPING = (
    "import fcntl; c = b'x'\n"
    "for number in (0x5412, 0x541C, 0x15412):\n"
    " try: fcntl.ioctl(0, number, c); print('typed')\n"
    " except OSError as error: print('refused', error.errno)\n"
)


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    yield home
    run_command("runner", "env", "delete-all", "--yes", "--kill", home=home)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that another id may write, on a path that it may walk."""
    folder = tmp_path / "My Web"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "file").write_text("text")
    return folder


def runner(home: Path, *words: str, stdin: bytes = b"", cwd: Path | None = None) -> Done:
    return run_command("runner", *words, home=home, stdin=stdin, cwd=cwd)


def at_terminal(home: Path, *words: str) -> Any:
    env = environment(home, {"TERM": "xterm", "SHELL": "/bin/sh"})
    child = pexpect.spawn(
        str(BIN / "runner"), ["shell", *words], env=env, timeout=120, encoding="utf-8", dimensions=(33, 99)
    )
    child.delaybeforesend = None
    return child


def test_a_command_runs_in_the_folder_and_its_code_and_streams_come_back(home: Path, project: Path) -> None:
    done = runner(home, "shell", str(project), "--", "sh", "-c", "pwd; cat; echo to-err >&2; exit 7", stdin=b"given\n")
    assert (done.code, done.out, done.err) == (7, f"{project}\ngiven\n", "to-err\n")
    here = runner(home, "shell", "--", "cat", "file", cwd=project)
    assert (here.code, here.out) == (0, "text")
    assert runner(home, "shell", str(project), "--", "sh", "-c", "kill -9 $$").code == 137
    late = runner(home, "shell", str(project), "--timeout", "0.2", "--", "sleep", "300")
    assert (late.code, late.err) == (124, "run: killed at the time limit (--timeout)\n")


def test_a_time_limit_at_a_terminal_is_told_too(home: Path, project: Path) -> None:
    child = at_terminal(home, str(project), "--timeout", "0.5", "--", "sleep", "300")
    child.expect(r"killed at the time limit")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 124


@pytest.mark.parametrize("as_json", [False, True])
def test_a_command_whose_environment_was_ended_says_so_and_what_ended_it_too(
    home: Path, project: Path, as_json: bool
) -> None:
    words = [str(BIN / "runner"), "shell", str(project), *(["--json"] if as_json else [])]
    script = ["sh", "-c", "touch up; exec sleep 300"]
    with subprocess.Popen(
        [*words, "--", *script], env=environment(home), stdin=-3, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as child:
        assert until((project / "up").exists)
        stopped = runner(home, "env", "stop", str(project), "--kill", "--json").json["stopped"]
        said = child.communicate(timeout=60)[0].decode()
    assert len(stopped) == 1
    assert (child.returncode, "environment_ended" in said) == (125, True)
    text = "".join(path.read_text() for path in (home / "journal").iterdir() if path.is_file())
    assert '"ran":true' in text


def test_a_reader_that_goes_away_ends_a_command_as_it_ends_any_other(home: Path, project: Path) -> None:
    words = [str(BIN / "runner"), "shell", str(project), "--", "yes"]
    with subprocess.Popen(
        words, env=environment(home), stdin=-3, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"y\n"
        child.stdout.close()
        assert (child.wait(60), child.stderr.read()) == (141, b"")


HELD = {
    "a flood of its own": "exec yes",
    "a flood in the background": "yes & i=0; while :; do echo x >>alive; sleep 0.02; done",
}


@pytest.mark.parametrize("what", HELD)
def test_the_time_limit_holds_for_a_command_whose_reader_takes_nothing(home: Path, project: Path, what: str) -> None:
    words = [str(BIN / "runner"), "shell", str(project), "--timeout", "1", "--", "sh", "-c", HELD[what]]
    with subprocess.Popen(
        words, env=environment(home), stdin=-3, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        try:
            assert until(lambda: child.poll() is not None)
        finally:
            child.kill()
        assert child.stderr is not None
        assert (child.returncode, child.stderr.read()) == (124, b"run: killed at the time limit (--timeout)\n")


def test_what_a_command_leaves_behind_may_write_for_ever(home: Path, project: Path) -> None:
    words = [str(BIN / "runner"), "shell", str(project), "--", "sh", "-c", "setsid yes & sleep 0.5; exit 7"]
    with subprocess.Popen(words, env=environment(home), stdin=-3, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and os.read(child.stdout.fileno(), 4096):
            later(0.001)  # more slowly than it writes
        late = child.poll() is None and not until(lambda: child.poll() is not None, 5)
        child.kill()
    assert (late, child.returncode) == (False, 7)


def test_bytes_that_are_no_text_stand_escaped_in_every_answer(home: Path, tmp_path: Path) -> None:
    project = os.fsencode(tmp_path) + b"/a\xffb"
    os.mkdir(project)
    os.chmod(project, 0o777)
    shown = [
        runner(home, "shell", os.fsdecode(project), "--json", "--", "echo", os.fsdecode(b"\xfe")),
        runner(home, "env", "list", "--json"),
        runner(home, "env", "show", os.fsdecode(project), "--json"),
    ]
    for done in shown:
        assert done.code == 0, done.out
        json.dumps(done.json, ensure_ascii=False).encode()
        assert "a\\\\xffb" in done.out
    assert shown[0].json["argv"] == ["echo", "\\xfe"]


def test_what_could_not_be_run_is_said_by_the_code(home: Path, project: Path) -> None:
    missing = runner(home, "shell", str(project), "--json", "--", "nothere")
    assert (missing.code, missing.json["error_code"]) == (127, "program_not_found")
    assert runner(home, "shell", str(project), "--", "./file").code == 126
    assert runner(home, "shell", str(project / "gone"), "--", "true").code == 2
    assert runner(home, "shell", str(project), "--env", "NOT_SET", "--", "true").code == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's own folder is shown as it is")
def test_an_environment_that_never_stood_is_not_left_behind(home: Path, project: Path) -> None:
    project.chmod(0o755)
    refused = runner(home, "shell", str(project), "--json", "--", "true")
    assert (refused.code, refused.json["error_code"]) == (125, "sandbox_layer_failed")
    assert runner(home, "env", "list", "--json").json["environments"] == []
    project.chmod(0o777)
    assert runner(home, "shell", str(project), "--", "true").code == 0
    runner(home, "env", "stop", str(project))
    project.chmod(0o755)
    assert runner(home, "shell", str(project), "--", "true").code == 125
    assert len(runner(home, "env", "list", "--json").json["environments"]) == 1


def test_json_gives_the_whole_result(home: Path, project: Path) -> None:
    done = runner(home, "shell", str(project), "--json", "--fresh", "--", "echo", "x").json
    assert (done["ok"], done["exit_code"], done["stdout"]) == (True, 0, "x\n")
    assert done["assurance"]["level"] in ("isolated", "bounded")
    assert done["environment"].startswith("my-web-")


def test_environments_are_listed_shown_stopped_and_removed(home: Path, project: Path) -> None:
    assert runner(home, "env", "list", "--json").json["environments"] == []
    runner(home, "shell", str(project), "--", "sh", "-c", "echo kept >~/kept")
    (listed,) = runner(home, "env", "list", "--json").json["environments"]
    name = listed["name"]
    assert (listed["project"], listed["state"], listed["busy"]) == (str(project), "running", False)
    assert name in runner(home, "env", "list").out
    shown = runner(home, "env", "show", str(project), "--json").json
    lines = runner(home, "env", "show", str(project)).out.splitlines()
    assert f"shows       {project} (writable)" in lines
    assert not any("{" in line or "False" in line for line in lines)
    assert (shown["name"], shown["limits"]["processes"]) == (name, 100)
    assert runner(home, "env", "stop", name, "--json").json["stopped"] == [name]
    assert runner(home, "env", "show", name, "--json").json["state"] == "stopped"
    assert "None" not in runner(home, "env", "show", name).out
    assert runner(home, "shell", str(project), "--", "sh", "-c", "cat ~/kept").out == "kept\n"
    unasked = runner(home, "env", "delete", name)
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    assert runner(home, "env", "delete", name, "--yes", "--json").json["removed"] == [name]
    assert (project / "file").read_text() == "text"
    unknown = runner(home, "env", "delete", name, "--yes", "--json")
    assert (unknown.code, unknown.json["error_code"]) == (127, "environment_not_found")
    assert runner(home, "env", "gc", "--idle", "1h", "--json").json["stopped"] == []
    assert runner(home, "env", "gc", "--idle", "soon").code == 2


def test_a_project_that_was_made_anew_keeps_its_home_when_that_is_said(home: Path, project: Path) -> None:
    runner(home, "shell", str(project), "--", "sh", "-c", "echo kept >~/kept")
    project.rename(project.with_name("old"))
    project.mkdir()
    project.chmod(0o777)
    refused = runner(home, "shell", str(project), "--json", "--", "cat", "/etc/passwd")
    assert (refused.code, refused.json["error_code"]) == (125, "project_replaced")
    assert "runner env delete my-web-" in refused.json["hint"]
    assert runner(home, "env", "adopt", str(project), "--json").json["adopted"].startswith("my-web-")
    assert runner(home, "shell", str(project), "--", "sh", "-c", "cat ~/kept").out == "kept\n"


def test_a_misspelt_name_is_answered_with_the_right_one(home: Path, project: Path) -> None:
    runner(home, "shell", str(project), "--", "true")
    (listed,) = runner(home, "env", "list", "--json").json["environments"]
    assert listed["name"] in runner(home, "env", "show", listed["name"][:-2] + "zz").err


def test_what_was_entered_is_in_the_journal(home: Path, project: Path) -> None:
    runner(home, "shell", str(project), "--", "echo", "x")
    text = "".join(path.read_text() for path in (home / "journal").iterdir() if path.is_file())
    assert "environment.command" in text
    assert run_command("skill", "journal", "verify", home=home).code == 0


def test_a_shell_at_a_terminal_has_one_of_its_own(home: Path, project: Path) -> None:
    child = at_terminal(home, str(project))
    child.expect(r"\$ ")
    child.sendline("stty size; ls -l /proc/self/fd/0 | wc -l; echo $HOME")
    child.expect("33 99")
    child.expect(r"/home/my-web-[0-9a-f]{4}\r")
    child.expect(r"\$ ")
    child.setwinsize(40, 120)
    child.sendline("while [ \"$(stty size)\" != '40 120' ]; do :; done; echo re''sized")
    child.expect("resized")
    child.expect(r"\$ ")
    child.sendline("sh -c 'echo sta\"\"rted; exec sleep 300'")
    child.expect("started")
    child.sendintr()
    child.expect(r"\$ ")
    child.sendline("echo code=$?")
    child.expect("code=130")
    child.sendline("exit 5")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 5


def test_nothing_can_be_typed_into_the_terminal_from_inside(home: Path, project: Path) -> None:
    (project / "typing.py").write_text(TYPING)
    child = at_terminal(home, str(project), "--", "python3", "typing.py")
    child.expect(pexpect.EOF)
    child.close()
    words = child.before.split("\r\n")
    assert "typed" not in words
    assert words.count("refused 1") >= 2


def test_two_shells_at_once_are_in_one_place_and_deleting_asks_for_more_than_yes(home: Path, project: Path) -> None:
    child = at_terminal(home, str(project))
    child.expect(r"\$ ")
    child.sendline("echo from-one >/tmp/shared; echo do''ne")
    child.expect("done")
    assert runner(home, "shell", str(project), "--", "cat", "/tmp/shared").out == "from-one\n"
    refused = runner(home, "env", "delete", str(project), "--yes", "--json")
    assert (refused.code, refused.json["error_code"]) == (1, "environment_busy")
    assert runner(home, "env", "delete", str(project), "--yes", "--kill").code == 0
    child.expect("environment_ended")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 125
    assert not list((home / "environments").glob("*/*"))


def test_the_person_s_terminal_is_as_it_was_after_the_shell_was_ended(home: Path, project: Path) -> None:

    child = at_terminal(home, str(project), "--", "sh", "-c", "echo up; exec sleep 300")
    child.expect("up")
    child.kill(15)
    child.expect(pexpect.EOF)
    wanted = termios.ICANON | termios.ECHO
    assert termios.tcgetattr(child.child_fd)[3] & wanted == wanted
    child.close()
    assert child.exitstatus == 137


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_time_limit_that_is_none_is_refused_before_anything_is_made(home: Path, project: Path, seconds: str) -> None:
    done = runner(home, "shell", str(project), "--timeout", seconds, "--", "true")
    assert (done.code, done.err.partition(":")[0]) == (2, "error[bad_policy]")
    assert runner(home, "env", "list", "--json").json["environments"] == []


def test_an_empty_path_is_not_the_present_folder(home: Path, project: Path) -> None:
    done = runner(home, "shell", "", "--json", "--", "true", cwd=project)
    assert (done.code, done.json["error_code"]) == (2, "project_unusable")


def test_an_environment_that_could_not_be_written_down_is_not_left_half_made(home: Path, project: Path) -> None:
    runner(home, "env", "list")
    script = (
        "import resource, signal, sys\n"
        "from skillkeep.errors import SkillkeepError\n"
        "from skillkeep.home import Home\n"
        "from skillkeep.runner.environments.manager import Environments\n"
        "from skillkeep.settings import SandboxSettings\n"
        "import os\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "before = os.listdir('/proc/self/fd')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try: Environments(Home.resolve(os.environ), SandboxSettings()).open(sys.argv[1])\n"
        "except SkillkeepError as error: print(error.code, os.listdir('/proc/self/fd') == before)\n"
    )
    command = [sys.executable, "-P", "-c", script, str(project)]  # not the folder it is called from
    done = subprocess.run(command, env=environment(home), capture_output=True, text=True, check=False)
    assert done.stdout == "io_error True\n", done.stderr
    assert runner(home, "env", "list", "--json").json["environments"] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused a folder of root's")
def test_a_refusal_that_is_no_system_call_has_no_number(home: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "ours").mkdir(mode=0o755)
    done = runner(home, "shell", str(folder), "--json", "--", "true").json
    assert (done["error_code"], done["context"]) == ("sandbox_layer_failed", {"layer": "bind", "backend": "native"})


def test_two_who_remove_every_environment_at_once_both_succeed(home: Path) -> None:
    for number in range(300):
        (home / "environments" / f"web-{number:04x}").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    words = [str(BIN / "runner"), "env", "delete-all", "--yes", "--kill", "--json"]
    both = [subprocess.Popen(words, env=environment(home), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [json.loads(each.communicate()[0]) for each in both]
    assert [each.returncode for each in both] == [0, 0], answers
    assert [path for path in (home / "environments").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("which", ["stdout", "stderr"])
def test_what_is_written_beside_a_pipe_reaches_a_terminal_as_text_alone(home: Path, project: Path, which: str) -> None:
    """With a standard input that is no terminal the command has none of its own, and ours is there all the same."""
    text = r"\033]52;c;aGk=\007caf\303\251\033[2J\303\n\303"
    words = ["shell", str(project), "--", "sh", "-c", f"printf '{text}' >&{1 if which == 'stdout' else 2}"]
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [str(BIN / "runner"), *words],
            env=environment(home),
            stdin=-3,
            timeout=60,
            **{which: theirs},  # type: ignore[call-overload]
        )
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # EIO is the end: the terminal hands on what was written in as many pieces as it likes
            while piece := os.read(ours, 4096):
                shown += piece
    finally:
        os.close(ours)
    assert (done.returncode, shown.decode()) == (0, "\\x1b]52;c;aGk=\\x07café\\x1b[2J\\xc3\r\n\\xc3")

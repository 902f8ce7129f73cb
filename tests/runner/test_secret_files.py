"""A granted variable as a file: readable inside, in no environment, gone afterwards; values are in no text of ours."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import BIN, environment
from support.floors import Floor
from support.vaults import admission_of, make_tool, open_vault, write_files
from support.waiting import until

from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner import secret_files
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend
from skillkeep.runner.native.plan import make_plan
from skillkeep.runner.run import RunOptions, run_tool
from skillkeep.runner.secret_files import as_files
from skillkeep.settings import Settings

SECRET = "hunter2-3f9a"


def test_the_file_is_there_inside_and_nothing_is_left_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_files, "_room", lambda: str(tmp_path))
    policy = SandboxPolicy(env=(("TOKEN", SECRET), ("PLAIN", "x")))
    with as_files(policy, ["TOKEN"]) as shown:
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert shown.env == (("PLAIN", "x"), ("TOKEN_FILE", "/secrets/TOKEN"))
        script = 'cat "$TOKEN_FILE"; env | grep -c hunter2; touch /secrets/TOKEN /secrets/other; ls /secrets'
        result = NativeBackend().run(RunRequest(("sh", "-c", script), shown))
    assert result.stdout.decode().split() == [f"{SECRET}0", "TOKEN"]
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_read_inside_whatever_the_callers_umask_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_files, "_room", lambda: str(tmp_path))
    before = os.umask(0o077)
    try:
        with as_files(SandboxPolicy(env=(("TOKEN", SECRET),)), ["TOKEN"]) as shown:
            (folder,) = tmp_path.iterdir()
            assert [path.stat().st_mode & 0o777 for path in (folder, folder / "TOKEN")] == [0o700, 0o444]
            result = NativeBackend().run(RunRequest(("cat", "/secrets/TOKEN"), shown))
    finally:
        os.umask(before)
    assert result.stdout.decode() == SECRET, result.stderr


def test_what_a_killed_caller_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_files, "_room", lambda: str(tmp_path))
    gone, living = tmp_path / "skillkeep-secrets-4194305-x", tmp_path / f"skillkeep-secrets-{os.getppid()}-x"
    gone.mkdir()
    living.mkdir()
    with as_files(SandboxPolicy(env=(("A", "b"),)), ["A"]):
        assert not gone.exists()
    assert living.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_was_ended(home: Home, tmp_path: Path, number: int) -> None:
    tree = write_files(tmp_path / "tree", {"run.py": "import time; print(1); time.sleep(900)"})
    open_vault(home).admit(replace(admission_of(tree, "tool"), grants=("env:TOKEN",)), tree)
    room = tmp_path / "room"
    room.mkdir(mode=0o700)
    words = [str(BIN / "skill"), "run", "--backend", "native", "--secret-file", "TOKEN", "tool", "run"]
    env = environment(home.root, {"XDG_RUNTIME_DIR": str(room), "TOKEN": SECRET})
    with subprocess.Popen(words, env=env, stdin=-3, stdout=-3, stderr=-3) as runner:
        assert until(lambda: any(room.glob("skillkeep-secrets-*/TOKEN")))
        runner.send_signal(number)
        assert runner.wait(60) == (128 + number if number != signal.SIGKILL else -number)
        assert until(lambda: not any(room.glob("skillkeep-secrets-*")))


@pytest.mark.parametrize("name", ["MISSING", "../A"])
def test_a_name_that_is_not_there_or_no_name_is_refused(name: str) -> None:
    with pytest.raises(RunnerError) as caught, as_files(SandboxPolicy(env=(("A", "b"), ("../A", "c"))), [name]):
        pass
    assert caught.value.code == "bad_policy"


def test_no_text_of_ours_holds_a_value(home: Home) -> None:
    policy = SandboxPolicy(env=(("TOKEN", SECRET),))
    request = RunRequest(("true",), policy, make_tool(home, "tool", {"run.py": "print(1)"}))
    texts = [repr(policy), repr(request), repr(make_plan(request, 1)), str(policy.to_json()), policy.digest]
    assert [text for text in texts if SECRET in text] == []


def test_a_run_keeps_a_secret_out_of_journal_and_record(home: Home, tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"run.py": "print(open('/secrets/TOKEN').read())"})
    vault = open_vault(home)
    tool = vault.admit(replace(admission_of(tree, "tool"), grants=("env:TOKEN",)), tree)
    floor = Floor(home, Settings(), vault, Journal(home.journal))
    policy = SandboxPolicy(env=(("TOKEN", SECRET),), tool_mount="/work")
    options = RunOptions("native", secret_files=("TOKEN",))
    result = run_tool(tool, ("python3", "./run.py"), policy, floor, options)
    assert result.stdout.decode().strip() == SECRET, result.stderr
    kept = [path.read_bytes() for folder in (home.runs, home.journal) for path in folder.rglob("*") if path.is_file()]
    assert len(kept) >= 2
    assert not any(SECRET.encode() in data for data in kept)

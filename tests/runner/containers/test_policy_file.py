"""The file that tells a payload its policy: the same text everywhere, closed to others outside, and gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from skillkeep.runner.containers.policy_file import NAME, named, shown
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native.plan import POLICY_FILE, POLICY_VARIABLE, make_plan, policy_text

POLICY = SandboxPolicy(
    env=(("API_TOKEN", "hunter2"),), binds=(Bind("/srv/out", "/srv/out", writable=True),), egress=("example.com:443",)
)
HOLDS = """
import sys, time
from skillkeep.runner.containers.policy_file import shown
from skillkeep.runner.interface import SandboxPolicy
with shown(SandboxPolicy()) as folder:
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return Path(os.path.realpath(tmp_path))


def test_it_is_the_very_text_of_the_native_sandbox_and_holds_no_value() -> None:
    assert policy_text(POLICY) == make_plan(RunRequest(("true",), POLICY), 0).policy_text
    assert "hunter2" not in policy_text(POLICY)
    assert json.loads(policy_text(POLICY))["env"] == ["API_TOKEN"]


def test_a_granted_variable_of_that_name_does_not_lead_elsewhere() -> None:
    env = (("A", "1"), (POLICY_VARIABLE, "/tmp/other"))
    assert named(env) == (("A", "1"), (POLICY_VARIABLE, POLICY_FILE))


def test_the_folder_holds_nothing_else_lets_only_the_caller_in_and_goes_with_the_block(room: Path) -> None:
    before = os.umask(0o077)
    try:
        with shown(POLICY) as folder:
            path = Path(folder)
            assert os.listdir(folder) == [NAME]
            assert (path / NAME).read_text() == policy_text(POLICY)
            modes = [stat.S_IMODE(each.stat().st_mode) for each in (path / NAME, path, path.parent)]
            assert modes == [0o444, 0o755, 0o700]
            assert path.parent.parent == room
    finally:
        os.umask(before)
    assert os.listdir(room) == []


def test_it_goes_when_the_run_fails(room: Path) -> None:
    with pytest.raises(ValueError, match="broken"), shown(POLICY):
        raise ValueError("broken")
    assert os.listdir(room) == []


def test_what_a_killed_caller_left_is_removed_by_the_next_and_a_living_ones_is_not(room: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        left = Path(child.stdout.readline().strip())
        with shown(POLICY):
            pass
        assert (left / NAME).exists(), "a living caller keeps its file"
        child.send_signal(signal.SIGKILL)
        child.wait(120)
        assert (left / NAME).exists()
        with shown(POLICY) as folder:
            assert os.listdir(room) == [Path(folder).parent.name]
    finally:
        child.kill()
        child.communicate()

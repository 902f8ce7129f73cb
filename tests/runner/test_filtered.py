"""Landlock and seccomp without namespaces: a rung only where it is configured, never for secrets or a network."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support.commands import BIN, environment
from support.sandbox import Who, attackers, python_for, refusing, staged_packages, without_namespaces
from support.vaults import make_tool

from skillkeep.home import Home
from skillkeep.kernel.landlock import abi_or_none
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.filtered.backend import LOSSES, FilteredBackend
from skillkeep.runner.interface import AssuranceLevel, Bind, Cause, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.ladder import LANDLOCK, backend_factories, choose
from skillkeep.settings import SandboxSettings
from skillkeep.vault.interface import Tier

SELFTEST = """
import json
from skillkeep.runner.filtered.backend import FilteredBackend
from skillkeep.runner.selftest.bait import laid_out
from skillkeep.runner.selftest.suite import attack_all
with laid_out() as bait:
    print(json.dumps([row.to_json() for row in attack_all(FilteredBackend(), bait)]))
"""
CHANGES_POLICY = """
import os
place = os.environ["SKILLKEEP_POLICY"]
folder, scratch = os.path.dirname(place), os.environ["HOME"]
print(open(place).read())
for what in (
    lambda: open(place, "a"),
    lambda: os.truncate(place, 0),
    lambda: os.chmod(place, 0o666),
    lambda: os.utime(place),
    lambda: os.unlink(place),
    lambda: os.rename(place, place + "x"),
    lambda: os.link(place, scratch + "/x"),
    lambda: os.execv(place, ["x"]),
    lambda: open(folder + "/new", "w"),
    lambda: os.listdir(folder),
):
    try:
        what()
        print("done")
    except OSError:
        pass
"""
RUNS = """
import sys
from skillkeep.runner.filtered.backend import FilteredBackend
from skillkeep.runner.interface import AssuranceLevel, RunRequest
assert FilteredBackend().run(RunRequest(tuple(sys.argv[1:]), stdin=0, min_assurance=AssuranceLevel.FILTERED)).ok
"""


pytestmark = pytest.mark.skipif(abi_or_none() < 3, reason="Landlock of this kernel does not keep files whole: refused")


def run(*argv: str, stdin: bytes | int | None = None, **policy: Any) -> RunResult:
    return FilteredBackend().run(RunRequest(argv, SandboxPolicy(**policy), None, stdin, AssuranceLevel.FILTERED))


def test_no_attack_of_the_selftest_finds_an_open_door() -> None:
    done = subprocess.run([sys.executable, "-c", SELFTEST], capture_output=True, cwd="/")
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    rows = json.loads(done.stdout)
    assert [(row["attack"], row["seen"]) for row in rows if row["verdict"] == "open"] == []
    assert sum(row["verdict"] == "closed" for row in rows) > 250


def test_it_says_what_holds_and_what_is_lost() -> None:
    held = run("true").assurance
    assert (held.level, held.losses) == (AssuranceLevel.FILTERED, LOSSES)
    assert {layer.name for layer in held.layers if layer.in_force} == {
        *("landlock", "seccomp", "no_new_privs", "capabilities", "rlimits")
    }
    assert held.payload_host_uid == (os.geteuid() or held.payload_host_uid) != 0


def test_only_its_scratch_and_granted_folders_can_be_written() -> None:
    with tempfile.TemporaryDirectory() as folder:  # no folder of pytest's, which keeps other users out
        open_to_all = Path(folder)
        open_to_all.chmod(0o755)
        granted = open_to_all / "granted"
        granted.mkdir()
        granted.chmod(0o777)
        bind = Bind(str(granted), str(granted), writable=True)
        script = f"echo x > {granted}/kept; echo y > $HOME/own && cat $HOME/own; echo z > {open_to_all}/no"
        result = run("sh", "-c", script, binds=(bind,))
        assert result.stdout == b"y\n"
        assert os.listdir(open_to_all) == ["granted"]
        assert os.listdir(granted) == ["kept"]


@pytest.mark.parametrize("policy", [{"egress": ("example.invalid:443",)}, {"env": (("TOKEN", "x"),)}])
def test_a_run_with_a_secret_or_a_network_grant_is_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(RunnerError) as caught:
        run("true", **policy)
    assert caught.value.code == "assurance_too_low"


def test_it_is_a_rung_only_where_the_settings_have_it() -> None:
    usual = backend_factories(SandboxSettings())
    assert LANDLOCK not in usual
    with pytest.raises(RunnerError) as caught:
        choose(LANDLOCK, Tier.UNKNOWN, None, usual)
    assert caught.value.code == "unknown_backend"
    configured = backend_factories(SandboxSettings(landlock=True))
    assert choose(LANDLOCK, Tier.UNKNOWN, None, configured).backend.name == LANDLOCK
    with pytest.raises(RunnerError) as caught:
        choose(LANDLOCK, Tier.UNKNOWN, AssuranceLevel.ISOLATED, configured)
    assert caught.value.code == "assurance_too_low"


def test_the_ladder_comes_to_it_last_and_says_what_was_passed_over() -> None:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from skillkeep.runner.filtered.backend import FilteredBackend\n"
        "from skillkeep.runner.native import NativeBackend\n"
        "print(json.dumps([NativeBackend().probe().available, FilteredBackend().probe().to_json()]))"
    )
    done = without_namespaces([sys.executable, "-I", "-c", code, str(staged_packages())], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    native, filtered = json.loads(done.stdout)
    assert native is False
    # Nobody but the caller's own id exists there, and that one is 0: root without another id to give has no sandbox.
    assert filtered["available"] is False
    assert "user_map" in filtered["reason"]


@pytest.mark.parametrize(
    ("call", "layer"),
    [
        ("landlock_restrict_self", "landlock"),
        ("seccomp", "seccomp"),
        ("prctl", "capabilities"),
        ("capset", "capabilities"),
    ],
)
def test_a_layer_that_fails_refuses_the_run_and_is_named(call: str, layer: str) -> None:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from skillkeep.runner.filtered.backend import FilteredBackend\n"
        "print(json.dumps(FilteredBackend().probe().to_json()))"
    )
    done = refusing({call: 1}, [sys.executable, "-I", "-c", code, str(staged_packages())], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    state = json.loads(done.stdout)
    assert state["available"] is False
    named = layer if os.geteuid() == 0 or call != "prctl" else "death_signal"
    assert f"layer {named} failed" in state["reason"], state


def test_the_program_has_no_way_to_the_one_that_started_it() -> None:
    code = "import os\nfor fd in range(3, 64):\n    try: os.fstat(fd); print(fd)\n    except OSError: pass"
    assert run("python3", "-I", "-c", code).stdout == b""


def test_time_and_output_are_bounded_and_a_missing_program_has_its_code() -> None:
    assert run("sh", "-c", "sleep 60 & sleep 60", wall_seconds=0.5).cause is Cause.TIMEOUT
    assert run("sh", "-c", "yes", output_bytes=1000).cause is Cause.OUTPUT_CAP
    with pytest.raises(RunnerError) as caught:
        run("no-such-program")
    assert caught.value.code == "program_not_found"


def test_a_vaulted_tool_runs_in_its_own_folder(home: Home) -> None:
    tool = make_tool(home, "tool", {"run.py": "print('hello', open('data').read())", "data": "data"})
    request = RunRequest(
        ("python3", "./run.py"), SandboxPolicy(tool_mount="/work"), tool, None, AssuranceLevel.FILTERED
    )
    result = FilteredBackend().run(request)
    assert (result.stdout, result.exit_code) == (b"hello data\n", 0), result.stderr


@pytest.mark.parametrize("who", attackers(), ids=lambda who: who.name)
def test_the_payload_finds_its_policy_and_cannot_change_it(who: Who) -> None:
    """Nobody's payload has the caller's own id, and so owns the file."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from skillkeep.runner.filtered.backend import FilteredBackend\n"
        "from skillkeep.runner.interface import AssuranceLevel, RunRequest, SandboxPolicy\n"
        "request = RunRequest(('python3', '-I', '-c', sys.argv[2]), SandboxPolicy(processes=33), None, None,\n"
        "                     AssuranceLevel.FILTERED)\n"
        "print(FilteredBackend().run(request).stdout.decode())"
    )
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(staged_packages(), folder, dirs_exist_ok=True)
        command = [python_for(who.uid), "-I", "-c", code, folder, CHANGES_POLICY]
        done = subprocess.run(command, capture_output=True, cwd="/", user=who.uid, group=who.uid)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    told = json.loads(done.stdout)  # and nothing was done after it
    assert (told["schema"], told["processes"], told["env"]) == ("skillkeep/policy-v1", 33, [])


def test_the_policy_says_where_the_tool_really_is(home: Home) -> None:
    tool = make_tool(home, "tool", {"SKILL.md": "# x\n"})
    request = RunRequest(
        ("sh", "-c", 'pwd; cat "$SKILLKEEP_POLICY"'),
        SandboxPolicy(tool_mount="/work"),
        tool,
        None,
        AssuranceLevel.FILTERED,
    )
    place, _, text = FilteredBackend().run(request).stdout.decode().partition("\n")
    assert json.loads(text)["tool_mount"] == place != "/work"


def test_nothing_of_a_run_is_left_not_even_by_a_killed_caller() -> None:
    with tempfile.TemporaryDirectory() as folder:  # no folder of pytest's, which keeps other users out
        os.chmod(folder, 0o711)
        environment = {**os.environ, "TMPDIR": folder}
        waits = [sys.executable, "-c", RUNS, "sh", "-c", "echo x > $HOME/f; cat > /dev/null"]
        ended = [sys.executable, "-c", RUNS, "true"]
        child = subprocess.Popen(waits, env=environment, stdin=subprocess.PIPE)
        try:
            assert child.stdin is not None
            child.stdin.write(bytes(1 << 20))  # more than a pipe holds: the payload reads
            child.stdin.flush()
            (left,) = os.listdir(folder)
            subprocess.run(ended, env=environment, check=True, input=b"")
            assert os.listdir(folder) == [left], "a living caller keeps its folder"
            child.send_signal(signal.SIGKILL)
            child.wait(120)
            assert os.path.exists(f"{folder}/{left}/policy.json")
            subprocess.run(ended, env=environment, check=True, input=b"")
            assert os.listdir(folder) == []
        finally:
            child.kill()
            child.communicate()


def test_a_terminal_or_a_writable_descriptor_is_not_passed_on() -> None:
    master, terminal = os.openpty()
    try:
        with pytest.raises(RunnerError) as caught:
            run("cat", stdin=terminal)
        assert caught.value.code == "bad_policy"
    finally:
        os.close(master)
        os.close(terminal)
    assert run("cat", stdin=b"given").stdout == b"given"


def test_a_callers_pipe_stays_as_it_is() -> None:
    """A mode set on a shared descriptor would be the caller's as well, and so would the size of its pipe."""
    reading, writing = os.pipe()
    code = (
        "import fcntl, os, sys\nos.set_blocking(0, False)\n"
        "try: fcntl.fcntl(0, 1031, 4096)\nexcept PermissionError: print('refused')\nprint(os.read(0, 9))"
    )
    try:
        os.write(writing, b"given")
        assert run("python3", "-I", "-c", code, stdin=reading).stdout == b"refused\nb'given'\n"
        assert os.get_blocking(reading)
    finally:
        os.close(reading)
        os.close(writing)


def test_attributes_of_files_are_not_told_by_their_path(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.write_text("x")
    code = (
        "import errno, os, sys\nfor follow in (True, False):\n"
        "  for what in (os.getxattr, os.listxattr):\n"
        "    try: what(*[sys.argv[1], 'user.a'][: 1 + (what is os.getxattr)], follow_symlinks=follow); print('told')\n"
        "    except OSError as error: print(errno.errorcode[error.errno])"
    )
    assert run("python3", "-I", "-c", code, str(hidden)).stdout == b"EPERM\n" * 4
    assert run("sh", "-c", "ls -l /usr/bin/env && cp /usr/bin/env copy && test -s copy").ok


def test_processor_time_is_bounded_by_cores_that_nobody_inside_can_change() -> None:
    """Only a machine that had nothing else to do showed it: two processes of a run had a core each."""
    code = (
        "import os\nprint(len(os.sched_getaffinity(0)))\n"
        "try: os.sched_setaffinity(0, range(64)); print('changed')\n"
        "except PermissionError: print('refused')"
    )
    assert run("python3", "-I", "-c", code, cpus=0.5).stdout == b"1\nrefused\n"


@pytest.mark.parametrize("redirected", ["</dev/null", "0<>/dev/null", "<&-"])
def test_no_input_of_a_caller_that_has_none_is_an_empty_one(home: Home, redirected: str) -> None:
    make_tool(home, "mine", {"cat.sh": "cat; echo done\n"}, Tier.LOCAL)
    (home.root / "config.toml").write_text("[sandbox]\nlandlock = true\n")
    command = f"{BIN}/skill run --backend landlock mine cat {redirected}"
    done = subprocess.run(["sh", "-c", command], env=environment(home.root), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr

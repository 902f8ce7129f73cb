"""Killed at any instruction, out of disk, or two at once: the vault is in the old state or the new one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.vaults import make_tool, open_vault, write_files

from skillkeep.home import Home
from skillkeep.vault.interface import Tier

CHILD = str(Path(__file__).with_name("crash_child.py"))
STEP = 18


def run_child(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, CHILD, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("first", range(1, 1 + STEP, STEP // 2))
def test_killed_at_any_line_the_vault_holds_the_old_state_or_the_new(home: Home, tmp_path: Path, first: int) -> None:
    """An update is killed at every STEP-th executed line of our code; afterwards the same update succeeds."""
    make_tool(home, "demo", {"version": "old", "gone/x": "1"})
    tree = write_files(tmp_path / "tree", {"version": "new", "bin/run.sh": "#!/bin/sh\n"})
    seen = json.loads(run_child("sweep", home.root, tree, STEP, first))
    assert set(seen) == {"old", "new"}
    assert seen["old"] > 20
    assert seen["new"] > 5


def test_killed_at_random_moments_the_vault_verifies_after_the_next_start(home: Home) -> None:
    make_tool(home, "demo", {"version": "v-first"})
    chance = random.Random(20261121)
    for _ in range(20):
        child = subprocess.Popen([sys.executable, CHILD, "loop", str(home.root)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=chance.uniform(0, 0.12))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        vault = open_vault(home)
        vault.recover()
        assert vault.verify() == []
        assert os.listdir(vault.layout.staging) == []
        assert {version.digest.removeprefix("sha256:") for version in vault.versions("demo")} <= set(
            os.listdir(vault.layout.objects)
        )
        vault._journal.append("test.next_start")  # the first line after a crash mends a cut tail
        vault._journal.verify()


ADMIT_MANY = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.vaults import open_vault, admission_of
from skillkeep.home import Home
from skillkeep.errors import SkillkeepError
home, tree, limit, name = Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
vault, admission = open_vault(Home(home)), admission_of(tree, name)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    print("in", vault.admit(admission, tree).digest)
except SkillkeepError as error:
    print(error.code, bool(error.hint))
"""


def admit_in_child(home: Home, tree: Path, limit: int = 0, name: str = "demo") -> subprocess.Popen[str]:
    tests = str(Path(__file__).resolve().parents[1])
    command = [sys.executable, "-c", ADMIT_MANY, tests, str(home.root), str(tree), str(limit), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(child: subprocess.Popen[str]) -> str:
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err[-2000:]
    return out.strip()


@pytest.mark.parametrize("limit", [100, 5_000, 60_000, 90_000, 120_000])
def test_a_file_that_cannot_be_written_in_full_leaves_nothing(home: Home, tmp_path: Path, limit: int) -> None:
    """The limit bites at different steps: the copy, the manifest, the registry's log, the journal."""
    make_tool(home, "first", {"a": "1"})
    objects = set(os.listdir(home.vault / "objects"))
    tree = write_files(tmp_path / "tree", {f"f{n}": os.urandom(50_000) for n in range(3)})
    said = answer(admit_in_child(home, tree, limit))
    vault = open_vault(home)
    if said.startswith("in"):
        assert limit > 50_000
        assert [record.name for record in vault.list()] == ["demo", "first"]
    else:
        assert said == "io_error True"
        assert [record.name for record in vault.list()] == ["first"]
        assert set(os.listdir(vault.layout.objects)) == objects
    vault.recover()
    assert os.listdir(vault.layout.staging) == []
    assert vault.verify() == []


FULL_DISK = """
set -e
mount -t tmpfs -o size=1m,mode=700 none "$1"
exec "$2" -c "$3" "$4" "$1/home" "$5" 0 demo
"""


def on_a_disk_of_one_megabyte(tmp_path: Path, script: str, tree: Path) -> list[str]:
    """The lines that the Python `script` prints, run in a mount namespace with a small disk of its own."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("user and mount namespaces are not available")
    disk = tmp_path / "disk"
    disk.mkdir()
    tests = str(Path(__file__).resolve().parents[1])
    shell = ["sh", "-c", FULL_DISK, "sh", str(disk), sys.executable, script, tests, str(tree)]
    done = subprocess.run(["unshare", "-rm", *shell], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {f"f{n}": os.urandom(300_000) for n in range(6)})
    check = (
        "import os\n"
        "print(os.listdir(home / 'vetted_vault' / 'objects'), os.listdir(home / 'vetted_vault' / '.staging'))\n"
        "print(vault.list(), vault.verify())\n"
    )
    assert on_a_disk_of_one_megabyte(tmp_path, ADMIT_MANY + check, tree) == ["io_error True", "[] []", "[] []"]


FILL_AND_RECOVER = """
import os
left = vault.layout.staging / ("e" * 64 + ".0123") / "object"
left.mkdir(parents=True)
try:
    (left / "big").write_bytes(bytes(2_000_000))
except OSError as error:
    print(error.strerror)
vault.recover()
print(os.listdir(vault.layout.staging), vault.verify())
"""


def test_what_a_killed_process_left_on_a_full_disk_can_be_removed(tmp_path: Path) -> None:
    """Then not even the registry can be opened before there is some room."""
    tree = write_files(tmp_path / "tree", {"a": "1"})
    said = on_a_disk_of_one_megabyte(tmp_path, ADMIT_MANY + FILL_AND_RECOVER, tree)
    assert said[0].startswith("in sha256:")
    assert said[1:] == ["No space left on device", "[] []"]


def test_many_processes_vault_different_tools_at_once(home: Home, tmp_path: Path) -> None:
    trees = [write_files(tmp_path / f"tree{n}", {"a": str(n)}) for n in range(6)]
    children = [admit_in_child(home, tree, name=f"tool{n}") for n, tree in enumerate(trees)]
    assert all(answer(child).startswith("in sha256:") for child in children)
    vault = open_vault(home)
    assert [record.name for record in vault.list()] == [f"tool{n}" for n in range(6)]
    assert vault.verify() == []


def test_many_processes_vault_the_same_tool_at_once(home: Home, tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"a": "x" * 100_000})
    children = [admit_in_child(home, tree) for _ in range(6)]
    assert len({answer(child) for child in children}) == 1
    vault = open_vault(home)
    assert len(vault.history("demo")) == 1
    assert len(os.listdir(vault.layout.objects)) == 1
    assert vault.verify() == []


def test_many_processes_update_one_name_at_once(home: Home, tmp_path: Path) -> None:
    trees = [write_files(tmp_path / f"tree{n}", {"a": str(n)}) for n in range(6)]
    children = [admit_in_child(home, tree) for tree in trees]
    digests = {answer(child).removeprefix("in ") for child in children}
    vault = open_vault(home)
    assert len(digests) == 6
    assert {version.digest for version in vault.versions("demo")} == digests
    assert vault.open("demo").digest == vault.history("demo")[-1].digest
    assert vault.verify() == []


def test_recovery_leaves_the_work_of_a_living_process_alone(home: Home) -> None:
    vault = open_vault(home)
    make_tool(home, "demo", {"a": "1"})
    work = vault.layout.staging / f"{'a' * 64}.busy"
    work.mkdir()
    holder = subprocess.Popen(
        ["flock", str(vault.layout.lock), "sh", "-c", "echo held; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    vault.recover()
    assert work.exists()
    holder.communicate(b"\n")
    vault.recover()
    assert not work.exists()
    assert vault.lookup(vault.open("demo").digest, Tier.UNKNOWN)

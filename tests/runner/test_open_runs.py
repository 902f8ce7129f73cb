"""A tool that leaves no room on the disk has its end recorded all the same, and a run that was cut off is told of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import BIN, environment, run_command
from support.dryruns import project_for
from support.waiting import until

from skillkeep.files import remove_tree
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.native import NativeBackend

NATIVE = NativeBackend().probe()
pytestmark = pytest.mark.skipif(not NATIVE.available, reason=f"no native sandbox: {NATIVE.reason}")
KERNEL = tuple(int(part) for part in os.uname().release.split(".")[:2])
FILL = (
    "i=0; while (echo x > $0/f$i); do i=$((i+1)); done; cat /dev/zero >> $0/f1; (echo x > $0/fill); echo said; exit 7"
)
SMALL = """
cp -a "$0" "$1" && mount -t tmpfs -o "$2" small "$0" && cp -a "$1/." "$0" || exit 1
skill run --no-stdin --json $3 tool -- sh -c "$4" "$0/project"
echo "$?"
rm -r "$0/project"/f*
ls -A "$0/home/open_runs"
cp -a "$0/home" "$1/after"
"""


@pytest.fixture
def home() -> Iterator[Home]:
    """In a short path of its own that any sandbox may enter."""
    folder = Path(tempfile.mkdtemp(prefix="skillkeep-open-"))
    try:
        yield Home(folder / "all" / "home").ensure()
    finally:
        remove_tree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("bounds", ["size=24m", "size=24m,nr_inodes=400"])
def test_a_tool_that_fills_the_disk_does_not_keep_its_end_out_of_the_journal(home: Home, bounds: str) -> None:
    project = project_for(home, {"a": "x"})
    project.root.chmod(0o777)
    top, aside = home.root.parent, home.root.parent.parent / "aside"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SMALL, str(top), str(aside), bounds, "--quiet", FILL],
        env={**environment(home.root), "PATH": f"{BIN}:{os.environ['PATH']}"}, capture_output=True, text=True,
    )  # fmt: skip
    answer, *rest = done.stdout.splitlines()
    result = json.loads(answer)
    assert rest == ["7", ".lock"], done.stderr
    assert (result["stdout"], result["exit_code"], result["unrecorded"]) == ("said\n", 7, [])
    assert len(result["stderr"].splitlines()) == 3  # no file, no byte, no file
    assert "cat: write error: No space left on device" in result["stderr"]
    after = Home(aside / "after")
    journal = Journal(after.journal)
    journal.verify()
    assert [line.event for line in journal.read() if line.event.startswith("run.")] == ["run.start", "run.end"]
    assert json.loads((after.runs / result["run_id"] / "run.json").read_text())["result"]["exit_code"] == 7


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.skipif(KERNEL < (6, 3), reason="a memory file system has no id-mapped mounts before Linux 6.3")
def test_changes_for_which_the_disk_has_no_room_are_lost_and_the_output_is_not(home: Home) -> None:
    project = project_for(home, {"fa": "x"})
    top, aside = home.root.parent, home.root.parent.parent / "aside"
    code = "head -c 20000000 /dev/zero > $0/big; echo said"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SMALL, str(top), str(aside), "size=8m", "--dry-run", code],
        env={**environment(home.root), "PATH": f"{BIN}:{os.environ['PATH']}"}, capture_output=True, text=True,
    )  # fmt: skip
    answer, *rest = done.stdout.splitlines()
    result = json.loads(answer)
    assert rest == ["125", ".lock"], done.stderr
    assert (result["stdout"], result["exit_code"], result["dry_run"]["state"]) == ("said\n", 0, "lost")
    (said,) = result["unrecorded"]
    assert said.startswith("changes are lost: ")
    assert "No space left" in said
    assert said in done.stderr
    assert str(project.root) in result["dry_run"]["folders"][0]["difference"]["lines"][0]
    assert result["dry_run"]["folders"][0]["difference"]["truncated"]
    events = [line.event for line in Journal(aside / "after" / "journal").read()]
    assert events[-3:] == ["run.start", "run.end", "dryrun.collected"]


def test_the_next_run_says_that_one_was_cut_off(home: Home) -> None:
    project = project_for(home, {"a": "x"})
    project.root.chmod(0o777)
    words = [str(BIN / "skill"), "run", "--no-stdin", "tool", "--", "sleep", "60"]
    child = subprocess.Popen(words, env=environment(home.root))
    try:
        assert until(lambda: any(line.event == "run.start" for line in Journal(home.journal).read()))
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    (started,) = [line.facts["run_id"] for line in Journal(home.journal).read() if line.event == "run.start"]
    done = run_command("skill", "run", "tool", "--", "true", home=home.root)
    assert done.code == 0
    assert f"the earlier run {started} was cut off: nobody saw its end" in done.err
    told = [
        (line.event, line.facts["run_id"] == started)
        for line in Journal(home.journal).read()
        if line.event.startswith("run.")
    ]
    assert told == [("run.start", True), ("run.unended", True), ("run.start", False), ("run.end", False)]
    assert "cut off" not in run_command("skill", "run", "tool", "--", "true", home=home.root).err

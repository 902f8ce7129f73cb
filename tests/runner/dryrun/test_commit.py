"""A commit makes exactly the changes that were shown, each whole or not at all, and never anywhere else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.dryruns import Project, picture, project_for

from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.dryrun.change import DryRun
from skillkeep.runner.dryrun.commit import spare_name
from skillkeep.runner.dryrun.run import commit, drop
from skillkeep.runner.dryrun.store import DryRuns
from skillkeep.runner.errors import RunnerError

FILES = {"a": "one\n", "b": "two\n", "d/x": "x\n", "d/sub/y": "y\n", "e/f": "f\n", "bin": b"\0\1"}
WORK = (
    "rm a; echo three >> b; chmod 700 bin; rm -r d; echo file > d; mkdir -p n/m; echo n > n/m/f; ln -s ../b n/l;"
    "mv e e2; mkdir a; echo in > a/in; chmod 500 n/m"
)


def collected(home: Home, code: str = WORK) -> tuple[Project, DryRun]:
    project = project_for(home, FILES)
    result, run = project.run(code)
    assert result.ok, result.stderr
    return project, run


def test_after_a_commit_the_project_is_what_the_tool_left(home: Home) -> None:
    project, run = collected(home)
    twin = project_for(Home(home.root.parent / "twin" / "home").ensure(), FILES)
    subprocess.run(["sh", "-c", f"umask 022; {WORK}"], cwd=twin.root, check=True)
    done = project.commit(run)
    assert done.refused == ()
    assert done.done == len(run.folders[0].changes)
    assert picture(project.root) == picture(twin.root)
    assert DryRuns(home).waiting() == ()


def test_what_is_committed_belongs_to_who_owned_it_before(home: Home) -> None:
    project, run = collected(home)
    if os.geteuid() == 0:
        for path in (project.root, *project.root.rglob("*")):
            os.chown(path, 1234, 1235)
        owner = (1234, 1235)
        _, run = project.run(WORK)
    else:
        owner = (os.geteuid(), os.getegid())
    assert project.commit(run).refused == ()
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in project.root.rglob("*")} == {owner}


def test_a_dropped_dry_run_leaves_nothing(home: Home) -> None:
    project, run = collected(home)
    before = picture(project.root)
    drop(run, project.floor)
    assert picture(project.root) == before
    assert os.listdir(home.root / "dry_runs") == [".lock"]
    with pytest.raises(RunnerError) as caught:
        commit(run, project.floor)
    assert caught.value.code == "no_dry_run"


@pytest.mark.parametrize(
    ("meddle", "stays"),
    [
        (lambda root: (root / "b").write_text("mine\n"), "b"),
        (lambda root: (root / "b").unlink(), "b"),
        (lambda root: ((root / "b").unlink(), (root / "b").symlink_to("/etc/hostname")), "b"),
        (lambda root: os.utime(root / "b"), "b"),
        (lambda root: (root / "a").write_text("mine\n"), "a"),
        (lambda root: (root / "n").write_text("mine\n"), "n"),
        (lambda root: (root / "n").symlink_to("/tmp"), "n"),
        (lambda root: (root / "d" / "more").write_text("mine\n"), "d"),
        (lambda root: (root / "bin").chmod(0o640), "bin"),
    ],
)
def test_what_changed_meanwhile_is_refused_and_the_rest_is_done(home: Home, meddle: object, stays: str) -> None:
    project, run = collected(home)
    meddle(project.root)  # type: ignore[operator]
    before = picture(project.root).get(stays)
    done = project.commit(run)
    assert stays in {refusal.change.path for refusal in done.refused}
    assert picture(project.root).get(stays) == before
    assert (project.root / "e2" / "f").read_text() == "f\n"
    assert done.left is not None
    kept = DryRuns(home).load(run.id)
    assert {change.path for change in kept.folders[0].changes} == {refusal.change.path for refusal in done.refused}
    assert not [name for name in os.listdir(project.root) if name.startswith(".skillkeep")]


def test_a_change_from_during_the_run_is_never_committed(home: Home) -> None:
    project = project_for(home, FILES)
    meddled = project.meddled(lambda: (project.root / "b").write_text("by somebody else\n"))
    _, run = meddled.run("echo tool > b; echo tool > a")
    done = project.commit(run)
    assert [refusal.change.path for refusal in done.refused] == ["b"]
    assert (project.root / "b").read_text() == "by somebody else\n"
    assert (project.root / "a").read_text() == "tool\n"


def test_a_folder_that_has_become_a_link_leads_nowhere(home: Home) -> None:
    project, run = collected(home, "echo new > e/f; echo new > e/g; rm d/x")
    outside = home.root.parent / "outside"
    outside.mkdir()
    (outside / "f").write_text("f\n")
    (outside / "x").write_text("x\n")
    for name in ("e", "d"):
        (project.root / name).rename(project.root / f"{name}.was")
        (project.root / name).symlink_to(outside)
    done = project.commit(run)
    assert len(done.refused) == 3
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"f": "f\n", "x": "x\n"}


def test_another_folder_in_the_place_of_the_project_is_not_touched(home: Home) -> None:
    project, run = collected(home)
    project.root.rename(project.root.with_name("was"))
    project.root.mkdir()
    (project.root / "a").write_text("one\n")
    done = project.commit(run)
    assert len(done.refused) == len(run.folders[0].changes)
    assert os.listdir(project.root) == ["a"]


def test_paths_of_a_record_that_lead_out_are_refused(home: Home) -> None:
    project, run = collected(home, "echo new > b")
    record = home.root / "dry_runs" / run.id / "record.json"
    outside = home.root.parent / "outside"
    outside.write_text("two\n")
    for path in ("../outside", "/etc/hostname", "d/../../outside", "", ".", "d//x", "d/\0x"):
        data = json.loads(record.read_text())
        data["folders"][0]["changes"][0]["path"] = path
        record.write_text(json.dumps(data))
        done = project.commit(run)
        assert len(done.refused) == 1, path
    assert outside.read_text() == "two\n"


def test_stored_contents_that_were_changed_are_not_committed(home: Home) -> None:
    project, run = collected(home, "echo new > b")
    blob = next((home.root / "dry_runs" / run.id / "0").iterdir())
    blob.write_text("other\n")
    done = project.commit(run)
    assert [refusal.why for refusal in done.refused] == ["its stored content is damaged"]
    assert (project.root / "b").read_text() == "two\n"


def test_two_cannot_commit_at_once(home: Home) -> None:
    project, run = collected(home)
    with DryRuns(home).locked(run), pytest.raises(RunnerError) as caught:
        commit(run, project.floor)
    assert caught.value.code == "dry_run_busy"


def test_attributes_that_the_project_gave_a_file_stay(home: Home) -> None:
    project, run = collected(home, "true")
    try:
        os.setxattr(project.root / "b", "user.note", b"mine")
    except OSError as error:
        pytest.skip(f"no user attributes on this file system: {error}")
    _, run = project.run("echo new > b")
    assert project.commit(run).refused == ()
    assert os.getxattr(project.root / "b", "user.note") == b"mine"


@pytest.mark.parametrize(
    "code", ["chmod 777 in", "chmod 777 in; echo more >> in", "rm in; echo new > in; chmod 777 in"]
)
def test_a_file_that_has_another_name_outside_stays_as_it_is_there(home: Home, code: str) -> None:
    outside = home.root.parent / "outside"
    outside.write_text("out\n")
    outside.chmod(0o640)
    project = project_for(home, {"own": "own\n"})
    os.link(outside, project.root / "in")
    _, run = project.run(code)
    done = project.commit(run)
    assert (done.done, done.refused) == (1, ())
    assert (project.root / "in").stat().st_mode & 0o777 == 0o777
    state = outside.stat()
    assert (state.st_mode & 0o777, state.st_nlink, outside.read_text()) == (0o640, 1, "out\n")
    assert os.listdir(project.root) != ["in"]
    assert not [name for name in os.listdir(project.root) if name.startswith(".skillkeep")]


def test_a_name_that_was_added_after_the_run_keeps_its_mode(home: Home) -> None:
    project, run = collected(home, "chmod 700 bin")
    os.link(project.root / "bin", home.root.parent / "later")
    project.commit(run)
    assert (home.root.parent / "later").stat().st_mode & 0o777 == 0o644


def test_a_half_done_step_of_a_killed_commit_is_finished_by_the_next(home: Home) -> None:
    project, run = collected(home, "rm a; echo new > b; echo new > c")
    root = project.root
    spare = {name: root / spare_name(run.id, name) for name in ("a", "b", "c")}
    (root / "a").rename(spare["a"])  # moved aside, not yet removed
    spare["b"].write_text("new\n")  # exchanged, the old one not yet removed
    os.rename(root / "b", root / "b.old")
    os.rename(spare["b"], root / "b")
    os.rename(root / "b.old", spare["b"])
    spare["c"].write_text("ne")  # half written
    assert project.commit(run).refused == ()
    assert {path.name: path.read_text() for path in root.iterdir() if path.is_file() and path.name != "bin"} == {
        "b": "new\n",
        "c": "new\n",
    }


def test_a_drop_after_a_killed_commit_brings_back_what_was_moved_aside(home: Home) -> None:
    project, run = collected(home, "rm a; echo new > c")
    (project.root / "a").rename(project.root / spare_name(run.id, "a"))
    (project.root / spare_name(run.id, "c")).write_text("ne")
    drop(run, project.floor)
    assert (project.root / "a").read_text() == "one\n"
    assert not [name for name in os.listdir(project.root) if name.startswith(".skillkeep")]


KILLED = """
import os, signal, sys
from pathlib import Path
from skillkeep.home import Home
from skillkeep.runner.dryrun import beneath, commit, steps as each
from skillkeep.runner.dryrun.store import DryRuns
home, identity, last = Home(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
steps = 0
def counted(call):
    def step(*words, **options):
        global steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*words, **options)
    return step
for name in ("unlink", "rmdir", "mkdir", "open", "symlink", "chmod", "fchmod", "write"):
    setattr(os, name, counted(getattr(os, name)))
each.exchange, each.move_new = counted(beneath.exchange), counted(beneath.move_new)
run = DryRuns(home).load(identity)
for number, folder in enumerate(run.folders):
    commit.commit_folder(folder, DryRuns(home).blobs(run, number), run.id)
"""


def test_killed_at_any_step_every_file_is_old_or_new_and_the_next_commit_finishes(home: Home) -> None:
    for last in range(5, 300, 11):
        one = Home(home.root.parent / f"{last}" / "home").ensure()
        project, run = collected(one)
        old, wanted = picture(project.root), {c.path: c.after for c in run.folders[0].changes}
        done = subprocess.run([sys.executable, "-c", KILLED, str(one.root), run.id, str(last)], capture_output=True)
        if done.returncode == 0:
            assert last > 30
            return
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        for path, seen in picture(project.root).items():
            if not Path(path).name.startswith(".skillkeep") and path not in wanted:
                assert seen == old[path]
        assert project.commit(run).refused == ()
        assert list(project.root.rglob(".skillkeep*")) == []
        assert (project.root / "d").read_text() == "file\n"
        assert (project.root / "b").read_text() == "two\nthree\n"
    pytest.fail("the commit takes more steps than this test knows")


def test_what_happened_is_in_the_journal(home: Home) -> None:
    project, run = collected(home)
    project.commit(run)
    kinds = [line.event for line in Journal(home.journal).read()]
    assert kinds[-3:] == ["dryrun.collected", "dryrun.commit", "dryrun.committed"]

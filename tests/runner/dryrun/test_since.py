"""What changes in the project while the tool runs stays as it is, whatever its own times say."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.dryruns import Project, picture, project_for

from skillkeep.home import Home
from skillkeep.runner.dryrun import collect as collecting
from skillkeep.runner.dryrun.change import DryRun
from skillkeep.runner.dryrun.since import Since, tick

FILES = {"build/o": "old\n", "build/in/p": "old\n", "conf/x": "one\n", "conf.new/x": "two\n", "lib/deep/y": "y\n"}


def run_while(home: Home, meddle: Callable[[Path], object], code: str) -> tuple[Project, DryRun]:
    """A run of `code`, and somebody who does something in the project right after it began."""
    project = project_for(home, FILES)
    moved_in = home.root.parent / "precious"
    (moved_in / "in").mkdir(parents=True)
    (moved_in / "thesis").write_text("years\n")
    (moved_in / "in" / "p").write_text("more\n")
    result, run = project.meddled(lambda: meddle(project.root)).run(code)
    assert result.ok, result.stderr
    return project, run


def names(run: DryRun, *, conflict: bool) -> set[str]:
    return {change.path for change in run.folders[0].changes if change.conflict == conflict}


def into(target: str) -> Callable[[Path], object]:
    return lambda root: (root.parent / "precious").rename(root / target)


def exchange(root: Path) -> None:
    (root / "conf").rename(root / "conf.old")
    (root / "conf.new").rename(root / "conf")


@pytest.mark.parametrize("target", ["build/precious", "build/in/precious"])
def test_a_folder_that_was_moved_into_a_deleted_one_is_neither_planned_nor_deleted(home: Home, target: str) -> None:
    project, run = run_while(home, into(target), "rm -r build")
    assert target in names(run, conflict=True)
    assert not any(change.path.startswith(f"{target}/") for change in run.folders[0].changes)
    assert (target, False) in {(remark.path, remark.refused) for remark in run.folders[0].remarks}
    done = project.commit(run)
    assert target in {refusal.change.path for refusal in done.refused}
    assert (project.root / target / "thesis").read_text() == "years\n"
    assert (project.root / target / "in" / "p").read_text() == "more\n"
    assert not (project.root / "build" / "o").exists()


@pytest.mark.parametrize(
    "code", ["echo tool >> conf/x", "rm conf/x", "rm -r conf", "rm -r conf; mkdir conf; echo 1 > conf/z"]
)
def test_nothing_in_a_folder_that_took_the_place_of_another_is_touched(home: Home, code: str) -> None:
    project, run = run_while(home, exchange, code)
    assert names(run, conflict=False) == set()
    before = picture(project.root)
    assert len(project.commit(run).refused) == len(run.folders[0].changes) > 0
    assert picture(project.root) == before


def test_what_a_folder_of_the_tool_would_hide_is_not_deleted_when_it_was_put_there_meanwhile(home: Home) -> None:
    project, run = run_while(home, into("out"), "rm -rf out; mkdir out; echo made > out/made")
    assert names(run, conflict=False) == set()
    project.commit(run)
    assert sorted(os.listdir(project.root / "out")) == ["in", "thesis"]


def test_a_file_of_old_that_was_renamed_over_another_is_a_conflict(home: Home) -> None:
    _, run = run_while(home, lambda root: (root / "conf.new" / "x").rename(root / "conf" / "x"), "echo tool >> conf/x")
    assert names(run, conflict=True) == {"conf/x"}


def test_a_file_that_somebody_adds_beside_hinders_nothing_and_is_kept(home: Home) -> None:
    project, run = run_while(
        home, lambda root: (root / "lib" / "deep" / "new").write_text("mine\n"), "echo tool > lib/deep/y; rm -r build"
    )
    assert names(run, conflict=True) == set()
    assert project.commit(run).refused == ()
    assert (project.root / "lib" / "deep" / "y").read_text() == "tool\n"
    assert (project.root / "lib" / "deep" / "new").read_text() == "mine\n"


def test_where_a_folder_and_the_one_around_it_changed_it_counts_as_moved(home: Home) -> None:
    def add(root: Path) -> None:
        (root / "lib" / "new").write_text("mine\n")
        (root / "lib" / "deep" / "new").write_text("mine\n")

    _, run = run_while(home, add, "echo tool > lib/deep/y; echo tool > lib/z; echo tool > conf/x")
    assert (names(run, conflict=True), names(run, conflict=False)) == ({"lib/deep/y"}, {"lib/z", "conf/x"})
    assert [remark.path for remark in run.folders[0].remarks] == ["lib/deep"]


def test_a_folders_mode_that_somebody_changes_meanwhile_stays(home: Home) -> None:
    project, run = run_while(home, lambda root: (root / "conf").chmod(0o750), "chmod 777 conf; echo tool > conf/x")
    assert names(run, conflict=True) == {"conf"}
    project.commit(run)
    assert (project.root / "conf").stat().st_mode & 0o777 == 0o750


def test_a_project_that_is_another_folder_after_the_run_is_not_compared(home: Home) -> None:
    def replace(root: Path) -> None:
        root.rename(root.with_name("was"))
        root.with_name("precious").rename(root)

    project, run = run_while(home, replace, "rm -rf thesis in; echo x > new")
    assert run.lost
    assert run.folders[0].remarks[0].text.endswith("another folder stands there now")
    assert sorted(os.listdir(project.root)) == ["in", "thesis"]


@pytest.mark.parametrize("late", ["a look at the name", "the opening of the folder"])
@pytest.mark.parametrize("opaque", [False, True])
def test_a_folder_that_is_exchanged_while_the_changes_are_collected_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str, opaque: bool
) -> None:
    upper, project, blobs = (tmp_path / name for name in ("upper", "project", "blobs"))
    for path in (upper / "conf", project / "conf", project / "conf.new", blobs):
        path.mkdir(parents=True)
    for path in (upper / "conf" / "x", project / "conf" / "x", project / "conf.new" / "x", project / "conf.new" / "y"):
        path.write_text(str(path))
    if opaque:
        os.unlink(upper / "conf" / "x")
        os.rmdir(upper / "conf")
        (upper / "conf").write_text("a file in the place of a folder")
    since = Since.now(str(project), tick())
    real_stat, real_open = collecting._stat_at, collecting.open_below

    def stat_at(folder: int, name: str) -> os.stat_result | None:
        if name == "conf" and late == "a look at the name" and not (project / "conf.old").exists():
            exchange(project)
        return real_stat(folder, name)

    def open_below(root: int, path: str, *flags: int) -> int:
        if path == "conf" and late != "a look at the name" and not (project / "conf.old").exists():
            exchange(project)
        return real_open(root, path, *flags)

    monkeypatch.setattr(collecting, "_stat_at", stat_at)
    monkeypatch.setattr(collecting, "open_below", open_below)
    fd = os.open(upper, os.O_RDONLY)
    try:
        found = collecting.collect(fd, str(project), blobs, since, collecting.Limits(1000))
    finally:
        os.close(fd)
    assert (project / "conf.old").exists()
    gone = [change for change in found.changes if change.after is None or change.path == "conf/x"]
    assert [(change.path, change.conflict) for change in gone] == [("conf" if opaque else "conf/x", True)]


def test_what_was_changed_before_a_run_is_none_of_its_conflicts(home: Home) -> None:
    project = project_for(home, FILES)
    for number in range(20):
        (project.root / "conf" / "x").write_text(f"{number}\n")
        began = tick()
        assert (project.root / "conf" / "x").stat().st_ctime_ns < began
        (project.root / "conf" / "x").chmod(0o600 + number % 2 * 0o44)
        assert (project.root / "conf" / "x").stat().st_ctime_ns >= began

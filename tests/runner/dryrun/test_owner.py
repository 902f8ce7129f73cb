"""Root commits in a folder of a user, whose processes may rename at any moment: nothing of root's is given away."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.dryruns import Project, project_for

from skillkeep.home import Home
from skillkeep.kernel.libc import syscall
from skillkeep.runner.dryrun import commit as committing
from skillkeep.runner.dryrun.beneath import exchange
from skillkeep.runner.dryrun.owner import made_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give anything away")
USER, GROUP = 1234, 1235
SECRET = "only root reads this\n"


@pytest.fixture
def project(home: Home) -> Project:
    """A folder of a user, with a file and a folder of root's in it."""
    made = project_for(home, {"keep": "k\n", "link": "l\n", "secret": SECRET, "private/f": SECRET})
    for name in ("", "keep", "link"):
        os.chown(made.root / name, USER, GROUP)
    (made.root / "secret").chmod(0o600)
    (made.root / "private").chmod(0o700)
    return made


def swapping(call: Callable[..., Any], other: str) -> Callable[..., Any]:
    """`call`, and a process of the user that is quick: what was made changes places with `other`."""

    def swapped(*words: Any, **options: Any) -> Any:
        answer = call(*words, **options)
        name = words[1] if len(words) > 1 and isinstance(words[1], str) else words[0]
        exchange(options.get("dir_fd", words[0]), name, other)
        return answer

    return swapped


def of_root(root: Path) -> dict[str, tuple[str, int, int]]:
    """What root's file and folder are, by inode: they may have another name by now."""
    found = {}
    for path in root.iterdir():
        state = path.lstat()
        if stat.S_ISREG(state.st_mode) and path.read_text() == SECRET:
            found["secret"] = "file", state.st_uid, stat.S_IMODE(state.st_mode)
        if stat.S_ISDIR(state.st_mode) and (path / "f").exists():
            found["private"] = "folder", state.st_uid, stat.S_IMODE(state.st_mode)
    return found


KEPT = {"secret": ("file", 0, 0o600), "private": ("folder", 0, 0o700)}


@pytest.mark.parametrize("other", ["secret", "private"])
@pytest.mark.parametrize(("call", "code"), [("mkdir", "mkdir -m 777 new"), ("symlink", "ln -s keep new")])
def test_what_takes_the_place_of_something_just_made_stays_roots(
    project: Project, monkeypatch: pytest.MonkeyPatch, call: str, code: str, other: str
) -> None:
    result, run = project.run(code)
    assert result.ok, result.stderr
    with monkeypatch.context() as patched:
        patched.setattr(os, call, swapping(getattr(os, call), other))
        project.commit(run)
    assert of_root(project.root) == KEPT


def test_a_folder_gets_its_mode_only_if_it_is_the_one_that_was_made(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = project.run("mkdir -m 777 new")
    monkeypatch.setattr(committing, "add_folder", swapping(committing.add_folder, "private"))
    done = project.commit(run)
    assert [refusal.why for refusal in done.refused] == ["another folder stands there now"]
    assert done.done == 0
    assert of_root(project.root) == KEPT


def test_a_folder_that_stands_there_already_is_not_taken_over_from_root(project: Project) -> None:
    _, run = project.run("mkdir -m 777 new")
    (project.root / "private").rename(project.root / "new")
    assert [refusal.why for refusal in project.commit(run).refused] == ["another folder stands there now"]
    assert of_root(project.root) == KEPT


def test_everything_that_is_made_belongs_to_the_owner_of_its_folder_at_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = []

    def watched(call: Callable[..., Any], at: int) -> Callable[..., Any]:
        def made(*words: Any, **options: Any) -> None:
            call(*words, **options)
            state = os.stat(words[at], dir_fd=options["dir_fd"], follow_symlinks=False)
            owners.append((state.st_uid, state.st_gid))

        return made

    _, run = project.run("mkdir -p n/m; echo f > n/m/f; ln -s keep one; rm link; ln -s keep link; echo new >> keep")
    with monkeypatch.context() as patched:
        patched.setattr(os, "mkdir", watched(os.mkdir, 0))
        patched.setattr(os, "symlink", watched(os.symlink, 1))
        assert project.commit(run).refused == ()
    assert owners == [(USER, GROUP)] * 4
    paths = [project.root / name for name in ("n", "n/m", "n/m/f", "one", "link", "keep")]
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in paths} == {(USER, GROUP)}


def test_a_file_keeps_its_owner_in_a_folder_of_somebody_else(project: Project) -> None:
    os.chown(project.root, 0, 0)
    os.chown(project.root / "secret", 0, 0)
    _, run = project.run("echo new > keep; echo new > made; ln -s keep one")
    assert project.commit(run).refused == ()
    owners = {name: (project.root / name).lstat().st_uid for name in ("keep", "made", "one")}
    assert owners == {"keep": USER, "made": 0, "one": 0}


def test_after_it_this_thread_is_root_again_and_as_it_was(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    os.chown(tmp_path, USER, GROUP)

    def settings() -> list[int]:
        return [syscall("test", "setfsuid", -1), syscall("test", "setfsgid", -1), syscall("test", "prctl", 3)]

    before = settings()
    with made_for(tmp_path.stat()):
        assert settings()[:2] == [USER, GROUP]
        with pytest.raises(PermissionError):
            os.chown(tmp_path, 0, 0)
    assert settings() == before
    os.chown(tmp_path, 0, 0)

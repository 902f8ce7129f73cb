"""Folders for one task: closed to others, gone afterwards, and after a kill with the next such task."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from skillkeep.auditor.target import as_tree
from skillkeep.errors import SkillkeepError
from skillkeep.scratch import hold, scratch, sweep

HOLDS = """
import sys, time
from pathlib import Path
from skillkeep.auditor.target import as_tree
with as_tree(Path(sys.argv[1]), 100) as folder:
    print(folder, flush=True)
    time.sleep(600)
"""


def test_it_is_closed_to_others_and_goes_with_the_block_whatever_is_in_it(tmp_path: Path) -> None:
    with scratch("task", str(tmp_path)) as folder:
        assert (folder.parent, stat.S_IMODE(folder.stat().st_mode)) == (tmp_path.resolve(), 0o700)
        (folder / "closed").mkdir()
        (folder / "closed" / "file").touch()
        (folder / "closed").chmod(0)
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="broken"), scratch("task", str(tmp_path)):
        raise ValueError("broken")
    assert os.listdir(tmp_path) == []


def test_where_none_can_be_made_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(SkillkeepError, match="folder for the task") as caught, scratch("task", str(tmp_path / "none")):
        pass
    assert caught.value.code == "io_error"


def test_the_copy_of_a_killed_audit_goes_with_the_next_and_a_living_ones_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = tmp_path / "page.md"
    page.write_text("# Page\n")
    there = {**os.environ, "TMPDIR": str(tmp_path)}
    child = subprocess.Popen([sys.executable, "-c", HOLDS, page], stdout=subprocess.PIPE, text=True, env=there)
    try:
        assert child.stdout is not None
        left = Path(child.stdout.readline().strip())
        with as_tree(page, 100):
            pass
        assert (left / "page.md").exists(), "a living one keeps its copy"
        child.kill()
        child.wait(120)
        assert (left / "page.md").exists()
        with as_tree(page, 100) as folder:
            assert sorted(os.listdir(tmp_path)) == sorted(["page.md", folder.name])
    finally:
        child.kill()
        child.communicate()


def test_a_folder_that_a_sweep_took_is_not_held(tmp_path: Path) -> None:
    gone, kept = tmp_path / "run-gone", tmp_path / "run-kept"
    gone.mkdir()
    kept.mkdir()
    lock = hold(str(kept))
    assert lock is not None
    try:
        sweep(str(tmp_path), "run-")
        assert os.listdir(tmp_path) == ["run-kept"]
        assert hold(str(gone)) is None
    finally:
        os.close(lock)


def test_a_sweep_follows_no_link(tmp_path: Path) -> None:
    aim, left = tmp_path / "aim", tmp_path / "run-left"
    for folder in (aim, left):
        folder.mkdir()
        (folder / "file").touch()
    (tmp_path / "run-link").symlink_to(aim)
    sweep(str(tmp_path), "run-")
    assert sorted(os.listdir(tmp_path)) == ["aim", "run-link"]
    assert os.listdir(aim) == ["file"]

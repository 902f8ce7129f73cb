"""Writes are whole or not there, removal follows no link, locks exclude."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillkeep.errors import SkillkeepError
from skillkeep.files import FileLock, io_error, remove_tree, write_atomic


def test_an_atomic_write_replaces_the_whole_file_with_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(target, b"one")
    write_atomic(target, b"two", mode=0o644)
    assert target.read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "file"
    with pytest.raises(SkillkeepError) as caught:
        write_atomic(target, b"x")
    assert (caught.value.code, caught.value.context["path"]) == ("io_error", str(target))


def test_a_write_that_finds_no_room_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from skillkeep.errors import SkillkeepError\n"
        "from skillkeep.files import write_atomic\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try: write_atomic(Path(sys.argv[1]), b'x' * 100)\n"
        "except SkillkeepError as error: print(error.code)\n"
    )
    target = tmp_path / "file"
    target.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", script, target], capture_output=True, text=True, check=True)
    assert done.stdout == "io_error\n"
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_removal_spares_what_links_point_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_bytes(b"")
    doomed = tmp_path / "doomed"
    (doomed / "sub").mkdir(parents=True)
    (doomed / "sub" / "link").symlink_to(outside)
    (doomed / "link").symlink_to(outside)
    remove_tree(doomed)
    assert not doomed.exists()
    assert (outside / "keep").exists()
    remove_tree(doomed)


def test_removing_a_link_removes_only_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    remove_tree(tmp_path / "link")
    assert (tmp_path / "real").is_dir()
    assert not (tmp_path / "link").is_symlink()


def test_a_read_only_tree_is_removed(tmp_path: Path) -> None:
    sub = tmp_path / "doomed" / "sub"
    sub.mkdir(parents=True)
    (sub / "file").write_bytes(b"")
    (sub / "file").chmod(0o444)
    sub.chmod(0o555)
    (tmp_path / "doomed").chmod(0o000)
    remove_tree(tmp_path / "doomed")
    assert not (tmp_path / "doomed").exists()


def test_a_tree_deeper_than_open_files_or_path_length_is_removed(tmp_path: Path) -> None:
    (tmp_path / "doomed").mkdir()
    fd = os.open(tmp_path / "doomed", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    remove_tree(tmp_path / "doomed")
    assert not (tmp_path / "doomed").exists()


def test_several_who_remove_the_same_tree_at_once_all_succeed(tmp_path: Path) -> None:
    for number in range(20):
        doomed = tmp_path / f"doomed{number}"
        for folder in ("a/b/c/d", "e/f", "g"):
            (doomed / folder).mkdir(parents=True)
            for name in range(10):
                (doomed / folder / str(name)).write_bytes(b"")
        with ThreadPoolExecutor(4) as several:
            assert list(several.map(remove_tree, [doomed] * 4)) == [None] * 4
        assert not doomed.exists()


def test_a_held_lock_is_not_given_twice_and_dies_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    script = (
        "import sys\nfrom pathlib import Path\nfrom skillkeep.files import FileLock\n"
        "FileLock(Path(sys.argv[1])).acquire(); print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout
    assert holder.stdin
    assert holder.stdout.readline() == b"held\n"
    assert not FileLock(path).acquire(wait=False)
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    with FileLock(path) as lock:
        assert not FileLock(path).acquire(wait=False)
    assert lock.acquire(wait=False)
    lock.release()


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SkillkeepError) as caught:
        FileLock(tmp_path / "lock").acquire()
    assert caught.value.code == "io_error"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("number", "word"), [(errno.ENOSPC, "space"), (errno.EROFS, "SKILLKEEP_HOME"), (errno.EACCES, "Check")]
)
def test_a_refusal_of_the_system_says_what_would_help(number: int, word: str) -> None:
    assert word in io_error("write", OSError(number, os.strerror(number))).hint

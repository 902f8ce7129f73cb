"""The view of an untrusted tree never follows a link, keeps to its limits and says what it left out."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from skillkeep.errors import SkillkeepError
from skillkeep.tree import EntryKind, TreeLimits, TreeView, UnreadReason


def test_every_kind_of_entry_is_seen_as_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        with TreeView.open(tmp_path) as view:
            kinds = {entry.path: entry.kind for entry in view.entries}
    assert kinds == {
        "fifo": EntryKind.FIFO,
        "file": EntryKind.FILE,
        "folder": EntryKind.FOLDER,
        "link": EntryKind.LINK,
        "socket": EntryKind.SOCKET,
    }


@pytest.mark.parametrize("path", ["link", "folder-link/inner", "../secret", "/etc/passwd", "a/../file", "", "file\0"])
def test_a_read_never_leaves_the_tree(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "inner").write_bytes(b"x")
    (root / "file").write_bytes(b"x")
    (root / "link").symlink_to("../secret")
    (root / "folder-link").symlink_to("folder")
    with TreeView.open(root) as view, pytest.raises(SkillkeepError) as caught:
        view.read(path)
    assert caught.value.code in {"unsafe_path", "io_error"}


def test_a_folder_swapped_for_a_link_after_the_walk_is_not_entered(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "inner").write_bytes(b"host secret")
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "inner").write_bytes(b"tool")
    with TreeView.open(root) as view:
        assert view.read("folder/inner") == b"tool"
        (root / "folder").rename(root / "moved")
        (root / "folder").symlink_to(outside)
        with pytest.raises(SkillkeepError):
            view.read("folder/inner")


def test_reading_a_fifo_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with TreeView.open(tmp_path) as view, pytest.raises(SkillkeepError) as caught:
        view.read("fifo")
    assert caught.value.context["reason"] == "not a regular file"


def test_the_root_itself_may_not_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for path in (tmp_path / "link", tmp_path / "missing", Path("nul\0")):
        with pytest.raises(SkillkeepError) as caught:
            TreeView.open(path)
        assert caught.value.code == "not_a_tree"


def test_too_many_entries_stop_the_walk_and_are_reported(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}").write_bytes(b"")
    with TreeView.open(tmp_path, TreeLimits(entries=10)) as view:
        assert len(view.entries) == 10
        assert {item.reason for item in view.unread} == {UnreadReason.TOO_MANY}


def test_a_large_file_is_listed_reported_and_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(1 << 40)
    with TreeView.open(tmp_path) as view:
        assert [(item.path, item.reason) for item in view.unread] == [
            ("huge", UnreadReason.TOO_LARGE),
            ("huge", UnreadReason.TOO_MUCH),
        ]
        with pytest.raises(SkillkeepError) as caught:
            view.read("huge")
    assert caught.value.code == "limit_exceeded"


def test_a_deep_tree_is_cut_at_the_limit(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(20):
        deep = deep / "d"
    deep.mkdir(parents=True)
    with TreeView.open(tmp_path, TreeLimits(depth=5)) as view:
        assert len(view.entries) == 5
        assert [item.reason for item in view.unread] == [UnreadReason.TOO_DEEP]


def test_a_walk_out_of_time_stops_and_says_so(tmp_path: Path) -> None:
    class Late:
        def __init__(self) -> None:
            self.calls = 0.0

        def now(self) -> object:
            raise AssertionError

        def monotonic(self) -> float:
            self.calls += 1.0
            return self.calls

    for name in "abcdef":
        (tmp_path / name).write_bytes(b"")
    with TreeView.open(tmp_path, TreeLimits(seconds=3.0), clock=Late()) as view:  # type: ignore[arg-type]
        assert 0 < len(view.entries) < 6
        assert view.unread[0].reason is UnreadReason.TOO_SLOW


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe\n\x1b")
    (tmp_path / name).write_bytes(b"x")
    with TreeView.open(tmp_path) as view:
        assert view.read(name) == b"x"

"""What `--output` names: files are replaced whole, and nothing else is ever replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from skillkeep.cli.destination import require_destination, write_destination
from skillkeep.errors import SkillkeepError


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "report"
    target.write_bytes(b"a longer old report")
    write_destination(target, b"new")
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["report"]


def test_a_fifo_is_given_the_bytes_and_stays_a_fifo(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()), daemon=True)
    reader.start()
    write_destination(fifo, b"report")
    reader.join(10)
    assert read == [b"report"]
    assert stat.S_ISFIFO(os.lstat(fifo).st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a device file")
def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "full"
    os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    with pytest.raises(SkillkeepError) as caught:
        write_destination(device, b"report")
    assert caught.value.code == "io_error"
    assert stat.S_ISCHR(os.lstat(device).st_mode)
    assert os.listdir(tmp_path) == ["full"]


@pytest.mark.parametrize("behind", ["file", "nothing"])
def test_a_link_is_neither_followed_nor_replaced(tmp_path: Path, behind: str) -> None:
    (tmp_path / "file").write_bytes(b"somebody's")
    link = tmp_path / "link"
    link.symlink_to(behind)
    for refuse in (require_destination, lambda path: write_destination(path, b"report")):
        with pytest.raises(SkillkeepError) as caught:
            refuse(link)
        assert caught.value.code == "usage"
    assert link.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"somebody's"


def test_a_folder_is_named_in_the_refusal() -> None:
    with pytest.raises(SkillkeepError) as caught:
        require_destination(Path())
    assert caught.value.message.startswith("cannot write .: ")

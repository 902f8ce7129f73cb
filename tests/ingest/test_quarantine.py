"""The quarantine: private, and gone whatever happens."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.commands import BIN, environment
from support.git_server import raw_server
from support.hostile import write_files

from skillkeep.home import Home
from skillkeep.ingest.quarantine import Quarantine, sweep
from skillkeep.journal import Journal

HOLD = """
import sys
from pathlib import Path
from skillkeep.home import Home
from skillkeep.ingest.quarantine import Quarantine
with Quarantine(Home(Path(sys.argv[1]))) as quarantine:
    (quarantine.work / "tree").mkdir()
    print(quarantine.root.name, flush=True)
    sys.stdin.read()
"""


def folders(home: Home) -> list[str]:
    return [name for name in os.listdir(home.quarantine) if name != ".lock"]


def test_it_is_private_and_removed_with_everything_in_it(home: Home) -> None:
    with Quarantine(home) as quarantine:
        assert stat.S_IMODE(quarantine.root.stat().st_mode) == 0o700
        write_files(quarantine.work, {"a/b/c": b"x"})
        (quarantine.work / "a" / "b").chmod(0o500)
        (quarantine.work / "link").symlink_to("/etc")
        os.mkfifo(quarantine.work / "fifo")
    assert folders(home) == []


def test_it_is_removed_when_the_work_fails(home: Home) -> None:
    with pytest.raises(KeyboardInterrupt), Quarantine(home):
        raise KeyboardInterrupt
    assert folders(home) == []


def test_the_next_start_removes_what_a_killed_owner_left_and_nothing_else(home: Home) -> None:
    journal = Journal(home.journal)
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdin
    assert owner.stdout
    with owner, Quarantine(home) as mine:
        name = owner.stdout.readline().strip()
        assert sweep(home, journal) == []
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        assert sweep(home, journal) == [name]
        assert folders(home) == [mine.root.name]
    assert [line.event for line in journal.read()] == ["quarantine.swept"]


def test_a_link_in_the_quarantine_is_removed_and_its_target_left_alone(home: Home, tmp_path: Path) -> None:
    victim = write_files(tmp_path / "victim", {"keep": b"x"})
    (home.quarantine / "link").symlink_to(victim)
    (home.quarantine / "file").write_bytes(b"x")
    assert sweep(home, Journal(home.journal)) == ["file", "link"]
    assert (victim / "keep").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_told_to_end_leaves_nothing(home: Home, number: signal.Signals) -> None:
    arrived = threading.Event()

    def take_and_wait(connection: socket.socket, ending: threading.Event) -> None:
        connection.recv(65536)
        arrived.set()
        ending.wait()

    with raw_server(take_and_wait) as url:
        child = subprocess.Popen(
            [str(BIN / "skill"), "ingest", f"{url}/x.git"],
            env=environment(home.root),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert arrived.wait(120)
        assert len(folders(home)) == 1
        child.send_signal(number)
        assert child.wait(120) == 128 + number
    assert folders(home) == []

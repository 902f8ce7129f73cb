"""Where pipes and sockets may be made, and that none is left in a folder of the host's, wherever that lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.sandbox import Bench

from skillkeep.runner.native.plan import HOME, SHARED, scratch_beside

_TRY = """
import os, socket, sys, tempfile
from multiprocessing.connection import Listener
def attempt(what, path):
    try:
        what(path)
        print("done")
    except OSError as error:
        print(error.strerror)
def bind(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)
folder = sys.argv[1]
attempt(os.mkfifo, folder + "/pipe")
attempt(bind, folder + "/socket")
attempt(os.mkfifo, tempfile.gettempdir() + "/pipe")
attempt(lambda path: os.rename(tempfile.gettempdir() + "/pipe", path), folder + "/pipe")
attempt(lambda path: os.rename(os.path.dirname(folder), path), tempfile.gettempdir() + "/moved")
attempt(os.mkfifo, "/dev/shm/pipe")
open(folder + "/file", "w").close()
Listener(None, "AF_UNIX").close()
"""


@pytest.fixture(name="grant")
def _grant(bench: Bench) -> Path:
    """A folder that both can write, as deep below /tmp as a project may lie there."""
    folder = bench.folder / "projects" / "web"
    folder.mkdir(parents=True)
    if bench.who.uid is not None:
        os.chown(folder.parent, bench.who.uid, bench.who.uid)
        os.chown(folder, bench.who.uid, bench.who.uid)
    folder.chmod(0o777)
    return folder


def test_a_grant_below_tmp_is_left_neither_pipes_nor_sockets_and_programs_have_theirs_at_home(
    bench: Bench, grant: Path
) -> None:
    if not grant.is_relative_to("/tmp"):
        pytest.skip("folders of tests do not lie below /tmp here")
    bind = {"source": str(grant), "target": str(grant), "writable": True}
    result = bench.inside(_TRY, grant, binds=[bind])
    refused = ["Permission denied", "Permission denied", "done", "Invalid cross-device link"]
    assert result["stdout"].splitlines()[:4] == refused, result
    assert result["stdout"].splitlines()[4] in ("Invalid cross-device link", "Operation not permitted"), result
    assert (result["stdout"].splitlines()[5:], result["exit_code"]) == (["done"], 0), result
    assert os.listdir(grant) == ["file"]


@pytest.mark.parametrize(
    ("targets", "scratch"),
    [
        ((), "/tmp"),
        (("/data", "/tmpfoo"), "/tmp"),
        (("/data", "/tmp/a"), HOME),
        (("/tmp/homes/a",), HOME),
        (("/tmp/home/a",), SHARED),
    ],
)
def test_programs_are_told_where_they_may_make_them(targets: tuple[str, ...], scratch: str) -> None:
    assert scratch_beside(targets) == scratch

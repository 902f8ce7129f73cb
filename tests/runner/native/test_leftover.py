"""What runs leave behind is closed, many at a time, and never by a fork in its parent's place."""

from __future__ import annotations

import os

import pytest

from skillkeep.runner.native import leftover
from skillkeep.runner.native.streams import Streams


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@pytest.fixture(autouse=True)
def _nothing_left() -> None:
    leftover.close_all()


def test_few_stay_open_and_many_do_not() -> None:
    few = [os.dup(0) for _ in range(3)]
    leftover.leave(few)
    leftover.close_many()
    assert all(map(is_open, few))
    many = [os.dup(0) for _ in range(120)]
    leftover.leave(many)
    leftover.close_many()
    assert not any(map(is_open, few + many))


def test_a_fork_holds_no_end_of_a_pipe_of_its_parent() -> None:
    streams = Streams()
    child = os.fork()
    if not child:
        os._exit(7 if not any(map(is_open, (*streams.theirs, streams.out, streams.err))) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    streams.close_stdin()
    streams.close_outputs()
    assert os.read(streams.out, 1) == b""
    streams.close()

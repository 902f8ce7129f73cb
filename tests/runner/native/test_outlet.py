"""What is passed on to the caller's own descriptors waits for nobody, and leaves them as they are."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
import tty
from collections.abc import Callable, Iterator

import pytest

from skillkeep.runner.native.outlet import Outlet

DATA = bytes(range(256)) * 4096


@pytest.fixture(name="ends", params=["pipe", "pipe of an older kernel", "terminal"])
def _ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    ends = os.openpty() if request.param == "terminal" else os.pipe()
    if request.param == "terminal":
        tty.setraw(ends[1])
    if request.param == "pipe of an older kernel":
        monkeypatch.setattr(os, "pwritev", _unknown)
    yield ends
    for fd in ends:
        with contextlib.suppress(OSError):
            os.close(fd)


def _unknown(*_: object) -> int:
    raise OSError(errno.EOPNOTSUPP, "Operation not supported")


def in_time(call: Callable[[], object], reader: int) -> bool:
    """Whether `call` comes back; else what it waits for is read, so that the test ends."""
    other = threading.Thread(target=call)
    other.start()
    other.join(20)
    well = not other.is_alive()
    while other.is_alive():
        os.read(reader, 1 << 16)
    return well


def test_what_is_not_taken_waits_and_the_descriptor_still_blocks(ends: tuple[int, int]) -> None:
    outlet = Outlet(ends[1])
    assert in_time(lambda: outlet.put(DATA), ends[0])
    assert (outlet.is_full, os.get_blocking(ends[1])) == (True, True)
    assert not outlet.finish(time.monotonic() + 0.1)
    outlet.put(b"more")
    seen = bytearray()
    while outlet.is_full:
        seen += os.read(ends[0], 1 << 16)
        outlet.go_on()
    while len(seen) < len(DATA) + 4:
        seen += os.read(ends[0], 1 << 16)
    assert bytes(seen) == DATA + b"more"


def test_all_is_written_while_somebody_reads(ends: tuple[int, int]) -> None:
    outlet = Outlet(ends[1])
    outlet.put(DATA)
    seen = bytearray()

    def read() -> None:
        while len(seen) < len(DATA):
            seen.extend(os.read(ends[0], 1 << 16))

    other = threading.Thread(target=read)
    other.start()
    assert outlet.finish(time.monotonic() + 60)
    other.join(60)
    assert bytes(seen) == DATA


def test_what_waits_is_dropped_when_nobody_reads_any_more() -> None:
    reader, writer = os.pipe()
    outlet = Outlet(writer)
    outlet.put(DATA)
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        outlet.go_on()
    assert not outlet.is_full
    os.close(writer)

"""A terminal that shows slowly, or nothing at all, holds up neither the time limit nor a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support.waiting import later, until

FLOODED = """
import os, signal, subprocess, sys, time
from skillkeep.runner.native.terminal import Terminal
class Ending:
    def __init__(self, child):
        self.child, self.pidfd = child, os.pidfd_open(child.pid)
    def kill(self):
        self.child.kill()
ours, theirs = os.openpty()
terminal = Terminal(theirs, theirs)
with terminal.pair() as pair:
    child = subprocess.Popen(["yes"], stdin=pair.theirs, stdout=pair.theirs, stderr=pair.theirs)
    pair.give()
    started = time.monotonic()
    print(child.pid, flush=True)
    in_time = terminal.join(pair, Ending(child), started + float(sys.argv[1]))
    print(in_time, child.wait(), os.get_blocking(theirs), flush=True)
"""


@pytest.mark.parametrize("seconds", [1.0, 1e6])
def test_a_flood_at_a_terminal_that_takes_nothing_ends_at_the_limit_and_by_a_signal(seconds: float) -> None:
    words = [sys.executable, "-c", FLOODED, str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as runner:
        assert runner.stdout is not None
        flood = int(runner.stdout.readline())
        try:
            if seconds > 1:
                later(0.5)  # more than it takes to fill both terminals
                runner.send_signal(signal.SIGTERM)
            assert until(lambda: runner.poll() is not None)
        finally:
            if runner.poll() is None:
                runner.kill()
                os.kill(flood, signal.SIGKILL)
        assert runner.stdout.read().split() == [str(seconds > 1), "-9", "True"]

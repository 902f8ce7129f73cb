"""One call that waits in its room for its words: what leads to it, and what was measured of it."""

from __future__ import annotations

import contextlib
import os
import socket
import struct

from skillkeep.kernel.id_maps import IdMap
from skillkeep.runner.environments.standing import Standing
from skillkeep.runner.interface import Assurance
from skillkeep.runner.native.attest import Ahead, mark_as_first_to_go, measure
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.identity import Identity
from skillkeep.runner.native.streams import Pipe
from skillkeep.runner.warm.ending import Seen, Watch

__all__ = ["FAILED", "REPORT", "Slot"]

REPORT = struct.Struct("=QqqddQ")
"""What pid 1 of a call tells: a kind, two numbers, seconds of CPU of the user and the system, bytes (see `zygote`)."""
FAILED = 1
_OWN_OF_A_CALL = ("mnt", "pid", "ipc")


class Slot:
    """`talk` leads to the call, on `report` its end is told; `number` counts the interpreter's calls from 0.

    It is measured in two parts, as a sandbox of the fork server that waits for its run: what it can never get back when
    it begins to wait (`look`), the rest and that it is still that process when its run has come (`measured`). With the
    first part it gets its streams, of which `feed`, `out` and `err` are this side.
    """

    def __init__(self, talk: socket.socket, report: socket.socket, number: int) -> None:
        self.talk, self.report, self.number = talk, report, number
        self._ahead: Ahead | None = None
        self._watch: Watch | None = None
        self.seen: Seen | None = None
        self._pid = -1
        self._pipes: list[Pipe] = []
        self.feed = self.out = self.err = -1

    @property
    def looked_at(self) -> bool:
        """Whether the first part was measured."""
        return self._ahead is not None

    def look(self, pid: int, standing: Standing) -> None:
        """Measure the waiting process `pid`, which is confined. Raises LayerError, KernelError, OSError."""
        identity = Identity(IdMap((), ()), standing.host_uid, standing.host_gid, standing.as_root)
        self._pid = pid
        self._ahead = Ahead(standing.plan, pid, identity, standing.bounded_by, noticed=False, rooted=True)
        self._identity = identity
        mark_as_first_to_go(pid)
        with contextlib.suppress(OSError):  # without CONFIG_PROC_CHILDREN its end is waited for
            self._watch = Watch(pid)
        self._assurance = self._measured(standing)
        self._give_streams()

    def _give_streams(self) -> None:
        self._pipes = [Pipe() for _ in ("feed", "out", "err")]
        feed, out, err = self._pipes
        self.feed, self.out, self.err = feed.give(feed.write_end), out.read_end, err.read_end
        given = (feed.read_end, out.write_end, err.write_end)
        socket.send_fds(self.talk, [b"streams"], given)
        for pipe, end in zip(self._pipes, given, strict=True):
            pipe.close(end)

    def take_feed(self) -> int:
        """Where the call's input goes, from now on the caller's to close."""
        fd, self.feed = self.feed, -1
        return fd

    def look_at_end(self) -> bool:
        """Whether it has ended, with nobody left in its room; `seen` says how."""
        self.seen = None if self._watch is None else self._watch.look()
        return self.seen is not None

    def measured(self, standing: Standing) -> Assurance:
        """What holds it at this moment. Raises LayerError."""
        assert self._ahead is not None
        with contextlib.suppress(OSError, ValueError):  # `measure` will tell
            if self._ahead.still_holds(self._assurance, standing.bounded_by):
                return self._assurance
        return self._measured(standing)

    def _measured(self, standing: Standing) -> Assurance:
        assert self._ahead is not None
        bounds = standing.bounded_by
        assurance = measure(standing.plan, self._pid, standing.landlock, self._identity, bounds, ahead=self._ahead)
        layer = assurance.layer("namespaces")
        assert layer is not None
        for kind, inode in standing.namespaces.items():
            if (layer.facts[kind] == str(inode)) is (kind in _OWN_OF_A_CALL):
                raise LayerError(f"{kind}_namespace", "the call is not where it should be")
        return assurance

    def let_go(self) -> None:
        """In a process that forked off: close its copies of what leads to the call."""
        for sock in (self.talk, self.report):
            sock.close()

    def close(self) -> None:
        """Let go of it; a call that was told nothing ends."""
        for each in (self._ahead, self._watch):
            if each is not None:
                each.close()
        for pipe in self._pipes:
            pipe.__exit__()
        if self.feed >= 0:
            os.close(self.take_feed())
        for sock in (self.talk, self.report):
            sock.close()

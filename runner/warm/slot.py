"""One call that waits in its room for its words: what leads to it, and what was measured of it."""

from __future__ import annotations

import contextlib
import socket

from skillkeep.kernel.namespaces import IdMap
from skillkeep.runner.environments.standing import Standing
from skillkeep.runner.interface import Assurance
from skillkeep.runner.native.attest import Ahead, mark_as_first_to_go, measure
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.identity import Identity
from skillkeep.runner.warm.ending import Seen, Watch

__all__ = ["Slot"]

_OWN_OF_A_CALL = ("mnt", "pid", "ipc")


class Slot:
    """`talk` leads to the call, on `report` its end is told; `number` counts the interpreter's calls from 0.

    It is measured in two parts, as a sandbox of the fork server that waits for its run: what it can never get back when
    it begins to wait (`look`), the rest and that it is still that process when its run has come (`measured`).
    """

    def __init__(self, talk: socket.socket, report: socket.socket, number: int) -> None:
        self.talk, self.report, self.number = talk, report, number
        self._ahead: Ahead | None = None
        self._watch: Watch | None = None
        self.seen: Seen | None = None
        self._pid = -1

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

    def look_at_end(self) -> bool:
        """Whether it has ended, with nobody left in its room; `seen` says how."""
        self.seen = None if self._watch is None else self._watch.look()
        return self.seen is not None

    def measured(self, standing: Standing) -> Assurance:
        """What holds it at this moment. Raises LayerError."""
        assert self._ahead is not None
        bounds = standing.bounded_by
        assurance = measure(standing.plan, self._pid, standing.landlock, self._identity, bounds, ahead=self._ahead)
        layer = assurance.layer("namespaces")
        assert layer is not None
        for kind, inode in standing.namespaces.items():
            if (layer.facts[kind] == str(inode)) is (kind in _OWN_OF_A_CALL):
                raise LayerError(f"{kind}_namespace", "the call is not where it should be")
        return assurance

    def close(self) -> None:
        """Let go of it; a call that was told nothing ends."""
        for each in (self._ahead, self._watch):
            if each is not None:
                each.close()
        for sock in (self.talk, self.report):
            sock.close()

"""Sandboxes that are lent ahead of the runs of callers: who may have one, what it is checked for, and for how long.

Few are lent, for a short time: whoever has none is lent one when its run has come, as ever. They count among those
that are kept furnished (`slots`).
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from skillkeep.kernel.errors import KernelError
from skillkeep.runner.native.asking import AHEAD
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.host_watch import HostWatch
from skillkeep.runner.native.terms import Opened

if TYPE_CHECKING:
    from skillkeep.runner.native.session import Session
    from skillkeep.runner.native.slots import Slot, Slots
    from skillkeep.runner.native.waiting import Waiting

__all__ = ["MOST", "SECONDS", "Leases"]

MOST = 2
"""How many callers have one, or wait for one, at a time."""
SECONDS = 30.0
"""For how long one is lent that is not used."""


class Leases:
    """Offers what stands in `slots` to the sessions that asked for it, in the order in which they did."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._sessions: list[Session] = []
        self._host: HostWatch | None = None
        self._open = True

    def ask(self, session: Session) -> bool:
        """Whether that session may wait for one (`Session.lend_ahead` is called when one stands)."""
        self._count()
        if not self._open or len(self._sessions) >= MOST or self._hears() is None:
            return False
        self._sessions.append(session)
        self._count()
        return True

    @property
    def waiting(self) -> list[Session]:
        """Those that wait; what each has is counted anew."""
        self._count()
        return [session for session in self._sessions if session.room]

    def end(self) -> list[Session]:
        """Lend none any more; the sessions that have, or wait for, one of which the run has not begun."""
        self._open = False
        self._count()
        return self._sessions

    def prepare(self, room: str) -> tuple[Waiting, bytes, list[int], Opened] | None:
        """A sandbox of that room that is good now, what is said of it, and what is open until that is said."""
        if (host := self._hears()) is None:
            return None
        opened, slot = Opened(host.fd), None
        try:
            if (slot := self._slots.take_furnished(room)) is not None:
                slot.sandbox.look_ahead(opened, slot.inodes)
                if not self._slots.are_stale(slot):
                    words, fds = slot.sandbox.lend_ahead(opened)
                    return slot.sandbox, AHEAD + words, fds, opened
        except (LayerError, KernelError, OSError):
            pass
        except Exception:  # nobody has a run yet that would miss it; the log says what nobody expected
            traceback.print_exc()
        opened.close()
        self._give_up(slot)
        return None

    def _give_up(self, slot: Slot | None) -> None:
        if slot is not None:
            slot.sandbox.drop()
            self._slots.bury(slot.sandbox.group)

    def _hears(self) -> HostWatch | None:
        """Notices that hear of every change of the host from now on; None where there are none."""
        if self._host is None or (self._host.fd >= 0 and not self._host.quiet):
            if self._host is not None:
                self._host.close()
            self._host = HostWatch()
        return self._host if self._host.fd >= 0 else None

    def _count(self) -> None:
        self._sessions = [session for session in self._sessions if session.idle]
        self._slots.note_lent(sum(not session.room for session in self._sessions))

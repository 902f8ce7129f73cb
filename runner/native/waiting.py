"""A sandbox that is built ahead of its run, in up to three steps, each measured by the same code as any other's.

*Ready*: its payload waits with all its rights laid down, its init for binds. *Furnished*: the binds of runs to come are
mounted, and only the command is missing. *Lent*: the caller itself gives it the command and hears how it ended
(`lent`); the server goes on watching the limits and the caller. Each can be skipped but the first.
"""

from __future__ import annotations

import os
import time
from collections import ChainMap
from collections.abc import Sequence

from skillkeep.kernel.timers import open_timer
from skillkeep.runner.interface import Assurance
from skillkeep.runner.native import messages
from skillkeep.runner.native.binds import open_as_init
from skillkeep.runner.native.board import Board
from skillkeep.runner.native.layout import Host, look_at_host
from skillkeep.runner.native.offer import Offer
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.prepare import Prepared, bind_shapes, prepare_ahead
from skillkeep.runner.native.rest import prepare_command, prepare_rest
from skillkeep.runner.native.sandbox import SETUP_SECONDS, Sandbox
from skillkeep.runner.native.terms import Opened

__all__ = ["Waiting"]


class Waiting(Sandbox):
    """Built for a run that is bounded as `plan` is, on `host`, or what that is now; with `room` furnished at once.

    Raises LayerError or KernelError when it cannot be started.
    """

    def __init__(self, plan: Plan, host: Host | None = None, room: Plan | None = None) -> None:
        self._has_binds = self._noted = False
        self._offer: tuple[Assurance, bytes, list[int]] | None = None
        self._lent_at = 0.0
        self.timer = -1
        """Runs out a moment after its caller began the run, and after the run is over; -1 where no caller sets it."""
        self._room = room
        super().__init__(plan, (), host or look_at_host())
        self.group.keep_open()

    @staticmethod
    def serves(plan: Plan) -> bool:
        """Whether a run of `plan` can be in it: one that needs no more than binds for reading."""
        return plan.plain

    def _prepare(self, host: Host | None) -> Prepared:
        assert host is not None
        return prepare_ahead(self.plan, self.group, host)

    @property
    def ready(self) -> bool:
        """Whether all of it stands, and it has no binds yet."""
        return self._ahead is not None and not self._has_binds and self._lives

    @property
    def furnished(self) -> bool:
        """Whether it has been given binds, has been measured, and waits for its one run."""
        return self._assurance is not None and self._command is None and not self.started and self._lives

    @property
    def _lives(self) -> bool:
        return self.failure is None and self.pidfd >= 0

    @property
    def counted(self) -> bool:
        """Whether control groups bound and count all of it, so that nobody has to look at it while it runs."""
        return {"memory", "pids"} <= set(self.group.enforces)

    def take(self, plan: Plan, streams: Sequence[int]) -> None:
        """Give a ready or furnished sandbox its one run; `streams` stay open until it has started or is over.

        `plan` has no more than read-only binds, and the bounds and room that the sandbox was built with. Raises
        KernelError, LayerError.
        """
        if not self.furnished:
            assert self.ready
            self._command, self._streams = self._give_binds(plan), streams
            return
        self._command, steps = prepare_command(plan)
        self._steps = ChainMap(steps, self._steps)  # type: ignore[arg-type]
        self.plan, self._streams = plan, streams
        self._measure()
        if self.allowed:
            self._let_go()

    def furnish(self, plan: Plan) -> None:
        """Give a ready sandbox the binds of runs to come. Raises KernelError."""
        assert self.ready
        self.allowed = False
        self._give_binds(plan)

    def _payload_waits(self, listener: int | None) -> None:
        super()._payload_waits(listener)
        if not self._has_binds:
            self.due = float("inf")

    def _has_ids(self) -> None:
        super()._has_ids()
        if self._room is not None:  # what init is to do with it lies ready when it gets there
            self.allowed = False
            self._give_binds(self._room)

    def _give_binds(self, plan: Plan) -> bytes:
        """What the payload is to hear."""
        assert self.socket is not None
        as_root = self._identity.as_root
        rest = prepare_rest(plan, bind_shapes(plan), as_root)
        self._steps = ChainMap(rest.steps, self._steps)  # type: ignore[arg-type]
        self.plan, self._has_binds = plan, True
        self.due = time.monotonic() + SETUP_SECONDS
        trees = open_as_init([bind.source for bind in plan.binds]) if as_root else []
        try:
            messages.tell(self.socket, rest.init, trees)
        finally:
            for fd in trees:
                os.close(fd)
        return rest.payload

    def _stands(self) -> None:
        super()._stands()
        if self.furnished:
            self._offered()

    def mounted(self) -> tuple[tuple[int, int], ...]:
        """Device and inode of each bind as the payload sees it. Raises OSError."""
        found = (os.stat(f"/proc/{self._payload}/root{bind.target}") for bind in self.plan.binds)
        return tuple((state.st_dev, state.st_ino) for state in found)

    def lend(self) -> tuple[bytes, list[int]]:
        """From now on the caller talks to it: lets the payload go, and hears the last words.

        What is lent, measured again, as JSON; descriptors of the socket, the board and the counters. The time limit
        counts from now until the board says better. Raises LayerError.
        """
        assert self.furnished
        assert self.counted
        assert self.socket is not None
        self._measure()
        words, counters = self._offered()
        self.lent = Board()
        if self.notices is not None:
            self.notices.board = self.lent
        self._begin()
        return words, [self.socket.fileno(), self.lent.fd, *counters]

    def look_ahead(self, opened: Opened, inodes: Sequence[tuple[int, int]]) -> None:
        """Have it read what a run depends on that comes later: before all of it is looked at. Raises OSError."""
        assert self._ahead is not None
        opened.look(self._payload, *self._ahead.shown_by, self.group.limits(), inodes)

    def lend_ahead(self, opened: Opened) -> tuple[bytes, list[int]]:
        """As `lend`, before there is a run: time counts from when the board says, and a timer that the caller sets.

        Before those of `lend` come the timer and what `opened` has to say. Raises LayerError, KernelError.
        """
        self.timer = open_timer()
        words, (inside, board, *counters) = self.lend()
        self._lent_at, self._started, self.due = self._started, 0.0, float("inf")
        terms, looked = opened.packed()
        return terms + words, [inside, board, self.timer, *looked, *counters]

    @property
    def is_over(self) -> bool:
        """Whether its caller says that the run is over, and has heard all of it."""
        return self.lent is not None and self.lent.is_over

    @property
    def hears_refusals(self) -> bool:
        """Whether refused calls are to be heard: not in the first moments of a run that its caller begins."""
        return self.timer < 0 or self._noted

    def _offered(self) -> tuple[bytes, list[int]]:
        """What `lend` says, written once for as long as it is true, and the descriptors of the counters."""
        if self._offer is None or self._offer[0] != self.assurance:
            counters = self.group.counters()
            named = tuple((name, key) for name, key, _ in counters)
            words = Offer(self._init, self.assurance, named).packed()
            self._offer = self.assurance, words, [fd for _, _, fd in counters]
        return self._offer[1:]

    def regain(self, words: bytes) -> None:
        """The caller does not go on with a lent sandbox; `words` are init's last ones, if it has heard them."""
        self._note_beginning()
        self._end_lending()
        if not self.started:
            self.abandon()
        elif words:
            try:
                self._take(messages.last_words(words, self._init))
            except ValueError as error:
                self._fail(error)

    def tick(self) -> None:
        """As of any sandbox."""
        self._note_beginning()
        if self.lent is None or self.started:
            super().tick()

    def abandon(self) -> None:
        """Nobody wants it any more."""
        self._end_lending()
        super().abandon()

    def _note_beginning(self) -> None:
        """Take when the caller says it began: once, between the lending and now. What it writes later moves nothing."""
        if self.lent is not None and not self._noted and self.lent.began:
            self._started = min(max(self.lent.began, self._started, self._lent_at), time.monotonic())
            self._noted = True
            self._set_due(self._started)

    def _end_lending(self) -> None:
        if self.lent is not None:
            if self.notices is not None:
                self.notices.board = None
            self.lent.close()
            self.lent = None
        if self.timer >= 0:
            os.close(self.timer)
            self.timer = -1

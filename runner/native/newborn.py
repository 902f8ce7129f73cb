"""A sandbox of which little more than its namespaces stands: its init has its ids and waits for its tape.

It serves every run that is bounded as it is, also those that need a way out, a tracer, a terminal or an overlay: all
that comes after the ids is made for the run, and measured whole, as in a sandbox that was built for it. What it took
from the host is the mounts as they were when it began, so that a change of any makes it stale (`slots`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from skillkeep.runner.native.layout import Host
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.prepare import Prepared, prepare
from skillkeep.runner.native.sandbox import SETUP_SECONDS
from skillkeep.runner.native.waiting import Waiting

__all__ = ["Newborn"]


class Newborn(Waiting):
    """Made for a run that is bounded as `plan` is; it is never furnished, and never lent."""

    @staticmethod
    def serves(plan: Plan) -> bool:
        """Whether a run of `plan` can be in it: any."""
        return True

    def _work_out(self, host: Host | None) -> None:
        if self._has_binds:
            super()._work_out(host)

    def _prepare(self, host: Host | None) -> Prepared:
        return prepare(self.plan, self.group)

    @property
    def ready(self) -> bool:
        """Whether its init has its ids, and no tape yet."""
        return self._lives and not self._has_binds

    @property
    def furnished(self) -> bool:
        """Never."""
        return False

    def _has_ids(self) -> None:
        self.due = float("inf")

    def take(self, plan: Plan, streams: Sequence[int]) -> None:
        """Give it its one run, whose bounds it has; `streams` stay open until it has started or is over.

        Raises KernelError, LayerError.
        """
        assert self.ready
        self._has_binds, self.plan, self._streams = True, plan, streams
        self.due = time.monotonic() + SETUP_SECONDS
        self._work_out(None)
        self._give_tape()

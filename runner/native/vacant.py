"""A sandbox that is built ahead for a run that writes: all but its binds and its payload.

What a payload may write is part of rights that it lays down for good, so there is none before the run is known. Init
waits with the root built, and then mounts the binds and makes the payload, which is measured whole, as one that was
built for its run. What the sandbox took from the host before is looked at again (`slots`).
"""

from __future__ import annotations

import os
import time
from collections import ChainMap
from collections.abc import Sequence

from skillkeep.kernel.errors import KernelError
from skillkeep.runner.native import messages
from skillkeep.runner.native.binds import open_as_init, open_mapped
from skillkeep.runner.native.layout import Host
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.prepare import Prepared, prepare_tenant, prepare_vacant
from skillkeep.runner.native.rest import MOST_BYTES
from skillkeep.runner.native.sandbox import SETUP_SECONDS
from skillkeep.runner.native.waiting import Waiting

__all__ = ["Vacant"]


class Vacant(Waiting):
    """Built for a run that is bounded as `plan` is; it is never furnished, and never lent."""

    @staticmethod
    def serves(plan: Plan) -> bool:
        """Whether a run of `plan` can be in it: one that writes."""
        return plan.simple and not plan.plain

    def _prepare(self, host: Host | None) -> Prepared:
        assert host is not None
        return prepare_vacant(self.plan, self.group, host)

    @property
    def ready(self) -> bool:
        """Whether its init has its ids, and hears what it is to go on with when it gets there."""
        return self._lives and not self._has_binds

    @property
    def furnished(self) -> bool:
        """Never."""
        return False

    def _has_ids(self) -> None:
        super()._has_ids()
        self.due = float("inf")

    def take(self, plan: Plan, streams: Sequence[int]) -> None:
        """Give it its one run. `plan` is `simple`, and has the bounds that the sandbox was built with.

        Raises KernelError.
        """
        assert self.ready
        assert self.socket is not None
        shape, program, image = prepare_tenant(plan, self.group, self._prepared.shape)
        if len(image) > MOST_BYTES:
            raise KernelError("setup", 0, "too long to be sent")
        self._has_binds, self.plan = True, plan
        self._prepared = Prepared(shape, program, image)
        self._steps = ChainMap(program.steps, self._steps)  # type: ignore[arg-type]
        self.due = time.monotonic() + SETUP_SECONDS
        trees: list[int] = []
        try:
            mapped = open_mapped(plan, self._identity, self.uppers)
            trees += mapped.values()
            if self._identity.as_root:
                rest = {n: bind.source for n, bind in enumerate(plan.binds) if n not in mapped}
                others = dict(zip(rest, open_as_init(list(rest.values())), strict=True))
                trees = [fd for _, fd in sorted({**mapped, **others}.items())]
            messages.tell(self.socket, image, [*streams, *trees])
        finally:
            for fd in trees:
                os.close(fd)

"""Has the first processes of a sandbox made, and keeps what they are to be given until they have it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence

from skillkeep.kernel.cgroup_choice import is_born_inside, make_group
from skillkeep.kernel.cgroups import Group, GroupLimits
from skillkeep.kernel.id_maps import mapped_extents, write_maps
from skillkeep.kernel.libc import guarded
from skillkeep.runner.native import messages
from skillkeep.runner.native.birth import birth
from skillkeep.runner.native.identity import Identity, choose_identity
from skillkeep.runner.native.launch import launch, tape_file
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.steps import INTO_GROUP

__all__ = ["Start"]


class Start:
    """A sandbox bounded as `plan` is: the kernel makes its processes from here on, and its control group is made.

    `group` and `socket` are the sandbox's own to close. Raises KernelError; nothing is left then.
    """

    socket: socket.socket

    def __init__(self, plan: Plan) -> None:
        self.group = Group()
        self.launcher = self._tape = -1
        try:
            if born_inside := is_born_inside():
                self._make_group(plan)
            into = self.group.into_fd
            program = birth(into is not None)
            self.steps = program.steps
            places = [] if into is None else [(INTO_GROUP, into)]
            self.socket, self.launcher = launch(program.image, None, places)
            self.socket.setblocking(False)
            if not born_inside:
                self._make_group(plan)
            # Written once in the life of a user namespace (user_namespaces(7)): not left for when init waits.
            self._extents = mapped_extents()
        except BaseException:
            if self.launcher >= 0:
                self.socket.close()
            self.stop()
            self.group.close()
            raise

    def _make_group(self, plan: Plan) -> None:
        self.group = make_group(GroupLimits(plan.memory_bytes, plan.processes + 1, plan.cpus), plan.run_id)

    def give_ids(self, init: int, id_base: int) -> Identity:
        """Give `init`, which has said hello, its ids. Raises KernelError("user_map")."""
        os.waitpid(self.launcher, 0)
        self.launcher = -1
        identity = choose_identity(init, id_base, self._extents)
        write_maps(init, identity.ids)
        return identity

    def keep(self, tape: bytes) -> None:
        """Lay the sandbox's tape ready. Raises KernelError("setup")."""
        with guarded("setup", "write the tape"):
            self._tape = tape_file(tape)

    def give_tape(self, others: Sequence[int]) -> None:
        """Let init go on with its tape, the ways into its control groups and the descriptors `others`.

        Raises KernelError("setup"), OSError.
        """
        messages.tell(self.socket, messages.IDS, (self._tape, *self.group.join_fds, *others))
        self.forget()

    def forget(self) -> None:
        """Let go of what init has taken, or will not take any more."""
        self.group.release()
        if self._tape >= 0:
            os.close(self._tape)
            self._tape = -1

    def stop(self) -> None:
        """End the launcher, if it is there yet; an init that nobody has heard of ends with the socket."""
        if self.launcher >= 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.launcher, signal.SIGKILL)
            os.waitpid(self.launcher, 0)
            self.launcher = -1
        self.forget()

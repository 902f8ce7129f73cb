"""Starts the launcher of a tape: of a sandbox, of an environment, of a command that enters one."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skillkeep.kernel.libc import guarded
from skillkeep.kernel.process import RESET_SIGNALS, is_real_time
from skillkeep.kernel.tape_image import program_file
from skillkeep.runner.native import messages
from skillkeep.runner.native.steps import GROUPS_AT, INTO_GROUP, SOCKET, TAPE

if TYPE_CHECKING:
    from skillkeep.kernel.cgroups import Group

__all__ = ["group_places", "launch", "tape_file"]


def launch(
    image: bytes, streams: Sequence[int] | None, placed: Sequence[tuple[int, int]], name: str = "sandbox"
) -> tuple[socket.socket, int]:
    """Start the launcher, which carries out `image`; our end of its socket, and its pid.

    `streams` are its three streams, None for /dev/null; `placed` are the other numbers it has descriptors at, with
    ours of them. All stay the caller's to close. A caller's real-time priority is not handed on: no limit of a share
    of the processor holds it. Raises KernelError("launcher").
    """
    ours, theirs = messages.pair()
    own: list[int] = []
    try:
        with guarded("launcher", "start the launcher"):
            own.append(tape := tape_file(image))
            if streams is None:
                own.append(null := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))
                streams = (null, null, null)
            places = [*enumerate(streams), (TAPE, tape), (SOCKET, theirs.fileno()), *placed]
            # The program is named by its descriptor, which must not be where another one is put before it starts.
            (_, program), *places = _out_of_the_way([(-1, program_file()), *places], own)
            calm: dict[str, Any] = {"scheduler": (os.SCHED_OTHER, os.sched_param(0))} if is_real_time() else {}
            launcher = os.posix_spawn(
                f"/proc/self/fd/{program}",
                [name],
                {},
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in places],
                setsigmask=(),
                setsigdef=RESET_SIGNALS,
                **calm,
            )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        for fd in own:
            os.close(fd)
    return ours, launcher


def tape_file(image: bytes) -> int:
    """A memory file from whose beginning `image` is read, the caller's to close. Raises OSError."""
    fd = os.memfd_create("skillkeep-tape-data", os.MFD_CLOEXEC)
    try:
        os.write(fd, image)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


def group_places(group: Group) -> list[tuple[int, int]]:
    """Where the tape finds the ways into a new control group."""
    places = [(GROUPS_AT + number, fd) for number, fd in enumerate(group.join_fds)]
    return places if group.into_fd is None else [*places, (INTO_GROUP, group.into_fd)]


def _out_of_the_way(placed: list[tuple[int, int]], high: list[int]) -> list[tuple[int, int]]:
    """The same places, with copies of descriptors that stand where another one will be put."""
    targets = {target for target, _ in placed}
    found = []
    for target, fd in placed:
        if fd in targets:
            fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, max(targets) + 1)
            high.append(fd)
        found.append((target, fd))
    return found

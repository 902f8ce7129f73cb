"""What a starter hears of the processes inside, whatever they left unread."""

from __future__ import annotations

import os
import socket

import pytest

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.passed import heard_fds
from skillkeep.kernel.tape import BASE, FAILURE, Step
from skillkeep.runner.native import messages


def test_a_step_that_failed_is_heard_although_the_word_to_go_on_was_left_unread() -> None:
    ours, theirs = messages.pair()
    with ours:
        with theirs:
            messages.tell(ours, messages.GO)
            theirs.send(FAILURE.pack(BASE, 38))
        with pytest.raises(KernelError) as caught:
            messages.receive(ours, {BASE: Step("setup", "wait for the word")})
        assert (caught.value.layer, messages.receive(ours, {})) == ("setup", None)


def test_descriptors_that_come_along_are_not_given_to_programs_started_meanwhile() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        socket.send_fds(theirs, [b"these"], [0, 1, 2])
        data, fds = heard_fds(ours, 64, 5)
        inheritable = [os.get_inheritable(fd) for fd in fds]
        for fd in fds:
            os.close(fd)
    assert (data, inheritable) == (b"these", [False] * 3)

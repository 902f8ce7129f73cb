"""What a starter hears of the processes inside, whatever they left unread."""

from __future__ import annotations

import pytest

from skillkeep.kernel.errors import KernelError
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

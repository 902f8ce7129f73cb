"""What a caller asks its fork server, besides the plan and the streams that come along; and how either is heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = [
    "AHEAD",
    "BACK",
    "GO",
    "LATER",
    "LENT",
    "NEXT",
    "PREPARE",
    "ROOM",
    "RUN",
    "TELL",
    "UnreadError",
    "heard",
    "heard_at_last",
]

_T = TypeVar("_T")
_P = ParamSpec("_P")

RUN = b"run"
"""Run this plan."""
PREPARE = b"prepare"
"""Run this plan, but let its payload go only after `GO`."""
ROOM = b"room "
"""Lend a sandbox that stands furnished; the name of its room follows (`Plan.room`)."""
LENT = b"lent "
"""The answer to `ROOM`: what is lent, as JSON, follows; the descriptors come along. Anything else: there is none."""
TELL = b"tell "
"""Say how a lent sandbox's run ended; init's last words follow, if it said any."""
NEXT = b"next "
"""The run in a lent sandbox is over, and the sandbox ends. Lend the next one as soon as one stands, ahead of its run;
the name of its room follows. Answered by `AHEAD`, by `LATER` and then, some time, that, or by the end of the
connection."""
AHEAD = b"ahead "
"""The answer to `NEXT`: on what it depends (`terms`), and then as with `LENT`."""
LATER = b"later"
"""None stands now."""
BACK = b'{"kind": "back"}'
"""What was lent ahead is wanted back: if its run has not begun, it does not any more."""
GO = b"go"
"""Let the payload go."""


class UnreadError(EOFError):
    """The server ended before it read our last word: nothing was let go by it."""


def heard(receiving: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T:
    """What `receiving` gives, of a socket of packets.

    The kernel tells first, once, that the other side ended with words of ours unread, and then what it has said.
    """
    try:
        return receiving(*given, **named)
    except ConnectionResetError:
        return receiving(*given, **named)


def heard_at_last(receiving: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> tuple[_T, bool]:
    """The same, and whether the other side ended with words of ours unread."""
    try:
        return receiving(*given, **named), False
    except ConnectionResetError:
        return receiving(*given, **named), True

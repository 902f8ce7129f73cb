"""What a caller asks its fork server, besides the plan and the streams that come along; and how either is heard."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from skillkeep.kernel.passed import heard_fds

__all__ = [
    "AHEAD",
    "BACK",
    "GO",
    "LATER",
    "LENT",
    "MOST",
    "MOST_FDS",
    "NEXT",
    "PREPARE",
    "ROOM",
    "RUN",
    "TELL",
    "UnreadError",
    "ask",
    "heard",
    "receive",
]

_T = TypeVar("_T")
_P = ParamSpec("_P")

MOST, MOST_FDS = 1 << 17, 64
"""How many bytes and descriptors an answer has."""
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


def ask(connection: socket.socket, plan: str, streams: Sequence[int], request: bytes = RUN) -> None:
    """Ask for a run of `plan`; the server gets copies of `streams`: the payload's stdin, stdout and stderr."""
    file = os.memfd_create("skillkeep-plan", os.MFD_CLOEXEC)
    try:
        os.write(file, plan.encode("utf-8", "surrogateescape"))
        socket.send_fds(connection, [request], [file, *streams])
    finally:
        os.close(file)


def receive(connection: socket.socket, fds: list[int]) -> dict[str, Any]:
    """The server's answer; the descriptors of what overlays wrote are added to `fds`.

    Raises EOFError when it has ended, UnreadError when it had not read our last word, ValueError for nonsense.
    """
    (data, given), unread = _heard_at_last(heard_fds, connection, MOST, MOST_FDS)
    fds += given
    if not data:
        raise UnreadError("the fork server ended") if unread else EOFError("the fork server ended")
    try:
        answer = json.loads(data)
    except RecursionError as error:
        raise ValueError("the fork server's answer is not one") from error
    if not isinstance(answer, dict) or "kind" not in answer:
        raise ValueError("the fork server's answer is not one")
    return answer


def _heard_at_last(receiving: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> tuple[_T, bool]:
    """The same, and whether the other side ended with words of ours unread."""
    try:
        return receiving(*given, **named), False
    except ConnectionResetError:
        return receiving(*given, **named), True

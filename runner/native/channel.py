"""The words between the supervisor and the process it builds, over one SEQPACKET socket pair.

Every message from inside carries the sender's host pid, set by the kernel. Nothing is read from the socket once
the payload runs: its descriptor closes on execve.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillkeep.kernel.errors import KernelError

__all__ = ["Channel", "LayerError", "Message", "StartError"]

_LIMIT = 4096
_MOST_FDS = 250  # of one message (SCM_MAX_FD is 253)
_UCRED = struct.Struct("3i")


class LayerError(Exception):
    """A layer of the sandbox could not be set up, or was measured to be missing."""

    def __init__(self, layer: str, detail: str, hint: str = "", number: str = "") -> None:
        super().__init__(f"{layer}: {detail}")
        self.layer, self.detail, self.hint, self.number = layer, detail, hint, number


class StartError(Exception):
    """The sandbox stood, but the program could not be started in it; `number` is the errno of execve."""

    def __init__(self, program: str, number: int) -> None:
        super().__init__(f"{program}: {os.strerror(number)}")
        self.program, self.number = program, number


@dataclass(frozen=True)
class Message:
    """One message: its kind (`ready`, `failed`, `unstarted`), fields, and the sender's host pid."""

    kind: str
    fields: dict[str, Any]
    pid: int


class Channel:
    """Two ends: `outer` stays with the supervisor, `inner` goes to init and the payload."""

    def __init__(self) -> None:
        self.outer, self.inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.outer.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    def close_inner(self) -> None:
        """Supervisor's side: let go of the inner end, so that its last holder's end is heard."""
        self.inner.close()

    def close_outer(self) -> None:
        """Inner side: let go of the copy of the supervisor's end, which would hide the supervisor's death."""
        self.outer.close()

    def close(self) -> None:
        """Let go of both ends."""
        self.inner.close()
        self.outer.close()

    def tell_inside(self, word: str, trees: Mapping[int, int] | None = None) -> None:
        """Let the inner side go on, and hand it mount trees (bind number to descriptor).

        A dead inner side is noticed by the next `hear`.
        """
        trees = trees or {}
        try:
            socket.send_fds(self.outer, [json.dumps([word, *trees]).encode()], list(trees.values()))
        except (BrokenPipeError, ConnectionResetError):
            return

    def wait_for(self, word: str) -> dict[int, int]:
        """Inner side: wait for `word` and the trees with it; end at once when the supervisor is gone."""
        heard, fds, _, _ = socket.recv_fds(self.inner, _LIMIT, _MOST_FDS)
        said, *numbers = json.loads(heard or b"[0]")
        if said != word:
            os._exit(1)
        return dict(zip(numbers, fds, strict=True))

    def report(self, kind: str, **fields: Any) -> None:
        """Inner side: say something. Only what fits one packet."""
        self.inner.send(json.dumps({"kind": kind, **fields}).encode()[:_LIMIT])

    def report_failure(self, error: BaseException) -> None:
        """Inner side: say which layer failed."""
        if isinstance(error, KernelError):
            context = error.context
            self.report("failed", layer=error.layer, detail=error.what[:500], hint=error.hint, number=context["errno"])
        else:
            self.report("failed", layer="setup", detail=f"{type(error).__name__}: {error}"[:500], hint="", number="")

    def hear(self, seconds: float) -> Message | None:
        """Supervisor's side: the next message, None at the end (every inner end closed).

        Raises LayerError when inside reports one or stays silent for `seconds`.
        """
        self.outer.settimeout(max(seconds, 0.001))
        try:
            data, ancillary, _, _ = self.outer.recvmsg(_LIMIT, socket.CMSG_SPACE(_UCRED.size))
        except TimeoutError:
            raise LayerError("setup", "the sandbox was not ready in time", "The machine may be overloaded.") from None
        except ConnectionResetError:
            return None
        if not data:
            return None
        pid = next(
            (_UCRED.unpack(raw[: _UCRED.size])[0] for _, kind, raw in ancillary if kind == socket.SCM_CREDENTIALS), 0
        )
        kind, fields = _parsed(data)
        if kind == "failed":
            raise LayerError(*(str(fields.get(name, "")) for name in ("layer", "detail", "hint", "number")))
        return Message(kind, fields, pid)


def _parsed(data: bytes) -> tuple[str, dict[str, Any]]:
    try:
        fields = json.loads(data)
        kind = fields.pop("kind") if isinstance(fields, dict) else None
    except (ValueError, KeyError, RecursionError):
        kind = None
    if not isinstance(kind, str):
        raise LayerError("setup", "the sandbox's set-up sent something that is no message")
    return kind, fields

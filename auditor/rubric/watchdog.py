"""Ends a request when its time is over, whatever the other side drips: a socket's time-out starts anew each byte."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any

__all__ = ["Watchdog"]


class Watchdog:
    """Within its ``with`` block, shuts the sockets of watched requests down after `seconds`; `fired` tells."""

    def __init__(self, seconds: float) -> None:
        self.fired = False
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Watchdog:
        self._timer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._timer.cancel()
        self._timer.join()

    def watch(self, request: Any) -> None:
        """A request hook of httpx: follow the request's connection by httpcore's ``trace`` extension."""
        request.extensions["trace"] = self._trace

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event not in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
            return
        connection = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets.append(connection)
            fired = self.fired
        if fired:
            _shut(connection)

    def _cut(self) -> None:
        with self._lock:
            self.fired = True
            sockets = tuple(self._sockets)
        for each in sockets:
            _shut(each)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError, ValueError):
        connection.shutdown(socket.SHUT_RDWR)

"""Runs inside a container that holds nothing else: hands each connection on its loopback to the egress proxy outside.

Standard library only, and none of ours: the container's own Python runs a copy of this file.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading

__all__ = ["main"]

_CHUNK = 1 << 16
_STACK_BYTES = 1 << 18


def main(proxy: str, port: int) -> None:
    """Listen on 127.0.0.1:`port`, say so, and pass every connection to the UNIX socket `proxy`."""
    threading.stack_size(_STACK_BYTES)
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve, args=(connection, proxy), daemon=True).start()


def _serve(connection: socket.socket, proxy: str) -> None:
    with contextlib.suppress(OSError), connection, socket.socket(socket.AF_UNIX) as outside:
        outside.connect(proxy)
        back = threading.Thread(target=_pass_on, args=(outside, connection), daemon=True)
        back.start()
        _pass_on(connection, outside)
        back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

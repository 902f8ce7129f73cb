"""The three standard streams of a process whose caller closed some of them."""

from __future__ import annotations

import os
import sys

__all__ = ["open_closed_streams"]


def open_closed_streams() -> None:
    """Give the null device to each stream that the caller closed.

    Else the next file that is opened gets the stream's number, and what is written to the stream lands in that file.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)

"""Data on stdout, talk on stderr, colour only where a person is looking."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TextIO

from skillkeep.text import encodable, escape

__all__ = ["choose_colour", "coloured", "columns", "emit", "is_terminal", "paint", "say", "write"]

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}
_CHOICE: ContextVar[str] = ContextVar("when colours are shown", default="auto")


def is_terminal(stream: TextIO) -> bool:
    """True when a person may be looking at (or typing into) the stream."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def choose_colour(when: str) -> None:
    """Show colours auto, always or never, for the rest of this command."""
    _CHOICE.set(when)


def coloured(stream: TextIO) -> bool:
    """True when `stream` shows colours: ``--color``, else NO_COLOR, else FORCE_COLOR, else a terminal."""
    if (chosen := _CHOICE.get()) != "auto":
        return chosen == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """`text` in red, green, yellow, blue, dim or bold, when `stream` (default stdout) shows colours."""
    if not coloured(stream or sys.stdout):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def emit(data: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout, pure ASCII, so that no byte of a tool reaches a terminal raw.

    Bytes of a path or a command line that are no text stand as ``\\xff``: half a surrogate pair is no Unicode, and
    strict readers refuse it (RFC 8259, 8.2).
    """
    indent = 2 if is_terminal(sys.stdout) else None
    text = json.dumps(data, ensure_ascii=True, indent=indent, allow_nan=False)
    if "\\ud" in text:
        text = json.dumps(_encodable(data), ensure_ascii=True, indent=indent)
    write(text)


def _encodable(data: Any) -> Any:
    if isinstance(data, str):
        return encodable(data)
    if isinstance(data, Mapping):
        return {_encodable(key): _encodable(value) for key, value in data.items()}
    return [_encodable(each) for each in data] if isinstance(data, list | tuple) else data


def write(text: str) -> None:
    """Print a line of data on stdout. Text that came from a tool has to be escaped before."""
    sys.stdout.write(text + "\n")


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line of talk on stderr, unless `quiet`."""
    if not quiet:
        sys.stdout.flush()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def columns(rows: Iterable[Sequence[str]], header: Sequence[str]) -> str:
    """Rows as aligned plain columns below `header`; every cell is escaped. The last column is not padded."""
    table = [list(header), *([escape(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = []
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)

"""What a zygote is started with: its own text, and which modules it imports ahead."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

__all__ = ["modules", "source"]

_SCANNED_BYTES = 1 << 20
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)
_ALWAYS = ("io", "os", "sys", "json", "re", "argparse", "pathlib", "collections", "functools", "traceback", "linecache")
_NEVER = frozenset({"antigravity", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo"})
_ONLY_LIBRARY = "import sys; del sys.path[0]\n"
"""Before anything is imported: the working folder is no place of libraries."""


@cache
def source() -> str:
    """The zygote's text."""
    return _ONLY_LIBRARY + Path(__file__).with_name("zygote.py").read_text(encoding="utf-8")


def modules(script: Path) -> list[str]:
    """The standard library's modules that the script names: found by its text, nothing of it is parsed or run."""
    try:
        with open(script, "rb") as file:
            named = {name.decode() for name in _IMPORT.findall(file.read(_SCANNED_BYTES))}
    except OSError:
        named = set()
    return [*_ALWAYS, *sorted((named & sys.stdlib_module_names) - _NEVER)]

"""Patterns of `re` whose compiled code is kept: to make it anew, in Python, takes a sixth of a start.

What `re` compiles to is the same for a pattern, its flags and a version of Python, and all three are its key. Where it
is not kept, or this Python takes it otherwise, `re` compiles as ever. Reference: CPython, ``Lib/re/_compiler.py``.
"""

from __future__ import annotations

import binascii
import re
import sys
from array import array
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from skillkeep.auditor.kept import keep, kept_for, read_kept

__all__ = ["asked", "compiled", "keep_compiled", "lack_compiled"]

_PLACE: Final = Path(__file__).parent / "__pycache__" / f"patterns.{sys.implementation.cache_tag}.kept"
_CODE: Final = "I"  # the array that holds SRE_CODE
_asked: dict[tuple[str, int], None] = {}


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, for patterns of the program and its rules: what a stranger's text makes is not kept."""
    _asked[pattern, int(flags)] = None
    known = _known().get(_key(pattern, flags))
    if known is not None:
        with suppress(Exception):  # whatever is wrong with it, `re` makes it anew
            return _built(pattern, *known)
    return re.compile(pattern, flags)


def asked() -> dict[str, list[Any]]:
    """The compiled code of all that this process asked for, as `keep_compiled` takes it; empty where none is told."""
    found: dict[str, list[Any]] = {}
    with suppress(ImportError, AttributeError, TypeError):
        for pattern, flags in _asked:
            entry = _made(pattern, flags)
            if _built(pattern, *entry) == re.compile(pattern, flags):  # which compares their code
                found[_key(pattern, flags)] = entry
    return found


def lack_compiled(program: str) -> bool:
    """Whether nothing is kept for `program`, a digest of what the patterns stand in."""
    return kept_for(_PLACE) != program


def keep_compiled(program: str, codes: Mapping[str, list[Any]]) -> None:
    """Keep what `asked` told, for processes to come. Raises `OSError`."""
    keep(_PLACE, program, {_VERSION: {**codes}})


_VERSION: Final = f"{sys.version} {array(_CODE).itemsize}"


@cache
def _known() -> Mapping[str, list[Any]]:
    try:
        found = (read_kept(_PLACE) or {}).get(_VERSION)
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _key(pattern: str, flags: int) -> str:
    return f"{int(flags)} {pattern}"


def _made(pattern: str, flags: int) -> list[Any]:
    """Its flags, its code, the number of its groups, and their names."""
    tree = import_module("re._parser").parse(pattern, flags)
    code = array(_CODE, import_module("re._compiler")._code(tree, flags))
    named = dict(tree.state.groupdict)
    return [flags | tree.state.flags, binascii.b2a_base64(code.tobytes(), newline=False).decode(),
            tree.state.groups - 1, named]  # fmt: skip


def _built(pattern: str, flags: int, code: str, groups: int, named: dict[str, int]) -> re.Pattern[str]:
    names: list[str | None] = [None] * (groups + 1)
    for name, number in named.items():
        names[number] = name
    words = array(_CODE, binascii.a2b_base64(code))
    found: re.Pattern[str] = import_module("_sre").compile(pattern, flags, words.tolist(), groups, named, tuple(names))
    return found

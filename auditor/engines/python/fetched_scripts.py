"""A shell's command that starts a file which the program has filled from the network: ``os.system("sh /tmp/a.sh")``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.made import words_of
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.tables import table

__all__ = ["starts_fetched"]

_APART: Final = compiled(r"[;&|\n]+")
_BEFORE: Final = frozenset({"sudo", "nohup", "exec", "env", "time", "source", ".", "command", "setsid", "nice"})
_SETTING: Final = compiled(r"\w+=")
_MOST: Final = 32


def starts_fetched(flow: Flow, command: str, scope: Scope) -> bool:
    """True when `command` starts such a file, or an interpreter of it, by the name that it was written under."""
    return any(
        "download" in flow.labels(data, home)
        for name in _started(command)
        for data, home in flow.contents.put(name, scope)
    )


def _started(command: str) -> Iterator[str]:
    """The files that are started: the first word of each command that is no option, and the second of interpreters.

    A module (``python -m notes``) is started by the names of its file.
    """
    known = table("shell")["interpreters"]
    for part in _APART.split(command)[:_MOST]:
        words = words_of(part)
        for option, word in pairwise(words):
            if option == "-m":
                yield f"{word.replace('.', '/')}.py"
                yield f"{word.replace('.', '/')}/__main__.py"
        for word in words:
            name = word.rpartition("/")[2]
            if word.startswith("-") or _SETTING.match(word) or name in _BEFORE or name in known:
                continue
            yield word
            break

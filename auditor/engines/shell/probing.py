"""Whether a shell opens a connection only to learn that a port answers, or to talk over it."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.model import Command

__all__ = ["only_probes"]

_OPENED: Final = compiled(r"(?:^|\s)(?P<number>[3-9]|[1-9]\d)<>?[ \t]*[\"']?/dev/tcp/")
_SAYING: Final = frozenset({":", "true", "echo", "printf"})
_LONGEST: Final = 12


def only_probes(command: Command, text: str) -> bool:
    """True when `command`, a part of the script `text`, sends nothing of its own and nothing uses what it opens.

    ``exec 3<>/dev/tcp/host/80`` is a probe in a subshell of its own, or where the script closes the descriptor and
    names it nowhere else; ``: >/dev/tcp/host/80`` is one.
    """
    said = [word.literal for word in command.words]
    if command.body is not None or command.heredoc is not None or None in said:
        return False
    if not said or said[0] in _SAYING:
        return len(" ".join(word or "" for word in said[1:])) <= _LONGEST
    opened = _OPENED.search(text[command.start : command.end])
    if said != ["exec"] or opened is None:
        return False
    number = opened["number"]
    used = re.compile(rf"[<>]&[ \t]*{number}(?![\d-])|-u[ \t]*{number}\b|/fd/{number}\b|\bfdopen\b|\bpass_fds\b")
    closed = re.search(rf"\b{number}[<>]&-", text)
    alone = text[: command.start].rstrip(" \t").endswith("(") and text[command.end :].lstrip(" \t").startswith(")")
    return bool(closed or alone) and not used.search(text)

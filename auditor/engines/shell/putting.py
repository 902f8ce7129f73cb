"""What a command puts into files: a here-document, what `echo` prints, or what it is fed, as far as that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.engines.shell.evaluate import HOLE, Scope
from skillkeep.auditor.engines.shell.made import BLANK, DEVICES
from skillkeep.auditor.engines.shell.model import Command, Pipeline
from skillkeep.auditor.engines.shell.outputs import cut_from
from skillkeep.auditor.engines.shell.printing import echoed
from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["puts"]

_PASSING: Final = frozenset({"cat", "tee", "sponge", "dd", "envsubst", "unexpand", "sed", "tr", "cut", "install", "cp"})
_TEES: Final = frozenset({"tee", "sponge"})
_COPYING: Final = frozenset({"cp", "install"})
_INPUT: Final = frozenset({"-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"})
_MOVING: Final = frozenset({"cp", "mv", "ln", "install"})
_MOST_COMMANDS: Final = 500


def puts(site: ShellSite, command: Command, calls: Sequence[Call], feeding: Pipeline | None) -> None:
    """Remember the text that `command` writes; `feeding` is what it reads the output of."""
    targets = [(site.name(each, word), ">>" in operator)
               for operator, word in command.redirects if ">" in operator and not operator.endswith("&")
               for each in site.scope.each(word)]  # fmt: skip
    text = _printed(command, calls, feeding, site.scope) if targets else None
    _cut(site, command, [name for name, _ in targets], calls, feeding)
    given = None
    for call in calls:
        named = _written_by(call, site)
        if named and given is None:
            given = _given(command, feeding, site.scope) or ""
        if given:
            for name in named:
                site.made.put(name, given, command, appended=call.has("-a", "--append"))
    if text is None:
        return
    for name, appended in targets:
        if HOLE in text and not text.strip(BLANK) and not appended and not name.startswith(DEVICES):
            site.files.cut[name.removeprefix("./")] = "a text that is made at run time"
        site.made.put(name, text, command, appended=appended)


def _cut(
    site: ShellSite, command: Command, targets: Sequence[str], calls: Sequence[Call], feeding: Pipeline | None
) -> None:
    """``tail -n 1 notes.md > run.sh``, ``cp notes.md run.sh``: a part of a file that holds no program."""
    for call in calls:
        if call.name in _MOVING and len(call.operands) > 1 and call.words:
            for item in cut_from([call.name, *call.operands[:-1]], _MOVING):
                site.files.cut[site.name(call.operands[-1], call.words[-1]).removeprefix("./")] = (
                    f"what was taken from {item}"
                )
    named = [*targets, *(name for call in calls for name in _written_by(call, site))]
    if not named:
        return
    commands = [*(feeding.commands if feeding is not None else ()), command]
    data = [item for each in commands for item in cut_from([site.scope.text(word) for word in each.words])]
    for name in named if data else ():
        if not name.startswith(DEVICES):
            site.files.cut[name.removeprefix("./")] = f"what was taken from {data[0]}"


def _written_by(call: Call, site: ShellSite) -> list[str]:
    """Files into which `call` writes what it is fed."""
    pairs = list(zip(call.arguments, call.words, strict=False))
    if call.name in _TEES:
        return [site.name(text, word) for text, word in pairs if not text.startswith("-")]
    if call.name == "dd":
        return [site.name(text, word).removeprefix("of=") for text, word in pairs if text.startswith("of=")]
    if call.name in _COPYING and not _INPUT.isdisjoint(call.operands) and len(call.operands) > 1:
        return [site.name(text, word) for text, word in pairs[-1:]]
    return []


def _printed(
    command: Command, calls: Sequence[Call], feeding: Pipeline | None, scope: Scope, depth: int = 0
) -> str | None:
    """What `command` prints, with a hole for every unknown part; None when nothing tells."""
    if command.body is not None and feeding is None:
        return _block(command, scope, depth)
    before = feeding.commands if feeding is not None else []
    known = scope.printed(Pipeline([*before, command])) if command.words or command.redirects else None
    if known is not None:
        return known.text
    words = [scope.text(word) for word in command.words]
    words = [calls[0].name, *calls[0].arguments] if calls else words
    name = words[0].rpartition("/")[2] if words else ""
    if feeding is None and command.heredoc is None:
        return echoed([name, *words[1:]]) if name in {"echo", "printf"} else None
    return _given(command, feeding, scope, depth) if name in _PASSING else None


def _block(command: Command, scope: Scope, depth: int) -> str | None:
    """``{ echo a; echo b; }``."""
    if command.body is None or command.function or depth > 3:
        return None
    parts = []
    for pipeline in command.body.pipelines[:_MOST_COMMANDS]:
        *before, last = pipeline.commands
        parts.append(_printed(last, (), Pipeline(before) if before else None, scope, depth + 1))
    known = [part for part in parts if part is not None]
    return "".join(known) if known else None


def _given(command: Command, feeding: Pipeline | None, scope: Scope, depth: int = 0) -> str | None:
    """What `command` is fed."""
    if command.heredoc is not None:
        return f"{scope.text(command.heredoc)}\n"
    if feeding is None:
        return None
    known = scope.printed(feeding)
    if known is not None:
        return known.text
    *before, last = feeding.commands
    return _printed(last, (), Pipeline(before) if before else None, scope, depth + 1)

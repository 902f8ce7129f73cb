"""`skill journal show` and `skill journal verify`."""

from __future__ import annotations

from collections import deque
from typing import Annotated

import typer

from skillkeep.cli.ground import ground
from skillkeep.cli.options import ConfigOption, JsonOption, new_app
from skillkeep.cli.output import emit, write
from skillkeep.text import escape

__all__ = ["journal_app"]


def journal_app() -> typer.Typer:
    """The `journal` group."""
    app = new_app("Read the journal of every decision and run, and check that nobody changed it.")
    app.command("show")(show)
    app.command("verify")(verify)
    return app


def show(
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the newest lines.")] = 20,
    event: Annotated[str, typer.Option("--event", "-e", help="Only events whose name starts so.")] = "",
    json_: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Show the newest lines, oldest first. Example: skill journal show -n 5 --event run"""
    journal = ground(config).journal
    newest = deque((line for line in journal.read() if line.event.startswith(event)), maxlen=lines)
    if json_:
        shown = [
            {"seq": line.seq, "time": line.time, "event": line.event, "facts": line.facts, "hash": line.hash}
            for line in newest
        ]
        emit({"ok": True, "schema": "skillkeep/journal-v1", "lines": shown})
        return 0
    for line in newest:
        facts = "  ".join(f"{key}={escape(str(value))[:120]}" for key, value in sorted(line.facts.items()))
        write(f"{line.seq:>6}  {escape(line.time)}  {escape(line.event)}  {facts}".rstrip())
    return 0


def verify(json_: JsonOption = False, config: ConfigOption = None) -> int:
    """Check every line's hash and that each follows from the one before. Example: skill journal verify"""
    state = ground(config).journal.verify()
    if json_:
        emit({"ok": True, "schema": "skillkeep/journal-state-v1", "lines": state.lines, "files": state.files,
              "head": state.head})  # fmt: skip
    else:
        lines, files = "line" if state.lines == 1 else "lines", "file" if state.files == 1 else "files"
        write(f"journal holds: {state.lines} {lines} in {state.files} {files}, head {state.head}")
    return 0

"""`skill ingest` and `skill status`: parse, call the door, print."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skillkeep.cli.ground import Ground, ground
from skillkeep.cli.options import (
    ConfigOption,
    JsonOption,
    NoCacheOption,
    NoInputOption,
    QuietOption,
    SuppressionsOption,
)
from skillkeep.cli.output import columns, emit, is_terminal, say, write
from skillkeep.cli.progress import terminal_progress
from skillkeep.text import escape

if TYPE_CHECKING:
    from skillkeep.ingest.outcome import Outcome
    from skillkeep.ingest.request import IngestRequest

__all__ = ["ingest", "pass_door", "status"]

_PROXIES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def ingest(
    source: Annotated[str, typer.Argument(help="Git URL (may end in #ref), folder, or zip or tar archive.")],
    ref: Annotated[str | None, typer.Option("--ref", help="Branch, tag or full commit id.")] = None,
    path: Annotated[str | None, typer.Option("--path", help="Folder or file inside the source.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name in the vault, instead of the tool's own.")] = None,
    origin: Annotated[str | None, typer.Option("--origin", help="Owner it comes from; never raises trust.")] = None,
    select: Annotated[list[str] | None, typer.Option("--select", help="Take this tool of several.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Take every tool of the source.")] = False,
    confirm: Annotated[bool, typer.Option("--confirm", help="Vault what was shown.")] = False,
    expect: Annotated[str | None, typer.Option("--expect", help="Vault only bytes of this digest.")] = None,
    grant: Annotated[list[str] | None, typer.Option("--grant", help="net:HOST:PORT, env:NAME or write:PATH.")] = None,
    audit: Annotated[bool, typer.Option("--audit", help="Show the audit of your own tools too.")] = False,
    suppressions: SuppressionsOption = None,
    no_cache: NoCacheOption = False,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    no_input: NoInputOption = False,
    config: ConfigOption = None,
) -> int:
    """Fetch, audit and (once confirmed) vault a tool. Example: skill ingest https://github.com/anthropics/skills"""
    from skillkeep.ingest.request import IngestRequest

    request = IngestRequest(
        source=source, ref=ref, path=path, name=name, origin=origin, select=select or (), everything=everything,
        confirm=confirm, expect=expect, grants=grant or (), audit=audit, suppressions=suppressions,
        cache=not no_cache,
        repeat=[word for option, file in (("--config", config), ("--suppressions", suppressions)) if file
                for word in (option, os.fspath(file.absolute()))],
    )  # fmt: skip
    return pass_door(request, ground(config), as_json=json_, quiet=quiet, no_input=no_input)


def pass_door(request: IngestRequest, standing: Ground, *, as_json: bool, quiet: bool, no_input: bool) -> int:
    """Take in what `request` names, ask where a person can be asked, print the outcomes; returns the exit code."""
    from dataclasses import replace

    from skillkeep.auditor.rubric.configured import rubric_options
    from skillkeep.cli.ending import orderly_end
    from skillkeep.ingest.outcome import exit_code, to_json
    from skillkeep.ingest.pipeline import ingest as take_in
    from skillkeep.ingest.render import outcome_text
    from skillkeep.ingest.request import Floor

    rubric = rubric_options(standing.settings.rubric, os.environ)
    floor = Floor.on(standing.home, standing.settings, standing.journal)
    may_ask = request.confirm and not (no_input or as_json) and is_terminal(sys.stdin) and is_terminal(sys.stderr)
    with orderly_end(), terminal_progress(quiet=quiet or may_ask) as progress:
        floor = replace(floor, progress=progress, proxy=_proxy(), rubric=rubric)
        outcomes = take_in(request, floor, _ask if may_ask else None)
    if as_json:
        emit(to_json(outcomes))
    else:
        write("\n\n".join(outcome_text(outcome) for outcome in outcomes))
    return int(exit_code(outcomes))


def _ask(outcome: Outcome) -> bool:
    from skillkeep.ingest.render import outcome_text

    say(outcome_text(outcome))
    return bool(typer.confirm("Vault it with these findings?", default=False, err=True))


def _proxy() -> str:
    return next((os.environ[name] for name in _PROXIES if os.environ.get(name)), "")


def status(json_: JsonOption = False, config: ConfigOption = None) -> int:
    """Show what waits for a confirmation, and the command that gives it. Example: skill status"""
    from skillkeep.ingest.quarantine import sweep
    from skillkeep.vault.reviews import Reviews

    standing = ground(config)
    sweep(standing.home, standing.journal)
    waiting = Reviews(standing.home).all()
    if json_:
        pending = [
            {"name": each.name, "digest": each.digest, "tier": int(each.tier), "verdict": each.verdict,
             "source": each.source_key, "path": each.artifact_path, "seen_at": each.seen_at, "next": each.command}
            for each in waiting
        ]  # fmt: skip
        emit({"ok": True, "schema": "skillkeep/status-v1", "pending": pending})
        return 0
    if not waiting:
        write("nothing waits for a confirmation")
        return 0
    rows = [(each.name, each.verdict, str(int(each.tier)), each.seen_at, each.source_key) for each in waiting]
    write(columns(rows, ("NAME", "VERDICT", "TIER", "SEEN", "SOURCE")))
    for each in waiting:
        write(f"\n{escape(each.command)}")
    return 0

"""``runner dry-run``: what waits, what it would change, and taking or dropping it. Parses and prints."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from skillkeep.cli.ground import ground
from skillkeep.cli.options import ConfigOption, JsonOption, QuietOption, new_app
from skillkeep.cli.output import columns, emit, is_terminal, say, write
from skillkeep.errors import Exit
from skillkeep.home import Home
from skillkeep.runner.dryrun.change import DryRun
from skillkeep.runner.dryrun.diff import describe, summary, whole
from skillkeep.runner.dryrun.run import Committed, commit, drop
from skillkeep.runner.dryrun.store import DryRuns
from skillkeep.runner.run import RunFloor
from skillkeep.text import escape, printable_path

__all__ = ["dry_run_app", "settle"]

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The dry run's id, or how it begins.")]


class Floors(Protocol):
    """Makes what a command stands on, from ``--config``."""

    def __call__(self, config: Path | None) -> RunFloor: ...


def dry_run_app(floors: Floors) -> typer.Typer:
    """A fresh group of commands."""
    app = new_app("Dry runs that wait: what a tool would have changed.")

    @app.command("list")
    def list_(json_: JsonOption = False, config: ConfigOption = None) -> int:
        """List the dry runs that wait to be committed or dropped. Example: runner dry-run list"""
        runs = DryRuns(ground(config).home).waiting()
        if json_:
            emit(
                {"ok": True, "schema": "skillkeep/dry-runs-v1", "dry_runs": [_printable(run.to_json()) for run in runs]}
            )
        else:
            rows = [(run.id, run.made_at, run.tool, "; ".join(map(summary, run.folders))) for run in runs]
            write(columns(rows, ("id", "made", "tool", "changes")) if rows else "no dry run waits")
        return Exit.OK

    @app.command("show")
    def show(identity: IdArgument, json_: JsonOption = False, config: ConfigOption = None) -> int:
        """Show what a dry run would change, as a difference. Example: runner dry-run show 1f2e"""
        home = ground(config).home
        run = DryRuns(home).load(identity)
        if json_:
            emit({"ok": True, **_shown(home, run)})
        else:
            write("\n".join(_lines(home, run)))
        return Exit.OK

    @app.command("commit")
    def commit_(
        identity: IdArgument, json_: JsonOption = False, quiet: QuietOption = False, config: ConfigOption = None
    ) -> int:
        """Make the changes of a dry run real. Exit 1 when some were refused. Example: runner dry-run commit 1f2e"""
        floor = floors(config)
        done = commit(DryRuns(floor.home).load(identity), floor)
        if json_:
            emit({"ok": not done.refused, "schema": "skillkeep/dry-run-commit-v1", **_committed(done)})
        else:
            _tell(done, quiet=quiet)
        return Exit.TOOL_FAILURE if done.refused else Exit.OK

    @app.command("drop")
    def drop_(
        identity: IdArgument, json_: JsonOption = False, quiet: QuietOption = False, config: ConfigOption = None
    ) -> int:
        """Forget a dry run; the project stays as it is. Example: runner dry-run drop 1f2e"""
        floor = floors(config)
        run = DryRuns(floor.home).load(identity)
        drop(run, floor)
        if json_:
            emit({"ok": True, "schema": "skillkeep/dry-run-drop-v1", "dropped": run.id})
        else:
            say(f"dropped the dry run {run.id}", quiet=quiet)
        return Exit.OK

    return app


def settle(run: DryRun, floor: RunFloor, *, at_once: bool, as_json: bool) -> tuple[dict[str, Any], bool]:
    """After a run: show what it would change, and commit it, drop it or keep it, as told or as asked at a terminal.

    `at_once` commits without a question, unless the tool failed. Returns JSON-able facts, and False when
    something was to be committed and was not.
    """
    failed = run.cause != "exit" or run.exit_code != 0
    if not as_json:
        for line in _lines(floor.home, run):
            say(line)
    shown = _shown(floor.home, run) if as_json else {}
    facts: dict[str, Any] = {**shown, "state": "kept", "committed": None}
    if run.empty:
        return {**facts, "state": "lost" if run.lost else "empty"}, not run.lost
    if at_once and failed:
        say(f"the tool failed: nothing was committed. To commit all the same: runner dry-run commit {run.id}")
        return facts, True
    answer = "c" if at_once else "k" if as_json else _ask()
    if answer == "c":
        done = commit(run, floor)
        _tell(done, quiet=as_json)
        state = "partly" if done.refused else "committed"
        return {**facts, "state": state, "committed": _committed(done)}, not (done.refused or run.lost)
    if answer == "d":
        drop(run, floor)
        return {**facts, "state": "dropped"}, True
    say(f"kept: runner dry-run commit {run.id}, or: runner dry-run drop {run.id}", quiet=as_json)
    return facts, True


def _ask() -> str:
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return "k"
    typer.echo("Commit, drop or keep for later? [c/d/K] ", nl=False, err=True)
    return (sys.stdin.readline().strip().lower() or "k")[0]


def _lines(home: Home, run: DryRun) -> Iterator[str]:
    yield f"dry run {run.id} of {escape(run.tool)}, {run.made_at}"
    for number, folder in enumerate(run.folders):
        yield from describe(folder, DryRuns(home).blobs(run, number))


def _shown(home: Home, run: DryRun) -> dict[str, Any]:
    """The record, with the difference of each folder."""
    facts: dict[str, Any] = _printable(run.to_json())
    for number, (folder, shown) in enumerate(zip(run.folders, facts["folders"], strict=True)):
        shown["difference"] = asdict(whole(folder, DryRuns(home).blobs(run, number)))
    return facts


def _tell(done: Committed, *, quiet: bool) -> None:
    for refusal in done.refused:
        say(f"not committed: {printable_path(refusal.change.path)}: {escape(refusal.why)}")
    say(f"committed {done.done} change{'s' * (done.done != 1)}", quiet=quiet)
    if done.left is not None:
        say(f"the rest is kept: runner dry-run show {done.left.id}", quiet=quiet)


def _committed(done: Committed) -> dict[str, Any]:
    refused = [{"path": printable_path(each.change.path), "why": escape(each.why)} for each in done.refused]
    return {"done": done.done, "refused": refused, "left": None if done.left is None else done.left.id}


def _printable(value: Any) -> Any:
    """Every text of a record escaped: paths and link targets are a stranger's."""
    if isinstance(value, dict):
        return {key: _printable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(inner) for inner in value]
    return escape(value) if isinstance(value, str) else value

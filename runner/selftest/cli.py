"""`runner selftest`: attack every sandbox of this machine and say which doors are open."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from skillkeep.cli.ending import orderly_end
from skillkeep.cli.ground import ground
from skillkeep.cli.options import ConfigOption, JsonOption, QuietOption, VerboseOption
from skillkeep.cli.output import emit, say, write
from skillkeep.errors import Exit, UsageError
from skillkeep.runner.interface import Availability, Backend
from skillkeep.runner.ladder import LOCAL, RUNGS, backend_factories
from skillkeep.runner.selftest.row import Row, Verdict
from skillkeep.settings import Settings

__all__ = ["SCHEMA", "selftest"]

SCHEMA = "skillkeep/selftest-v1"


def selftest(
    backend: Annotated[
        list[str] | None, typer.Option("--backend", help="Only this sandbox; may be repeated. Default: all that work.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this attack; may be repeated.")] = None,
    json_: JsonOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    config: ConfigOption = None,
) -> int:
    """Attack every sandbox that works here and show which doors are open. Example: runner selftest --backend native

    Takes well under a minute, does no harm where a door is open, and leaves nothing behind. Exit code: 0 when all is
    closed or open on purpose, 1 when a door is open or no sandbox works.
    """
    began = time.monotonic()
    chosen, absent = _chosen(ground(config).settings, backend or [])
    with orderly_end():
        rows = _attacked(chosen, only or [], quiet=quiet or json_)
    bad = [row for row in rows if row.verdict is Verdict.OPEN]
    tried = any(row.verdict is not Verdict.UNTESTED for row in rows)
    seconds = round(time.monotonic() - began, 1)
    if json_:
        shown = [row.to_json() for row in rows]
        missing = [state.to_json() for state in absent]
        emit({"ok": tried and not bad, "schema": SCHEMA, "seconds": seconds, "open": len(bad), "rows": shown,
              "unavailable": missing})  # fmt: skip
    else:
        _show(rows, absent, seconds, everything=verbose, asked=bool(backend))
    return Exit.OK if tried and not bad else Exit.TOOL_FAILURE


def _chosen(settings: Settings, names: list[str]) -> tuple[list[Backend], list[Availability]]:
    factories = {name: make for name, make in backend_factories(settings.sandbox).items() if name != LOCAL}
    for name in names:
        if name not in factories:
            known = ", ".join(factories)
            raise UsageError("usage", f"there is no sandbox {name!r} to test", f"Choose one of: {known}.")
    made = [factories[name]() for name in factories if not names or name in names]
    states = [each.probe() for each in made]
    working = [each for each, state in zip(made, states, strict=True) if state.available]
    return working, [state for state in states if not state.available]


def _attacked(backends: list[Backend], only: list[str], *, quiet: bool) -> list[Row]:
    from skillkeep.runner.selftest.bait import laid_out
    from skillkeep.runner.selftest.suite import attack_all, attack_with_network, known_names

    unknown = sorted(set(only) - known_names())
    if unknown:
        raise UsageError("usage", f"there is no attack {unknown[0]!r}", "`runner selftest --verbose` lists them.")
    rows: list[Row] = []
    for each in backends:
        say(f"attacking {each.name} (assurance here: {each.probe().level.name.lower()}) ...", quiet=quiet)
        with laid_out() as bait:
            rows += attack_all(each, bait, only)
            if each.name == "native" and not only:
                rows += attack_with_network(each, bait)
    return rows


def _show(rows: list[Row], absent: list[Availability], seconds: float, *, everything: bool, asked: bool) -> None:
    from skillkeep.runner.selftest.report import matrix, summary

    if rows:
        write(matrix(rows, everything=everything))
        write("")
        write(summary(rows))
    for state in absent:
        if state.backend in RUNGS:
            say(f"{state.backend}: not tested, it does not work here: {state.reason}")
    if not rows:
        none = "none that was asked for" if asked else "no sandbox"
        say(f"{none} works here; `runner doctor` says why")
        return
    doors = sum(row.verdict is Verdict.OPEN for row in rows)
    found = "no door is open that should not be" if not doors else f"{doors} doors are open that should not be"
    say(f"{found}; {len(rows)} attacks in {seconds} s")

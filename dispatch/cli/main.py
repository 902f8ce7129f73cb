"""The four console scripts. ``--version`` is answered before anything heavy is imported."""

from __future__ import annotations

import sys

from skillkeep.cli.streams import open_closed_streams
from skillkeep.version import __version__

__all__ = ["auditor", "runner", "skill", "vault"]


def skill() -> int:
    """`skill`: ingest, run and everything else below one name."""
    return _start("skill")


def auditor() -> int:
    """`auditor`: read code and report, without the rest of the pipeline."""
    return _start("auditor")


def vault() -> int:
    """`vault`: what has been approved, and its history."""
    return _start("vault")


def runner() -> int:
    """`runner`: the sandbox."""
    return _start("runner")


def _start(program: str) -> int:
    try:
        return _run(program)
    except KeyboardInterrupt:  # before the command has begun, which says so itself
        return 130


def _run(program: str) -> int:
    open_closed_streams()
    arguments = sys.argv[1:]
    if arguments and arguments[0] in {"--version", "-V"}:
        try:
            sys.stdout.write(f"{program} {__version__}\n")
            sys.stdout.flush()
        except OSError as error:
            from skillkeep.cli.failure import report

            return report(error, as_json=False)
        return 0
    from skillkeep.dispatch.cli.quick import quick_run

    if (code := quick_run(program, arguments)) is not None:
        return code
    from skillkeep.cli.entry import run_app
    from skillkeep.dispatch.cli.compose import compose

    return run_app(compose(program, arguments), arguments, program)

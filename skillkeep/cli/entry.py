"""From an argument list to an exit code: one place where errors become text or JSON."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import typer

from skillkeep.cli.output import emit, paint, say
from skillkeep.errors import Exit, SkillkeepError, UsageError
from skillkeep.text import escape

__all__ = ["report", "run_app"]

_SIGPIPE_EXIT = 141
_INTERRUPT_EXIT = 130


def run_app(app: typer.Typer, arguments: Sequence[str], program: str) -> int:
    """Run `app` on `arguments` and return the exit code. Commands return theirs as an int (None is 0).

    Every `SkillkeepError` is shown as text on stderr, or with ``--json`` as one object on stdout. A closed pipe ends
    quietly with 141, an interrupt with 130.
    """
    as_json = _wants_json(arguments)
    try:
        code = _invoke(app, list(arguments), program)
        sys.stdout.flush()
    except SkillkeepError as error:
        code = report(error, as_json=as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _SIGPIPE_EXIT
    except KeyboardInterrupt:
        say("interrupted")
        return _INTERRUPT_EXIT
    except Exception as error:
        code = report(error, as_json=as_json)
    return code


def _wants_json(arguments: Sequence[str]) -> bool:
    """True when ``--json`` (or ``--format json``) stands before a ``--``; known before arguments are parsed."""
    own = list(arguments[: arguments.index("--")]) if "--" in arguments else list(arguments)
    return "--json" in own or "--format=json" in own or ("--format", "json") in pairwise(own)


def _invoke(app: typer.Typer, arguments: list[str], program: str) -> int:
    from typer.exceptions import TyperException

    try:
        outcome = typer.main.get_command(app).main(arguments, prog_name=program, standalone_mode=False)
    except typer.Exit as wish:
        return wish.exit_code
    except typer.Abort:
        return _INTERRUPT_EXIT
    except SystemExit as end:
        # Click turns a closed pipe into exit 1 by itself, even when asked to leave errors alone
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    except TyperException as error:
        if _is_help(error):
            say(error.format_message())
            return Exit.USAGE
        raise _usage(error, program) from error
    return outcome if isinstance(outcome, int) else Exit.OK


def _is_help(error: Any) -> bool:
    """True for what Typer raises when a program is called without a word: its message is the whole help."""
    context = getattr(error, "ctx", None)
    return context is not None and bool(error.format_message() == context.get_help())


def _usage(error: Any, program: str) -> SkillkeepError:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    path = context.command_path if context else program
    return UsageError("usage", escape(message or "arguments are missing"), f"Run `{path} --help`.")


def report(error: Exception, *, as_json: bool, failure: Exit = Exit.TOOL_FAILURE) -> int:
    """Show an error and return the exit code for it; one that is not ours is shown as `internal_error`.

    `failure` takes the place of 1 (tool failure): `skill run` passes 125, because 1 may be the child's own.
    """
    known = error if isinstance(error, SkillkeepError) else _internal(error)
    try:
        if as_json:
            emit(known.to_json())
            sys.stdout.flush()
        else:
            say(f"{paint('error', 'red', sys.stderr)}[{known.code}]: {escape(known.message)}")
            for line in _details(known):
                say(f"  {line}")
            say(f"{paint('hint', 'blue', sys.stderr)}: {escape(known.hint)}")
    except BrokenPipeError:
        return _SIGPIPE_EXIT
    return int(failure if known.exit_code is Exit.TOOL_FAILURE else known.exit_code)


def _details(error: SkillkeepError) -> list[str]:
    """Simple facts of the context, one a line; long or nested ones are for ``--json``."""
    return [
        f"{key}: {escape(str(value))}"
        for key, value in error.context.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value) and len(str(value)) < 200
    ]


def _internal(error: Exception) -> SkillkeepError:
    if os.environ.get("SKILLKEEP_TRACEBACK"):
        traceback.print_exception(error)
    where = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    return SkillkeepError(
        "internal_error",
        f"a defect in Skillkeep: {type(error).__name__}: {escape(str(error))[:500]}",
        "Please report it with the output of the same command under SKILLKEEP_TRACEBACK=1.",
        at=f"{os.path.basename(where.filename)}:{where.lineno}" if where else "",
    )

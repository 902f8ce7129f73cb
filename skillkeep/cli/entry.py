"""From an argument list to an exit code: one place where errors become text or JSON."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import typer

from skillkeep.cli.everywhere import command_of
from skillkeep.cli.output import choose_colour, emit, paint, say
from skillkeep.errors import Exit, SkillkeepError, UsageError
from skillkeep.files import io_error, is_full
from skillkeep.text import escape

__all__ = ["report", "run_app"]

_SIGPIPE_EXIT = 141
_INTERRUPT_EXIT = 130
_USED_UP = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_UNKNOWN = re.compile(r"No such command '([a-z-]+)'")


def run_app(app: typer.Typer, arguments: Sequence[str], program: str) -> int:
    """Run `app` on `arguments` and return the exit code. Commands return theirs as an int (None is 0).

    Every `SkillkeepError` is shown as text on stderr, or with ``--json`` as one object on stdout. A closed pipe ends
    with 141 and an interrupt with 130, both without a word.
    """
    as_json = _wants_json(arguments)
    choose_colour("auto")
    try:
        code = _invoke(app, list(arguments), program)
        sys.stdout.flush()
    except KeyboardInterrupt:
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

    command = command_of(app)
    try:
        outcome = command.main(arguments, prog_name=program, standalone_mode=False)
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
        raise _usage(error, _words_of(command, arguments, program)) from error
    return outcome if isinstance(outcome, int) else Exit.OK


def _is_help(error: Any) -> bool:
    """True for what Typer raises when a program is called without a word: its message is the whole help."""
    context = getattr(error, "ctx", None)
    return context is not None and bool(error.format_message() == context.get_help())


def _words_of(command: Any, arguments: list[str], program: str) -> str:
    """The command that `arguments` name, for an error that does not know where it happened."""
    words = [program]
    for word in arguments:
        if below := getattr(command, "commands", {}).get(word):
            words.append(word)
            command = below
    return " ".join(words)


def _usage(error: Any, words: str) -> SkillkeepError:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    path = context.command_path if context else words
    hint = _elsewhere(context, message) or f"Run `{path} --help`."
    return UsageError("usage", escape(message or "arguments are missing"), hint)


def _elsewhere(context: Any, message: str) -> str:
    """A hint when an unknown command is known to a group: `skill doctor` is `skill runner doctor`."""
    word = _UNKNOWN.match(message)
    if context is None or word is None:
        return ""
    groups = [name for name, group in context.command.commands.items() if word[1] in getattr(group, "commands", ())]
    return f"Use {' or '.join(f'`{context.command_path} {name} {word[1]}`' for name in groups)}." if groups else ""


def report(error: Exception, *, as_json: bool, failure: Exit = Exit.TOOL_FAILURE) -> int:
    """Show an error and return the exit code for it; one that is not ours is shown as `internal_error`.

    `failure` takes the place of 1 (tool failure): `skill run` passes 125, because 1 may be the child's own. A closed
    pipe is no error: nothing is shown. An error that stdout has no room for is shown as text.
    """
    if isinstance(error, BrokenPipeError):
        return _nobody_reads()
    known = error if isinstance(error, SkillkeepError) else _foreign(error)
    try:
        if as_json:
            emit(known.to_json())
            sys.stdout.flush()
        else:
            _show(known)
    except BrokenPipeError:
        return _nobody_reads()
    except OSError:
        _drop_stdout()
        with contextlib.suppress(OSError):
            _show(known)
    return int(failure if known.exit_code is Exit.TOOL_FAILURE else known.exit_code)


def _nobody_reads() -> int:
    _drop_stdout()
    return _SIGPIPE_EXIT


def _drop_stdout() -> None:
    """What stdout has not taken is given to nobody, or Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show(error: SkillkeepError) -> None:
    say(f"{paint('error', 'red', sys.stderr)}[{error.code}]: {escape(error.message)}")
    for line in _details(error):
        say(f"  {line}")
    say(f"{paint('hint', 'blue', sys.stderr)}: {escape(error.hint)}")


def _details(error: SkillkeepError) -> list[str]:
    """Simple facts of the context, one a line; long or nested ones are for ``--json``."""
    return [
        f"{key}: {escape(str(value))}"
        for key, value in error.context.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value) and len(str(value)) < 200
    ]


def _foreign(error: Exception) -> SkillkeepError:
    """A full device and a limit that is reached are nobody's defect; anything else is ours."""
    if isinstance(error, OSError) and is_full(error):
        return io_error("write", error)
    if isinstance(error, OSError) and error.errno in _USED_UP:
        hint = "A limit of this user or machine is reached: end other programs, or raise it (`ulimit -a` shows them)."
        return SkillkeepError("io_error", f"cannot go on: {error.strerror}", hint, errno=errno.errorcode[error.errno])
    if os.environ.get("SKILLKEEP_TRACEBACK"):
        traceback.print_exception(error)
    where = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    return SkillkeepError(
        "internal_error",
        f"a defect in Skillkeep: {type(error).__name__}: {escape(str(error))[:500]}",
        "Please report it with the output of the same command under SKILLKEEP_TRACEBACK=1.",
        at=f"{os.path.basename(where.filename)}:{where.lineno}" if where else "",
    )

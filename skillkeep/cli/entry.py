"""From an argument list to an exit code."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import typer

from skillkeep.cli.everywhere import command_of
from skillkeep.cli.failure import report
from skillkeep.cli.output import choose_colour, say
from skillkeep.errors import Exit, SkillkeepError, UsageError
from skillkeep.text import escape

__all__ = ["run_app"]

_INTERRUPT_EXIT = 130
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

"""One place where errors become text or JSON, and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from skillkeep.cli.output import emit, paint, say
from skillkeep.errors import Exit, SkillkeepError
from skillkeep.files import io_error, is_full
from skillkeep.text import escape

__all__ = ["report"]

_SIGPIPE_EXIT = 141
_USED_UP = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


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
    if isinstance(error, MemoryError):
        hint = "Close other programs, or raise the limit of this user (`ulimit -v`)."
        return SkillkeepError("io_error", "cannot go on: there is no more memory", hint, errno="ENOMEM")
    import traceback  # it costs milliseconds; few commands fail

    if os.environ.get("SKILLKEEP_TRACEBACK"):
        traceback.print_exception(error)
    where = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    return SkillkeepError(
        "internal_error",
        f"a defect in Skillkeep: {type(error).__name__}: {escape(str(error))[:500]}",
        "Please report it with the output of the same command under SKILLKEEP_TRACEBACK=1.",
        at=f"{os.path.basename(where.filename)}:{where.lineno}" if where else "",
    )

"""`skill run NAME ENTRY ...` without options of ours, which agents call most.

The parser of options takes three bare starts of Python to be imported, and nothing here is there for it to read.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from skillkeep.runner.words import split_words

__all__ = ["quick_run"]


def quick_run(program: str, arguments: Sequence[str]) -> int | None:
    """Run such a command line and return its exit code; None for any other one, of which nothing was done."""
    if program not in {"skill", "runner"} or not arguments or arguments[0] != "run":
        return None
    if f"_{program.upper()}_COMPLETE" in os.environ:
        return None
    ours, theirs = split_words(arguments[1:], ())
    if len(ours) != 1 or ours[0].startswith("-") or not theirs:
        return None
    gc.disable()
    from skillkeep.cli.failure import report
    from skillkeep.errors import Exit

    try:
        from skillkeep.runner.cli.running import RunCommandLine, perform

        gc.freeze()  # what was imported is there to the end: neither it nor its end is worth a search for garbage
        gc.enable()
        code = perform(RunCommandLine(ours[0], tuple(theirs)))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return report(error, as_json=False, failure=Exit.RUN_FAILED)
    return code

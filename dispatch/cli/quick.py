"""Command lines that agents and hooks type most, read without a parser of options: `skill run NAME ENTRY ...` without
options of ours, `auditor scan PATH ...` and `skill audit PATH ...` with plain ones.

The parser takes three bare starts of Python to be imported, and the library of types that it reads values with four
more; nothing here is there for it to read.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from skillkeep.errors import Exit
from skillkeep.runner.words import split_words

__all__ = ["quick_run"]

_SCANS: Final = {("auditor", "scan"), ("skill", "audit")}
_RUNS: Final = {("runner", "run"), ("skill", "run")}
_FLAGS: Final = {
    "--json": "as_json", "--strict": "strict", "--no-semgrep": "no_semgrep", "--no-bandit": "no_bandit",
    "--no-cache": "no_cache", "--no-input": "", "--quiet": "quiet", "-q": "quiet", "--verbose": "verbose",
    "-v": "verbose",
}  # fmt: skip
"""Options of a scan without a value -> what they set of it; all of them are repeated without harm."""


def quick_run(program: str, arguments: Sequence[str]) -> int | None:
    """Run such a command line and return its exit code; None for any other one, of which nothing was done."""
    if not arguments or f"_{program.upper()}_COMPLETE" in os.environ:
        return None
    asked = (program, arguments[0])
    if asked in _RUNS:
        ours, theirs = split_words(arguments[1:], ())
        if len(ours) != 1 or ours[0].startswith("-") or not theirs:
            return None
        return _ended(lambda: _perform_run(ours[0], theirs), as_json=False, failure=Exit.RUN_FAILED)
    scan = _scan_of(arguments[1:]) if asked in _SCANS else None
    if scan is None:
        return None
    return _ended(lambda: _perform_scan(scan), as_json=bool(scan.get("as_json")) or scan.get("format") == "json")


def _scan_of(words: Sequence[str]) -> Mapping[str, Any] | None:
    """The fields of such a scan; None when a word among them is not as plain as that."""
    found: dict[str, Any] = {}
    paths = []
    left: Iterator[str] = iter(words)
    for word in left:
        if word in _FLAGS:
            if _FLAGS[word]:
                found[_FLAGS[word]] = True
        elif word in {"--format", "-f"}:
            chosen = next(left, "-")
            if chosen.startswith("-"):
                return None
            found["format"] = chosen
        elif not word or word.startswith("-"):
            return None
        else:
            paths.append(word)
    return {**found, "paths": paths} if paths else None


def _ended(perform: Callable[[], int], *, as_json: bool, failure: Exit = Exit.TOOL_FAILURE) -> int:
    """The exit code of what is performed, and an error shown as everywhere."""
    gc.disable()
    from skillkeep.cli.failure import report

    try:
        code = perform()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return report(error, as_json=as_json, failure=failure)
    return code


def _perform_run(name: str, words: Sequence[str]) -> int:
    from skillkeep.runner.cli.running import RunCommandLine, perform

    _keep_imported()
    return perform(RunCommandLine(name, tuple(words)))


def _perform_scan(scan: Mapping[str, Any]) -> int:
    from pathlib import Path

    from skillkeep.auditor.cli.scanning import ScanCommandLine, perform

    _keep_imported()
    return perform(ScanCommandLine(**{**scan, "paths": tuple(map(Path, scan["paths"]))}))


def _keep_imported() -> None:
    gc.freeze()  # what was imported is there to the end: neither it nor its end is worth a search for garbage
    gc.enable()

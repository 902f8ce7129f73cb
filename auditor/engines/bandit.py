"""bandit in this process: a second opinion on Python weaknesses. The only importer of bandit.

Its undocumented parts are used here and nowhere else: it is handed the bytes the audit has read (never a path),
in-file suppressions (``# nosec``) are ignored, and what it skips becomes a finding.
"""

from __future__ import annotations

import io
import warnings
from functools import cache
from typing import Any, ClassVar, Final

from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.tables import table

__all__ = ["ENGINE", "BanditEngine"]

_LONGEST: Final = 1 << 20


class BanditEngine(Engine):
    """Python files, by bandit's tests."""

    name: ClassVar[str] = "bandit"
    order: ClassVar[int] = 80

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge the file's own Python; snippets and derived text are left to our own engines."""
        if file.depth:
            return
        for segment in file.of(Context.PYTHON):
            if not segment.provenance:
                self._segment(segment, emit)

    def _segment(self, segment: Segment, emit: Emitter) -> None:
        if len(segment.text) > _LONGEST:
            emit.incomplete(segment.path, "the file is too large for bandit")
            return
        data = io.BytesIO(segment.text.encode("utf-8", "replace"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bandit's own imports, and of the parser about the audited code
            manager = _manager()
            manager.results, manager.skipped, manager.scores = [], [], []
            manager._parse_file(segment.path, data, [segment.path])
        for _name, reason in manager.skipped:
            if emit.was_understood(segment):  # else the Python engine has said so already
                emit.incomplete(segment.path, f"bandit: {reason}")
        for issue in manager.results:
            _report(issue, segment, emit)


def _report(issue: Any, segment: Segment, emit: Emitter) -> None:
    known = table("bandit")
    if issue.test_id in known["covered"]:
        if emit.was_understood(segment):
            return
        rule = "bandit-execution"
    else:
        rule = "bandit-weakness" if issue.test_id in known["weakness"] else "bandit-note"
    line = max(int(issue.lineno), 1)
    text = segment.text.split("\n")[line - 1] if line <= segment.text.count("\n") + 1 else ""
    column = min(max(int(issue.col_offset), 0), len(text)) + 1
    place = segment.place(line, column, line, len(text) + 1)
    emit.finding(rule, place, text[column - 1 :], f"{issue.test_id} ({issue.test}): {issue.text}", segment=segment)


@cache
def _manager() -> Any:
    """bandit's manager with the tests of our table; made once, its results are emptied for every file."""
    import logging

    logging.getLogger("bandit").setLevel(logging.CRITICAL + 1)
    from bandit.core.config import BanditConfig
    from bandit.core.manager import BanditManager

    known = table("bandit")
    wanted = {*known["weakness"], *known["note"], *known["covered"]}
    config = BanditConfig()  # type: ignore[no-untyped-call]
    return BanditManager(config, "file", profile={"include": wanted}, ignore_nosec=True)  # type: ignore[no-untyped-call]


ENGINE = BanditEngine()

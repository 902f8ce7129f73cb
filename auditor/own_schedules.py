"""Scheduled jobs that a tool's pages tell of: whoever reads that it runs every hour knows what outlives it.

Nothing is excused that fetches or decodes what the job runs, or starts it out of a folder for temporary files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.declared import without_comments
from skillkeep.auditor.engines.interface import Context, SourceFile
from skillkeep.auditor.lazily import lazily

__all__ = ["JOBS", "told_schedules"]

JOBS = frozenset({"crontab", "schtasks", "scheduled-job"})
"""What findings about such jobs name as their subject, in lower case."""

_TOLD = re.compile(
    r"\bcron(?:tab|[ -]?jobs?|s)?\b|\bschedul(?:e|es|ed|er|ing) (?:task|job|run|check|updat|backup|report)"
    r"|\btask scheduler\b|\bscheduled? tasks?\b|\bas a cron\b|定时任务|计划任务|任务计划|定期执行|クーロン|定期実行",
    re.IGNORECASE,
)
_BROUGHT = re.compile(
    r"\|[ \t]*(?:sudo[ \t]+)?(?:ba|z|da|k)?sh\b|\b(?:ba|z|da|k)?sh[ \t]+(?:-c[ \t]+)?[\"']?[$<]\("
    r"|base64[ \t]+-|b64decode|frombase64|/dev/tcp/|\beval\b|\biex\b|\bInvoke-Expression\b"
    r"|[*\d/,-][ \t]+(?:\w+[ \t]+)?/(?:tmp|var/tmp|dev/shm)/"
    r"|(?:curl|wget)[^\n]{0,200}(?:&&|;)[^\n]{0,60}\b(?:ba|z)?sh\b",
    re.IGNORECASE,
)
_PRINTED = lazily(r"(?m)^[ \t]*echo[ \t]+(?:-[en]+[ \t]+)?(?:\"[^\"`$\n]*\"|'[^'\n]*')[ \t]*$")  # for a reader


def told_schedules(
    raws: Sequence[Raw], pages: Callable[[], Iterable[SourceFile]], text_of: Callable[[str], str]
) -> frozenset[str]:
    """The subjects of findings about jobs that a page tells of in words, where no file that makes one brings its code.

    `pages` are the tool's files of text, `text_of` a path; both are read when there is such a finding.
    """
    making = {raw.finding.location.path for raw in raws if raw.subject.lower() in JOBS}
    if not making or any(_BROUGHT.search(_PRINTED.sub("", text_of(path))) for path in making):
        return frozenset()
    if not any(_tells(page) for page in pages()):
        return frozenset()
    return frozenset(raw.subject for raw in raws if raw.subject.lower() in JOBS)


def _tells(page: SourceFile) -> bool:
    if page.is_program:
        return False
    return any(_TOLD.search(without_comments(part.text)) for part in page.of(Context.INSTRUCTION, Context.METADATA))

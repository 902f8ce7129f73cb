"""Scheduled jobs and hooks of a repository that a tool's pages tell of: whoever reads of them knows what outlives it.

Nothing is excused that fetches or decodes what a job runs, or starts it out of a folder for temporary files; no hooks
for all repositories of a user, and none that connect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from skillkeep.auditor.collect import Raw
from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.declared import without_comments
from skillkeep.auditor.engines.interface import HOOKS, Context, SourceFile

__all__ = ["JOBS", "told_hooks", "told_schedules"]

JOBS = frozenset({"crontab", "schtasks", "scheduled-job"})
"""What findings about such jobs name as their subject, in lower case."""

_TOLD = compiled(
    r"\bcron(?:tab|[ -]?jobs?|s)?\b|\bschedul(?:e|es|ed|er|ing) (?:task|job|run|check|updat|backup|report)"
    r"|\btask scheduler\b|\bscheduled? tasks?\b|\bas a cron\b|定时任务|计划任务|任务计划|定期执行|クーロン|定期実行",
    re.IGNORECASE,
)
_BROUGHT = compiled(
    r"\|[ \t]*(?:sudo[ \t]+)?(?:ba|z|da|k)?sh\b|\b(?:ba|z|da|k)?sh[ \t]+(?:-c[ \t]+)?[\"']?[$<]\("
    r"|base64[ \t]+-|b64decode|frombase64|/dev/tcp/|\beval\b|\biex\b|\bInvoke-Expression\b"
    r"|(?<!tail -)(?<!tail -\d)(?<!tail -\d\d)(?<!head -)(?<!head -\d)(?<!head -\d\d)"  # these start nothing
    r"[*\d/,-][ \t]+(?:\w+[ \t]+)?/(?:tmp|var/tmp|dev/shm)/"
    r"|(?:curl|wget)[^\n]{0,200}(?:&&|;)[^\n]{0,60}\b(?:ba|z)?sh\b",
    re.IGNORECASE,
)
_CARRIES = compiled(  # a job that by itself brings code or carries something away
    r"(?i)(?:(?:[*\d/,-]{1,20}[ \t]{1,4}){5}|@(?:reboot|hourly|daily|weekly|monthly)[ \t]|/tr\b)[^\n]{0,300}?"
    r"(?:\bgit[ \t]+(?:-C[ \t]+\S+[ \t]+)?(?:pull|clone|fetch)\b|-(?:enc|EncodedCommand)\b"
    r"|\b(?:npx|bunx|uvx|pipx|pip3?[ \t]+install|nc|ncat|netcat|socat|telnet|ssh|scp|rsync|rclone|iwr|irm"
    r"|Invoke-WebRequest)\b|\b(?:perl|python3?|ruby|node|php)[ \t]+-\w*[ceEMr])"
)
_TABLE = compiled(
    r"\bcrontab\b(?:[ \t]+-u[ \t]+\S+)?[ \t]+(?:<[ \t]*)?[\"']?(?P<table>[^\s\"'`;&|<>()-][^\s\"'`;&|<>()]{1,160})"
    r"|\bcat[ \t]+(?:-[ \t]+)?[\"']?(?P<shown>[^\s\"'`;&|<>()-][^\s\"'`;&|<>()]{1,160})[^|\n]{0,80}\|[ \t]*crontab\b"
)
_VARIABLE = compiled(r"(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w{0,40})=[\"']?([\w./~-]{2,160})[\"']?[ \t]*$")
_WORD = compiled(r"[\w-]{1,60}\.\w{1,5}(?![\w/])")
_RENEWED = compiled(  # it fetches its folder anew, and runs something of it
    r"\bgit[ \t]+(?:-C[ \t]+\S+[ \t]+)?(?:pull|clone|fetch)\b[\s\S]{0,600}?(?:^|[;&|])[ \t]*(?:exec[ \t]+)?"
    r"(?:(?:(?:ba|z)?sh|python3?|node|source|\.)[ \t]+(?:-\w+[ \t]+)*[\"']?[\w.~$/{}-]*\w\.\w{1,4}\b|\./\w)",
    re.MULTILINE,
)
_TOLD_HOOKS = compiled(
    r"(?i)\bcore\.hooksPath\b|\bgit[ -]hooks?\b|\b(?:pre|post)-(?:commit|push|merge)\b[^.]{0,40}\bhooks?\b"
)
_HOOK = compiled(
    r"(?:^|/)(?:pre|post|prepare|commit|applypatch|update|reference|sendemail|fsmonitor)-?[a-z-]{0,30}(?:\.\w{1,4})?$"
)
_CONNECTS = compiled(
    r"(?i)\b(?:curl|wget|nc|ncat|netcat|socat|ssh|scp|rsync|rclone|nslookup|dig|Invoke-\w+|iwr|irm)\b|https?://"
    r"|\bfetch\(|\brequests\b"
    r"|\burllib\b|\bsocket\b|\bgit[ \t]+(?:push|credential|bundle|send-\w+|remote[ \t]+add)\b"
    r"|base64[ \t]+-|b64decode|frombase64|/dev/(?:tcp|udp)/|\beval\b|\biex\b|\bxxd[ \t]+-r"
)
_PAGES = (".md", ".mdx", ".markdown")
_FENCE = compiled(r"[ \t]*(?:[-*>][ \t]+)?(?:`{3,}|~{3,})")
_PRINTED = compiled(r"(?m)^[ \t]*echo[ \t]+(?:-[en]+[ \t]+)?(?:\"[^\"`$\n]*\"|'[^'\n]*')[ \t]*$")  # for a reader


def told_schedules(
    raws: Sequence[Raw], pages: Callable[[], Iterable[SourceFile]], text_of: Callable[[str], str]
) -> frozenset[str]:
    """The subjects of findings about jobs that a page tells of in words, where no file that makes one brings its code.

    `pages` are the tool's files of text, `text_of` a path; both are read when there is such a finding.
    """
    making = {(raw.finding.location.path, raw.finding.location.line) for raw in raws if raw.subject.lower() in JOBS}
    if not making or any(_brings(_around(text_of(path), path, at)) for path, at in making):
        return frozenset()
    files = list(pages())
    if any(_names_bringing(text_of(path), path, at, files) for path, at in making):
        return frozenset()
    if not any(_tells(page) for page in files):
        return frozenset()
    return frozenset(raw.subject for raw in raws if raw.subject.lower() in JOBS)


def _brings(making: str) -> bool:
    text = _PRINTED.sub("", making)
    return _BROUGHT.search(text) is not None or _CARRIES.search(text) is not None


def _names_bringing(text: str, path: str, number: int, files: Sequence[SourceFile]) -> bool:
    """True when a job is a table that brings its code or that nobody is seen to write, or a program that renews itself.

    The table that ``crontab FILE`` reads may be a file of the tool, or be written by any of its programs and blocks.
    """
    whole = text.split("\n")
    line = whole[number - 1] if 0 < number <= len(whole) else ""
    for name, value in _VARIABLE.findall(text):
        line = line.replace(f"${{{name}}}", value).replace(f"${name}", value)
    started = set(_WORD.findall(line))
    if any(file.path.rpartition("/")[2] in started and _RENEWED.search(file.text or "") for file in files):
        return True
    for table in {(found["table"] or found["shown"]).rpartition("/")[2] for found in _TABLE.finditer(line)}:
        if table.startswith("$"):
            continue
        told = [file for file in files if table in (file.text or "") or file.path.rpartition("/")[2] == table]
        if any(_brings(file.text or "") for file in told):
            return True
        if sum((file.text or "").count(table) + file.path.endswith(table) for file in told) <= line.count(table):
            return True
    return False


def _around(text: str, path: str, number: int) -> str:
    """What makes a job at that line: a whole program, of a page the fence that it stands in."""
    if not path.lower().endswith(_PAGES):
        return text
    lines = text.split("\n")
    fences = [at for at, line in enumerate(lines, 1) if _FENCE.match(line)]
    before, after = [at for at in fences if at < number], [at for at in fences if at > number]
    if len(before) % 2 == 0 or not after:
        return text
    return "\n".join(lines[before[-1] : after[0] - 1])


def _tells(page: SourceFile, told: re.Pattern[str] = _TOLD) -> bool:
    if page.is_program:
        return False
    return any(told.search(without_comments(part.text)) for part in page.of(Context.INSTRUCTION, Context.METADATA))


def told_hooks(
    raws: Sequence[Raw], pages: Callable[[], Iterable[SourceFile]], text_of: Callable[[str], str]
) -> frozenset[str]:
    """The subject of findings about hooks of one repository, where a page tells of them and no hook connects."""
    setting = {raw.finding.location.path for raw in raws if raw.subject == HOOKS}
    if not setting:
        return frozenset()
    files = list(pages())
    hooks = [file.path for file in files if _HOOK.search(file.path)]
    if any(_connects(text_of(path)) for path in (*setting, *hooks)):
        return frozenset()
    return frozenset({HOOKS}) if any(_tells(page, _TOLD_HOOKS) for page in files) else frozenset()


def _connects(text: str) -> bool:
    return _CONNECTS.search(text) is not None

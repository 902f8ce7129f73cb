"""Commands that a page says in its sentences, lists and tables, outside of any block of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from skillkeep.auditor.engines.interface import Context, Emitter, Segment
from skillkeep.auditor.engines.told_to_run import is_told_to_run
from skillkeep.auditor.languages import may_be_shell
from skillkeep.auditor.patterns import RarePattern

__all__ = ["said_commands"]

_COMMAND_LINE = RarePattern(re.compile(
    r"^[ \t>]*(?:[$*+-][ \t]+|\d+\.[ \t]+)?(?:(?:Run|Execute|Command|Then|Paste|Type|Enter)\b[^:\n`]{0,40}:[ \t]*)?"
    r"((?:sudo[ \t]+)?(?:/(?:usr/)?bin/)?"
    r"(?:curl|wget|bash|sh|zsh|nc|ncat|python3?|powershell|pwsh|eval|base64|chmod|rm|dd|crontab|echo)"
    r"[ \t]+[^\n`]{1,800})$",
    re.MULTILINE,
))  # fmt: skip
_FETCHED_AND_RUN = RarePattern(re.compile(  # in running text, where nothing marks it as a command
    r"(?<![`\w/.-])(?:(?:curl|wget)[ \t][^\n|`]{0,200}?https?://[^\s|`]{4,300}+[^\n|`]{0,60}+"
    r"\|[ \t]*(?:sudo[ \t]+)?(?:(?:ba|z|da)?sh|python3?|node|perl|ruby)(?=[.,;:!?)\"'*_]{0,3}(?:\s|\Z))"
    r"|(?:/(?:usr/)?bin/)?(?:ba|z)?sh[ \t]+<\([ \t]*(?:curl|wget)[ \t][^)\n`]{4,300}+\)"
    r"|(?:/(?:usr/)?bin/)?(?:(?:ba|z)?sh|python3?|node)[ \t]+-[ce][ \t]+[\"']?"
    r"\$\([ \t]*(?:curl|wget)[ \t][^)\n`]{4,300}+\)[\"']?"
    r"|(?:iex|Invoke-Expression)[ \t]*\(+[ \t]*(?:irm|iwr|New-Object)\b[^)\n`]{4,300}+\)+"
    r"|(?:irm|iwr)[ \t]+https?://[^\s|`]{4,300}+[ \t]*\|[ \t]*iex\b)"
))  # fmt: skip
_OPERATOR = re.compile(r"\||https?://|&&|[ \t]-\w")
_CODE_SPAN = re.compile(r"`([^`\n]{4,600})`")
_PUTS = re.compile(  # what it fetches into a file
    r"\b(?:(?:curl|iwr|Invoke-WebRequest)\b"
    r"(?=[^\n|]{0,400}(?:[ \t]-\w{0,8}o(?:utfile)?\b|[ \t]--(?:output|remote-name)|>))|(?:wget|aria2c|Start-BitsTransfer|certutil|bitsadmin)\b)[^\n|]{0,400}://[^\n|]{1,400}$",
    re.IGNORECASE,
)
_STEPS_AFTER = 1500  # characters behind a fetch in which its file is started
_MOST_STEPS = 12
_ROW = RarePattern(re.compile(
    r"^[ \t]{0,3}\|[^\n]{0,200}\b(?:curl|wget|irm|iwr)\b[^\n]{4,600}\\\|[^\n]{2,200}$", re.MULTILINE
))  # fmt: skip
_CELL = re.compile(r"(?<!\\)\|")
_TO_DO = re.compile(
    r"\b(?:commands?|runs?|steps?|install\w*|set-?up|execute|do|how|one-?liners?|prerequisites?)\b", re.IGNORECASE
)
_JUDGED = re.compile(  # what a table about attacks says of its rows
    r"\b(?:risk\w*|danger\w*|avoid|never|not|bad|malicious|attacks?|threats?|detect\w*|block\w*|den(?:y|ied)|severity"
    r"|findings?|patterns?|critical|unsafe|reject\w*|forbidden|flags?|why)\b",
    re.IGNORECASE,
)
_HIGHEST = 40  # rows between a table's head and one of its rows


def said_commands(segment: Segment, emit: Emitter) -> None:
    """Have commands in running text audited: a line that is one, what a sentence or a table tells to run."""
    text = segment.text
    for match in _COMMAND_LINE.finditer(text):
        if not _OPERATOR.search(match.group(1)):
            continue
        emit.derive(match.group(1), Context.SHELL, segment.locate(*match.span(1)), "command line", segment)
    told = [match for match in _CODE_SPAN.finditer(text) if _is_told(text, match)]
    for match in told:
        emit.derive(match.group(1), Context.SHELL, segment.locate(*match.span(1)), "inline code", segment)
    for steps in _in_steps(text, told):
        said = "\n".join(each.group(1) for each in steps)
        emit.derive(
            said, Context.SHELL, segment.locate(steps[0].start(1), steps[-1].end(1)), "inline code in steps", segment
        )
    for match in _FETCHED_AND_RUN.finditer(text):
        if is_told_to_run(text, *match.span()):
            emit.derive(match.group(), Context.SHELL, segment.locate(*match.span()), "running text", segment)
    for start, end, said in _in_tables(text):
        emit.derive(said, Context.SHELL, segment.locate(start, end), "a table", segment)


def _is_told(text: str, match: re.Match[str]) -> bool:
    if " " not in match.group(1) or not is_told_to_run(text, *match.span()):
        return False
    return may_be_shell(match.group(1))


def _in_steps(text: str, told: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """What is fetched into a file by one piece of inline code and may be started by the next ones."""
    first = next((match for match in told if _PUTS.search(match.group(1))), None)
    if first is None:
        return
    rest = _CODE_SPAN.finditer(text, first.end(), first.end() + _STEPS_AFTER)
    steps = [match for match in islice(rest, _MOST_STEPS) if is_told_to_run(text, *match.span())]
    if steps:
        yield [first, *steps]


def _in_tables(text: str) -> Iterator[tuple[int, int, str]]:
    """Cells that fetch something into a shell, in tables that say what to do and judge nothing."""
    for row in islice(_ROW.finditer(text), _MOST_STEPS):
        head = _head(text, row.start())
        if not _TO_DO.search(head) or _JUDGED.search(head):
            continue
        at, found, beside = row.start(), [], []
        for cell in _CELL.split(row.group()):
            said = cell.replace("\\|", "|").strip(" \t`")
            if _FETCHED_AND_RUN.search(said):
                found.append((at, at + len(cell), said))
            else:
                beside.append(cell)
            at += len(cell) + 1
        if not _JUDGED.search(" ".join(beside)):
            yield from found


def _head(text: str, start: int) -> str:
    """The first row of the table that has a row at `start`."""
    lines = text[:start].rsplit("\n", _HIGHEST + 1)
    head = ""
    for line in reversed(lines[:-1]):
        if not line.lstrip().startswith("|"):
            break
        head = line
    return head

"""Commands that a page says in its sentences, lists and tables, outside of any block of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Segment
from skillkeep.auditor.engines.told_to_run import is_told_to_run
from skillkeep.auditor.languages import may_be_shell
from skillkeep.auditor.patterns import RarePattern

__all__ = ["said_commands"]

_COMMAND_LINE: Final = RarePattern(compiled(
    r"^[ \t>]*(?:[$*+-][ \t]+|\d+\.[ \t]+)?(?:(?:Run|Execute|Command|Then|Paste|Type|Enter)\b[^:\n`]{0,40}:[ \t]*)?"
    r"((?:sudo[ \t]+)?(?:/(?:usr/)?bin/)?"
    r"(?:curl|wget|bash|sh|zsh|nc|ncat|python3?|powershell|pwsh|eval|base64|chmod|rm|dd|crontab|echo)"
    r"[ \t]+[^\n`]{1,800})$",
    re.MULTILINE,
))  # fmt: skip
_FETCHED_AND_RUN: Final = RarePattern(compiled(  # in running text, where nothing marks it as a command
    r"(?<![`\w/.-])(?:(?:curl|wget)[ \t][^\n|`]{0,200}?https?://[^\s|`]{4,300}+[^\n|`]{0,60}+"
    r"\|[ \t]*(?:sudo[ \t]+)?(?:(?:ba|z|da)?sh|python3?|node|perl|ruby)(?=[.,;:!?)\"'*_]{0,3}(?:\s|\Z|<)|[\"'\]})>])"
    r"|(?:/(?:usr/)?bin/)?(?:ba|z)?sh[ \t]+<\([ \t]*(?:curl|wget)[ \t][^)\n`]{4,300}+\)"
    r"|(?:/(?:usr/)?bin/)?(?:(?:ba|z)?sh|python3?|node)[ \t]+-[ce][ \t]+[\"']?"
    r"\$\([ \t]*(?:curl|wget)[ \t][^)\n`]{4,300}+\)[\"']?"
    r"|(?:iex|Invoke-Expression)[ \t]*\(+[ \t]*(?:irm|iwr|New-Object)\b[^)\n`]{4,300}+\)+"
    r"|(?:irm|iwr)[ \t]+https?://[^\s|`]{4,300}+[ \t]*\|[ \t]*iex\b)"
))  # fmt: skip
_OPERATOR: Final = compiled(r"\||https?://|&&|[ \t]-\w")
_CODE_SPAN: Final = compiled(r"`([^`\n]{4,600})`")
_PUTS: Final = compiled(  # what it fetches into a file
    r"\b(?:(?:curl|iwr|Invoke-WebRequest)\b"
    r"(?=[^\n|]{0,400}(?:[ \t]-\w{0,8}o(?:utfile)?\b|[ \t]--(?:output|remote-name)|>))"
    r"|(?:wget|aria2c|Start-BitsTransfer|certutil|bitsadmin)\b)[^\n|]{0,400}://[^\n|]{1,400}$",
    re.IGNORECASE,
)
_AND_THEN: Final = compiled(
    r"[\s,;:&]{0,4}(?:(?:and|then|finally|afterwards|followed|by|next|it)[\s,:]{1,4}){0,4}", re.IGNORECASE
)
_STEPS_AFTER: Final = 1500  # characters behind a fetch in which its file is started
_MOST_STEPS: Final = 12
_DOWNLOADERS: Final = ("curl", "wget", "irm", "iwr")
_LONGEST_ROW: Final = 4_000
_MOST_ROWS: Final = 40
_CELL: Final = compiled(r"(?<!\\)\|")
_TO_DO: Final = compiled(
    r"\b(?:commands?|runs?|steps?|install\w*|set-?up|execute|do|how|one-?liners?|prerequisites?|actions?|shell)\b",
    re.IGNORECASE,
)
_JUDGED: Final = compiled(  # what the head of a table about attacks says of its rows
    r"\b(?:risk\w*|danger\w*|avoid|never|not|bad|malicious|attacks?|threats?|detect\w*|block\w*|den(?:y|ied)|severity"
    r"|findings?|patterns?|critical|unsafe|reject\w*|refus\w*|forbidden|flags?|verdicts?)\b",
    re.IGNORECASE,
)
_CALLED_BAD: Final = compiled(  # the head above a command
    r"\b(?:risk(?:s|y)|danger\w*|avoid|never|not|bad|malicious|attacks?|threats?|detect\w*|block\w*|den(?:y|ied)|patterns?"
    r"|unsafe|reject\w*|refus\w*|forbidden|flags?|instead of|don't)\b",
    re.IGNORECASE,
)
_ASKED: Final = compiled(  # the head of a column that tells whether it is to be done
    r"[\W_]*(?:(?:is|should)[ \t](?:it|this|i|you)[ \t])?(?:be[ \t])?(?:allowed|permitted|ok(?:ay)?|safe|good"
    r"|recommended|accept(?:able|ed)|verdict|rule|when|(?:run|do|use|done)(?:[ \t](?:it|this))?)?[\W_]*",
    re.IGNORECASE,
)
_NOT_LEFT_OUT: Final = compiled(
    r"\b(?:never|not|don't)[ \t]+(?:be[ \t]+)?(?:skip|forget|omit|miss|optional|leave)\w*", re.IGNORECASE
)
_HARMLESS: Final = compiled(
    r"[ \t*_`]*(?:none|no|not|low|lowest|n/?a|-+|—|–|safe|ok|nil|zero|0|required|optional"
    r"|yes|always|info|pass|✓|✅)?[.!]?[ \t*_`\n]*",
    re.IGNORECASE,
)
_NEVER: Final = compiled(r"[ \t*_`]*(?:never|avoid|bad|no|not|don't|do not|wrong|✗|❌)[.!:]?[ \t*_`]*", re.IGNORECASE)


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
    for first in islice((match for match in told if _PUTS.search(match.group(1))), _MOST_STEPS):
        steps = [first]
        for match in islice(_CODE_SPAN.finditer(text, first.end(), first.end() + _STEPS_AFTER), _MOST_STEPS):
            between = text[steps[-1].end() : match.start()]
            if _AND_THEN.fullmatch(between) or is_told_to_run(text, *match.span()):
                steps.append(match)
        if len(steps) > 1:
            yield steps


def _in_tables(text: str) -> Iterator[tuple[int, int, str]]:
    """Cells that fetch something into a shell, in tables whose head says what to do."""
    return islice(_table_cells(text), _MOST_ROWS) if "\\|" in text else iter(())


def _table_cells(text: str) -> Iterator[tuple[int, int, str]]:
    head, at = "", 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if "|" not in line or len(line) > _LONGEST_ROW:
            head = ""
        elif not head:
            head = line
        elif "\\|" in line and any(word in line for word in _DOWNLOADERS) and _TO_DO.search(head):
            yield from _fetching(line, start, _CELL.split(head))


def _fetching(row: str, at: int, head: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The cells of a row that fetch something into a shell, but for those of which the table says that it is bad.

    That is said by the head above the cell, or by another cell of the row whose head judges or asks whether to do it:
    ``no`` below "Restart" is about something else.
    """
    pairs = list(zip_longest(_CELL.split(row), head, fillvalue=""))[: row.count("|") + 1]
    said = [cell.replace("\\|", "|").strip(" \t\n`") for cell, _ in pairs]
    fetching = [_FETCHED_AND_RUN.search(text) is not None for text in said]
    if any(_says_no(*pair) for pair, fetches in zip(pairs, fetching, strict=True) if not fetches):
        return
    for (cell, above), text, fetches in zip(pairs, said, fetching, strict=True):
        if fetches and not _CALLED_BAD.search(_NOT_LEFT_OUT.sub("", above)):
            yield at, at + len(cell), text
        at += len(cell) + 1


def _says_no(cell: str, head: str) -> bool:
    """True for a cell that calls its row bad, under its head; ``no`` below "Risk" does not."""
    if not cell.strip():
        return False
    if _JUDGED.search(_NOT_LEFT_OUT.sub("", head)):
        return not _HARMLESS.fullmatch(cell)
    return _NEVER.fullmatch(cell) is not None and _ASKED.fullmatch(head) is not None

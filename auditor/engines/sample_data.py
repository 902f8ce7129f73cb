"""Commands that a file of data keeps to be recognised: what a rule's pattern is for, and what a log says was run.

Nothing runs them there. A program that does is judged by what it runs, which it then takes from that file.
"""

from __future__ import annotations

import json
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Segment

__all__ = ["is_sample"]

_LONGEST_LINE: Final = 4_000
_LINES: Final = (".jsonl", ".ndjson")
_SAMPLE: Final = compiled(  # the start of a line, up to a place in the text of a rule's example
    r"[ \t]*\"(?:bad|positive|matches|must_match|should_match)(?:_example)?\"[ \t]*:[ \t]*\"(?:[^\"\\]|\\.)*"
)
_PATTERN: Final = compiled(r"\"(?:re|regex|regexp|pattern)\"[ \t]*:[ \t]*\"(?:[^\"\\]|\\.)+\"")
_SAID: Final = compiled(r"\"(?:id|level|severity|text|message|title|description)\"[ \t]*:")
_RUN: Final = compiled(r"(?i)\"(?:command|cmd|run|exec|script|args|hooks?|entrypoint)\"[ \t]*:")
_COMMAND_LINES: Final = ("CommandLine", "ProcessCommandLine", "ParentCommandLine")
_MARKS: Final = compiled(r"[|;&<>$`]|://")
_PLAIN: Final = (str, int, float, bool, type(None))
_PROCESSES: Final = frozenset({"Image", "ParentImage", "NewProcessName", "EventID", "ProcessId"})


def is_sample(segment: Segment, start: int) -> bool:
    """True at `start` in a file of JSON, for a rule's example beside its pattern or for a logged command line."""
    path = segment.path.rpartition("#")[2]
    if segment.provenance or segment.member or any(part.startswith(".") for part in path.split("/")):
        return False
    first = segment.text.rfind("\n", 0, start) + 1
    line = segment.text[first:].partition("\n")[0]
    if len(line) > _LONGEST_LINE:
        return False
    if path.endswith(_LINES):
        return _is_logged(line)
    return path.endswith(".json") and _is_example(segment.text, first, start)


def _is_example(text: str, first: int, start: int) -> bool:
    if not _SAMPLE.fullmatch(text[first:start]):
        return False
    rule = text[max(text.rfind("{", 0, first), start - _LONGEST_LINE) : start + text[start:].find("}") + 1]
    told = len({found[0] for found in _SAID.finditer(rule)}) > 1
    return told and _PATTERN.search(rule) is not None and _RUN.search(rule) is None


def _is_logged(line: str) -> bool:
    """True for a line that is one process of a log, by the names that Windows and Sysmon give its fields."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(event, dict) or _PROCESSES.isdisjoint(event) or _RUN.search(line):
        return False
    others = [value for name, value in event.items() if name not in _COMMAND_LINES]
    return len(others) < len(event) and all(
        isinstance(each, _PLAIN) and not _MARKS.search(str(each)) for each in others
    )

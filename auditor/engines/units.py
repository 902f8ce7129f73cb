"""What the files of systemd, launchd, desktops and cron start: command lines, as a shell would be given them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["is_unit", "unit_commands"]

_ENDINGS: Final = (".service", ".desktop", ".plist")
_CRON: Final = compiled(r"(?i)(?:^|[/.])cron(?:tab)?$|/cron\.d/[^/]+$|/crontabs/[^/]+$")
_TIMED: Final = compiled(
    r"^[ \t]*(?:@(?:reboot|hourly|daily|midnight|weekly|monthly|yearly|annually)[ \t]+|"
    r"(?:[\d*][\w*,/-]{0,40}[ \t]+){5})(?:root[ \t]+)?(?P<line>[^\n]+)",
    re.MULTILINE,
)
_EXEC: Final = compiled(
    r"^[ \t]*Exec(?:(?:Start|Stop|Reload|Condition)(?:Pre|Post)?)?[ \t]*=[ \t]*[-@:+!|]{0,4}"
    r"(?P<line>(?:[^\\\n]|\\\n|\\.)+)",
    re.MULTILINE,
)
_ARGUMENTS: Final = compiled(
    r"<key>\s{0,40}ProgramArguments\s{0,40}</key>\s{0,40}<array>(?P<words>[^\0]{0,8000}?)</array>"
)
_PROGRAM: Final = compiled(r"<key>\s{0,40}Program\s{0,40}</key>\s{0,40}<string>(?P<words>[^<]{1,400})</string>")
_WORD: Final = compiled(r"<string>([^<]{0,4000})</string>")
_ENTITIES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&#10;", "\n"), ("&amp;", "&"))
_MOST: Final = 40


def is_unit(name: str) -> bool:
    """True for the name of a file that systemd, launchd, a desktop or cron reads commands in."""
    return name.lower().endswith(_ENDINGS) or _CRON.search(name) is not None


def unit_commands(text: str) -> Iterator[tuple[int, str]]:
    """Where each command of a unit, launch item, desktop entry or cron table stands in `text`, and the command.

    At most 40 of each kind.
    """
    for found in islice(_TIMED.finditer(text), _MOST):
        yield found.start("line"), found["line"].strip()
    for found in islice(_EXEC.finditer(text), _MOST):
        yield found.start("line"), found["line"].replace("\\\n", " ").strip()
    for found in islice(_ARGUMENTS.finditer(text), _MOST):
        words = [_plain(word) for word in _WORD.findall(found["words"])]
        if words:
            yield found.start("words"), shlex.join(words)
    for found in islice(_PROGRAM.finditer(text), _MOST):
        yield found.start("words"), shlex.quote(_plain(found["words"]))


def _plain(text: str) -> str:
    """What XML means by `text`."""
    for entity, character in _ENTITIES if "&" in text else ():
        text = text.replace(entity, character)
    return text

"""What the words of a command say of its output: settings for a shell, a part of a data file, that of an own script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.printing import PLAIN_NAME
from skillkeep.auditor.engines.shell.site import Call

__all__ = [
    "cut_from",
    "data_files",
    "is_completion",
    "is_in_prose",
    "is_own",
    "is_own_public_key",
    "is_setting",
    "is_sum",
]

_READERS: Final = frozenset({"cat", "head", "tail", "tac", "sed", "awk", "tr", "rev", "base64", "xxd", "strings", "dd"})
_RUNNERS: Final = frozenset({"bash", "sh", "python", "python3", "node", "ruby"})
_BESIDE: Final = compiled(rf"(?:\./|{HOLE}/)?(?:[\w-]+/){{0,6}}[\w-]+\.(?:sh|bash|py|js|mjs|rb)")
_SETTING_WORDS: Final = frozenset(
    {
        "--env",
        "env",
        "init",
        "hook",
        "shellenv",
        "shell-init",
        "export",
        "completion",
        "completions",
        "activate",
        "print-env",
        "signin",
        "-Mlocal::lib",
        "--bash",
        "--zsh",
        "--fish",
    }
)
_NUMBERS: Final = frozenset(  # ``X=1``, ``Y=2`` …
    {
        ("xdotool", "getmouselocation", "--shell"),
        ("xdotool", "getdisplaygeometry", "--shell"),
        ("xdotool", "getwindowgeometry", "--shell"),
    }
)
_COMPLETION: Final = compiled(r"(?:bash|zsh|fish)_source|source_(?:bash|zsh|fish)|source")
_CUTTERS: Final = _READERS | {"grep", "egrep", "cut", "perl", "zcat", "gunzip"}
_DATA_FILE: Final = compiled(  # all but what a program, or the pattern of one, is called
    r"(?i)^(?!.{0,210}\.(?:(?:ba|z|k|da|fi|c|tc)?sh|command|py[wc]?|rb|pl|pm|[cm]?[jt]sx?|ps[dm]?1|bat|cmd|php\d?"
    r"|lua|awk|sed|tcl|r|jl|env|envrc|conf|cfg|config|\w{0,10}rc|profile|inc|lib|defaults?|exe|com|app|run|out"
    r"|gz|tgz|xz|bz2|zst|zip|tar)(?:\.(?:tmpl|tpl|j2|in|orig|bak|old|new|tmp))?$"
    r"|.{0,210}\.(?:example|sample|template|dist)$)[\w~./-]{0,200}[\w~-]\.[a-z][a-z0-9]{0,7}$"
)
_PROSE_BRACKET: Final = compiled(r"[a-z]{2,} [a-z]{2,}[a-z, ]{0,40} \($")
_PUBLIC_KEY: Final = compiled(r"(?:~|/home/[\w.-]+|/root|/Users/[\w.-]+)/\.ssh/[\w*.-]+\.pub")
_REQUEST: Final = compiled(r"`(?:GET|POST|PUT|PATCH|DELETE) (?:https?:/)?/[\w./:{}<>?=&-]{1,200}`[ \t]*(?:\n|\Z)")
_HEADING: Final = compiled(r"^\*\*[A-Z][\w ]{2,40}:?\*\*:?[ \t]*$", re.MULTILINE)
_SUM: Final = compiled(r"[\s\d+*/%-]+\)\)")


def data_files(call: Call) -> list[str]:
    """Files that hold no program by their names, of which `call` prints a part."""
    return cut_from([call.name, *call.operands])


def cut_from(words: Sequence[str], copying: frozenset[str] = frozenset()) -> list[str]:
    """The same of a command's words; programs of `copying` take them whole."""
    if not words or (words[0] not in _CUTTERS and words[0] not in copying):
        return []
    return [item for item in words[1:] if _DATA_FILE.match(item)]


def is_setting(words: Sequence[str]) -> bool:
    """True for ``program completion bash``, all of it written down."""
    if not words or not PLAIN_NAME.fullmatch(words[0]) or words[0] in _READERS or HOLE in "".join(words):
        return False
    return not _SETTING_WORDS.isdisjoint(words[1:]) or (*words[:2], words[-1]) in _NUMBERS


def is_completion(program: str, asked: Sequence[tuple[str, str]]) -> bool:
    """True for ``_HASS_CLI_COMPLETE=bash_source hass-cli``: click's words for its own program's completions."""
    variable = f"_{program.upper().replace('-', '_')}_COMPLETE"
    plain = PLAIN_NAME.fullmatch(program) is not None and program not in _READERS
    return plain and len(asked) == 1 and asked[0][0] == variable and _COMPLETION.fullmatch(asked[0][1]) is not None


def is_own(words: Sequence[str]) -> bool:
    """True for ``./scripts/env.sh``, ``python3 scripts/env.py``: a script beside the text, which is audited itself."""
    rest = [word for word in words if not word.startswith("-")]
    rest = rest[1:] if rest and rest[0] in _RUNNERS else rest
    return bool(rest) and _BESIDE.fullmatch(rest[0]) is not None


def is_sum(text: str, start: int, end: int, last: int) -> bool:
    """True for ``$(($(date +%s) * 1000))``, which some places make the parser take for a command in a command.

    The first word is ``text[start:end]``, and the command ends at `last`.
    """
    return text[:start].endswith("$((") and _SUM.fullmatch(text[end : last + 2].strip()) is not None


def is_in_prose(text: str, at: int) -> bool:
    """True for a backtick after ``word (``: no shell reads that, so the block is prose with a name in backticks.

    So is one whose fence was never closed: a request in backticks on a line of its own, beside headings in stars.
    """
    if text[at : at + 1] != "`":
        return False
    asked = _REQUEST.match(text, at) is not None and _HEADING.search(text) is not None
    return asked or bool(_PROSE_BRACKET.search(text[max(0, at - 80) : at]))


def is_own_public_key(before: Sequence[Call]) -> bool:
    """True for ``cat ~/.ssh/id_ed25519.pub |``: what everybody who logs in with a key gives to the other machine."""
    if len(before) != 1 or before[0].name != "cat" or before[0].command.redirects:
        return False
    return bool(before[0].arguments) and all(map(_PUBLIC_KEY.fullmatch, before[0].arguments))

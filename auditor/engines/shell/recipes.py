"""Commands in the files of build services (``run:``, ``script:`` …), as segments with their true lines.

They are read by their indentation, so that a file that is no valid YAML, or uses the service's own tags, is read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.interface import Context, Segment, SourceFile

__all__ = ["given_names", "recipes"]

_FILES: Final = re.compile(
    r"(?i)(?:^|/)(?:\.github/workflows/[^/]+|action|\.gitlab-ci|\.circleci/config|azure-pipelines|bitbucket-pipelines"
    r"|\.travis|cloudbuild|taskfile|\.drone|\.pre-commit-config|(?:docker-)?compose[^/]*)\.ya?ml$"
)
_KEY: Final = re.compile(
    r"^([ ]*)((?:-[ ]+)?)(?:run|script|before_script|after_script|install|before_install|command|cmd|cmds|bash|entry"
    r"|post-create|inlineScript)[ ]*:[ ]*(.*)$"
)
_BLOCK: Final = re.compile(r"[|>][+-]?\d?[+-]?[ ]*(?:#.*)?")
_ITEM: Final = re.compile(r"^([ ]*)-[ ]+(.*)$")
_EXPRESSION: Final = re.compile(r"\$\{\{[^\n]{0,400}?\}\}")
_NAME: Final = re.compile(r"(?m)^[ ]*(?:-[ ]+)?([A-Za-z_]\w*)[ ]*[:=]")
_MOST: Final = 400


def recipes(file: SourceFile) -> Iterator[Segment]:
    """The commands of a build service's file; nothing for other files."""
    if file.text is None or not _FILES.search(file.known_as):
        return
    lines = _EXPRESSION.sub(lambda found: "_" * len(found[0]), file.text).split("\n")
    number, found = 0, 0
    while number < len(lines) and found < _MOST:
        key = _KEY.match(lines[number])
        if key is None:
            number += 1
            continue
        indent = len(key[1]) + len(key[2])
        body, first, cut = _body(lines, number, indent, key)
        if body.strip():
            found += 1
            yield Segment(file.path, Context.SHELL, body, first, cut, file.place, ("recipe",))
        number += max(body.count("\n"), 1)


def given_names(file: SourceFile) -> frozenset[str]:
    """What the file itself sets, such as the variables below ``env:``."""
    return frozenset(_NAME.findall(file.text or ""))


def _body(lines: list[str], number: int, indent: int, key: re.Match[str]) -> tuple[str, int, int]:
    """The commands after a key, the line (1-based) and the columns cut off."""
    value = key[3].strip()
    if value and not _BLOCK.fullmatch(value):
        plain = value.strip("'\"") if value[0] in "'\"" else value
        return plain, number + 1, lines[number].find(plain)
    below = []
    for line in lines[number + 1 :]:
        if line.strip() and len(line) - len(line.lstrip(" ")) <= indent and not (not value and _ITEM.match(line)):
            break
        if not value and line.strip() and len(line) - len(line.lstrip(" ")) < indent:
            break
        below.append(line)
    width = min((len(line) - len(line.lstrip(" ")) for line in below if line.strip()), default=0)
    if value:
        return "\n".join(line[width:] for line in below), number + 2, width
    return "\n".join(_ITEM.sub(_plain, line)[width:] for line in below), number + 2, width


def _plain(item: re.Match[str]) -> str:
    """A list's item as a line of its own; the mark of a block goes."""
    return f"{item[1]}  {'' if _BLOCK.fullmatch(item[2]) else item[2]}"

"""Commands in the files of build services (``run:``, ``script:`` …) and of a Procfile, as segments with true lines.

They are read by their indentation, so that a file that is no valid YAML, or uses the service's own tags, is read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Segment, SourceFile

__all__ = ["given_names", "held_secrets", "recipes"]

_FILES: Final = compiled(
    r"(?i)(?:^|/)(?:\.github/workflows/[^/]+|action|\.gitlab-ci|\.circleci/config|azure-pipelines|bitbucket-pipelines"
    r"|\.travis|cloudbuild|taskfile|\.drone|\.pre-commit-config|(?:docker-)?compose[^/]*)\.ya?ml$"
)
_WORKFLOW: Final = compiled(r"^[ ]+runs-on:[ ]", re.MULTILINE)  # wherever it lies, such as a template of one
_KEY: Final = compiled(
    r"^([ ]*)((?:-[ ]+)?)(?:run|script|before_script|after_script|install|before_install|command|cmd|cmds|bash|entry"
    r"|post-create|inlineScript)[ ]*:[ ]*(.*)$"
)
_BLOCK: Final = compiled(r"[|>][+-]?\d?[+-]?[ ]*(?:#.*)?")
_ITEM: Final = compiled(r"^([ ]*)-[ ]+(.*)$")
_EXPRESSION: Final = compiled(r"\$\{\{[^\n]{0,400}?\}\}")
_NAME: Final = compiled(r"(?m)^[ ]*(?:-[ ]+)?([A-Za-z_]\w*)[ ]*[:=]")
_SECRET: Final = compiled(r"\$\{\{[ ]{0,9}secrets\.(\w{1,80})[ ]{0,9}\}\}")
_HELD: Final = compiled(r"(?m)^[ ]*(?:-[ ]+)?([A-Za-z_]\w*)[ ]*:[ ]*[\"']?" + _SECRET.pattern)
_PROCFILE: Final = compiled(r"(?i)(?:^|/)procfile(?:[.-][\w.-]+)?$")
_PROCESS: Final = compiled(r"^([\w-]{1,60}:[ \t]*)(\S.*)$")
_LISTS: Final = compiled(r"(?i)(?:^|/)(?:package|deno|composer)\.jsonc?$")
_LIST: Final = compiled(r"\"(?:scripts|tasks)\"\s{0,9}:\s{0,9}\{([^{}]{0,20000})\}")
_LISTED: Final = compiled(r"\"[\w.:@/-]{1,80}\"\s{0,9}:\s{0,9}\"((?:[^\"\\\n]|\\.){3,4000})\"")
_TABLES: Final = compiled(r"(?i)(?:^|/)(?:mise|\.mise|pyproject|pixi|makefile|cargo-make|bunfig|hatch)\.toml$")
_TABLE: Final = compiled(r"^\[+[^\]\n]*\b(?:tasks?|scripts?|hooks?|commands?|aliase?s?|cmd)\b")
_ENTRY: Final = compiled(
    r"^\s{0,40}[\"']?[\w.:-]{1,80}[\"']?\s{0,9}=\s{0,9}(?P<quote>[\"'])(?P<body>.{3,4000})(?P=quote)\s{0,9}$"
)
_BOUND: Final = compiled(r"\b(?:\w{1,20}V|v)ariable[ \t]*:[ \t]*[\"']([A-Za-z_]\w{0,60})[\"']")
_UNQUOTED: Final = compiled(r"\\([\"'\\])")
_PIPELINE: Final = compiled(r"(?i)(?:^|/)jenkinsfile(?:\.[\w-]+)?$")
_STEP: Final = compiled(
    r"(?<![\w.$])sh[ \t]{0,9}\(?\s{0,9}(?:script[ \t]{0,9}:[ \t]{0,9})?"
    r"(?:\"\"\"(?P<long>(?:[^\"\\]|\\.|\"(?!\"\")){1,8000})\"\"\"|'''(?P<raw>(?:[^'\\]|\\.|'(?!'')){1,8000})'''"
    r"|\"(?P<short>(?:[^\"\\\n]|\\.){3,4000})\"|'(?P<plain>(?:[^'\\\n]|\\.){3,4000})')"
)
_COMMANDS: Final = compiled(r"(?m)^(?:commands|commands_pre|commands_post)[ \t]*=[ \t]*(.*(?:\n[ \t]+\S.*)*)")
_MOST: Final = 400


def recipes(file: SourceFile) -> Iterator[Segment]:
    """The commands of a build service's file; nothing for other files."""
    if file.text is None:
        return
    if _PROCFILE.search(file.known_as):
        for number, line in enumerate(file.text.split("\n")[:_MOST], 1):
            if process := _PROCESS.match(line):
                yield Segment(file.path, Context.SHELL, process[2], number, len(process[1]), file.place, ("recipe",))
    yield from _listed(file, file.text)
    for step in islice(_STEP.finditer(file.text), _MOST) if _PIPELINE.search(file.known_as) else ():
        group = step.lastgroup or "plain"
        body = step[group] if "\n" in step[group] else _UNQUOTED.sub(r"\1", step[group])
        yield Segment(file.path, Context.SHELL, body, *_place(file.text, step.start(group)), file.place, ("recipe",))
    if not _FILES.search(file.known_as) and not _is_workflow(file):
        return
    lines = _EXPRESSION.sub(_spelled, file.text).split("\n")
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


def _is_workflow(file: SourceFile) -> bool:
    return file.known_as.lower().endswith((".yml", ".yaml")) and bool(_WORKFLOW.search(file.text or ""))


def _listed(file: SourceFile, text: str) -> Iterator[Segment]:
    """The commands of a package's or a task runner's own list, as far as their line tells where they stand."""
    if _LISTS.search(file.known_as):
        for table in _LIST.finditer(text):
            for found in _LISTED.finditer(text, table.start(1), table.end(1)):
                body = found[1].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
                yield Segment(file.path, Context.SHELL, body, *_place(text, found.start(1)), file.place, ("recipe",))
    elif _TABLES.search(file.known_as):
        inside = False
        for number, line in enumerate(text.split("\n")[: _MOST * 10], 1):
            inside = bool(_TABLE.match(line)) if line.startswith("[") else inside
            if inside and (entry := _ENTRY.match(line)):
                body = entry["body"].replace('\\"', '"')
                yield Segment(file.path, Context.SHELL, body, number, entry.start("body"), file.place, ("recipe",))
    elif file.known_as.lower().endswith("tox.ini"):
        for found in _COMMANDS.finditer(text):
            yield Segment(file.path, Context.SHELL, found[1], *_place(text, found.start(1)), file.place, ("recipe",))


def _place(text: str, at: int) -> tuple[int, int]:
    """The line (1-based) and column of a character."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at) - 1


def given_names(file: SourceFile) -> frozenset[str]:
    """What the file itself sets, such as the variables below ``env:``, and those that a pipeline binds to a login."""
    return frozenset(_NAME.findall(file.text or "")).union(_BOUND.findall(file.text or ""))


def held_secrets(file: SourceFile) -> dict[str, str]:
    """The secrets of the build service that the file takes: by variable, and by the secret's own name."""
    text = file.text or ""
    own = {name: name for name in _SECRET.findall(text)}
    return {**own, **dict(_HELD.findall(text))}


def _spelled(found: re.Match[str]) -> str:
    """An expression as a shell would know it, just as long: a secret as its variable, others as a word."""
    secret = _SECRET.fullmatch(found[0])
    return (f"${{{secret[1]}}}" if secret else "").ljust(len(found[0]), "_")


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

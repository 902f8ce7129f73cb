"""All settings of a project or of the user that a page or a script gives to a program of the tool which connects.

A program reads the settings that it needs by itself. Who puts the whole of ``.env`` or of the environment into an
argument, or feeds it, has it sent where the program sends what it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.interface import Context, SourceTree
from skillkeep.auditor.engines.network import is_near
from skillkeep.auditor.interface import Location

__all__ = ["given_settings"]

Given = tuple[Location, str, str]  # where it is given, that command, and what to which program

_FILE: Final = (
    r"[\"']?[\w$~{}./-]{0,60}\.env(?!\w)(?:\.(?!example|sample|template|dist)\w+)*[\"']?(?=[ \t)|<>&;`\"'\n]|\Z)"
)
_PRINTS: Final = (
    rf"(?:(?:cat|base64|base32|tac|nl|xxd|od|strings|gzip|rev)\b[^|;&<>()`\n]{{0,60}}?[ \t]{_FILE}"
    rf"|(?:cat[ \t]*|base64[ \t]*)?<[ \t]*{_FILE}"
    r"|(?<![\w./-])(?:env|printenv|export -p|declare -[xp]+|set)(?=[ \t]*[)|`]))"
)
_ENCODED: Final = r"(?:[ \t]*\|[ \t]*(?:base64|base32|gzip|xxd|tr|rev|sort|tee|jq|cat|od|openssl)\b[^|;&()`\n]{0,60})*"
_ALL: Final = rf"[ \t]*{_PRINTS}{_ENCODED}[ \t]*"
_RUN: Final = (
    r"(?:\b(?:python[\d.]*|node|bun|deno|tsx|ts-node|ruby|perl|php|bash|sh|zsh)[ \t]+(?:run[ \t]+)?"
    r"(?:-[\w=-]+[ \t]+){0,4}|(?<![\w/.])(?=\.{0,2}/))"
    r"[\"']?(?:[^\s\"';|&()<>]*/)?(?P<name>[\w.-]{1,60}\.(?:py|[cm]?[jt]s|rb|pl|php|sh|bash))[\"']?(?=\s|\Z)"
)
_SET: Final = compiled(rf"^[ \t]*(?:export[ \t]+)?(?P<set>\w{{1,40}})=[\"']?(?:\$\({_ALL}\)|`{_ALL}`)", re.MULTILINE)
_FED: Final = compiled(
    rf"{_PRINTS}{_ENCODED}[ \t]*\|[ \t]*(?:\w+=\S+[ \t]+)?{_RUN}"
    rf"|{_RUN.replace('name', 'fed')}[^|;&\n]{{0,200}}?[ \t]<[ \t]*{_FILE}"
)
_MAY: Final = compiled(r"\.env\b|(?:env|set|-[xp]+)[ \t]*[)|`]")
_MOST: Final = 20


def given_settings(tree: SourceTree, documents: Documents) -> Iterator[Given]:
    """Every command of `tree` that gives all settings to one of its own programs, where those connect."""
    del documents  # whatever they say of an interface: no one of them is for all settings
    away = {each.evidence.path for each in tree.capabilities if each.kind == "network" and not is_near(each.value)}
    programs = {file.path.rpartition("/")[2] for file in tree.files if file.is_program}
    if not any(not path.lower().endswith((".md", ".txt")) for path in away):
        return
    for file in tree.files:
        for segment in file.of(Context.SHELL):
            text = segment.text
            if not _MAY.search(text):
                continue
            for found in islice(_given(text), _MOST):
                name = next(filter(None, (found.groupdict().get(each) for each in ("name", "fed"))), "")
                if name in programs:
                    told = f"all settings are given to {name}, a program of a tool that connects"
                    yield segment.locate(found.start(), found.end()), found[0].strip()[:200], told


def _given(text: str) -> Iterator[re.Match[str]]:
    """Commands that give what prints all settings, as an argument, by a name or from a pipe."""
    names = "|".join(sorted({rf"\$\{{?{found['set']}\b" for found in islice(_SET.finditer(text), _MOST)}))
    given = rf"\$\({_ALL}\)|`{_ALL}`" + (f"|{names}" if names else "")
    yield from re.finditer(rf"{_RUN}[^|;&\n]{{0,300}}?(?:{given})", text)
    yield from _FED.finditer(text)

"""Packages that commands install or run: pip, uv, npm and their kin, in scripts and in what an agent is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.dependencies.model import Ecosystem, Named, source_of
from skillkeep.auditor.engines.dependencies.python_files import requirement
from skillkeep.auditor.engines.tables import table

__all__ = ["commands", "told"]

_WORDS: Final = compiled(r"\"[^\"\n]*\"|'[^'\n]*'|[^\s\"']+")
_CODE: Final = compiled(r"`([^`\n]{5,400})`")
_NPM: Final = compiled(r"^(?:npm:)?((?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*)(?:@([^\s@]+))?$", re.IGNORECASE)
_OTHER: Final = compiled(r"^([\w][\w.@/+-]*?)(?:@(v?[\w.^~*+-]+))?$")
_COMMENT: Final = compiled(r"^[ \t]*#", re.MULTILINE)


def commands(text: str) -> Iterator[Named]:
    """The packages of every install or run command in shell text; a comment line is none."""
    for found in _starts().finditer(text):
        line = text.rfind("\n", 0, found.start("tool")) + 1
        if not _COMMENT.match(text, line):
            yield from _command(found["tool"], found["rest"], found.start("tool"), found.start("rest"))


def told(text: str) -> Iterator[Named]:
    """The same for code spans in prose that are such a command."""
    for span in _CODE.finditer(text):
        found = _starts().match(span[1])
        if found:
            shift = span.start(1)
            yield from _command(found["tool"], found["rest"], shift + found.start("tool"), shift + found.start("rest"))


@cache
def _starts() -> re.Pattern[str]:
    tools = "|".join(sorted(map(re.escape, table("packages")["managers"]), key=len, reverse=True))
    return compiled(
        rf"(?:^|(?<=[\s;&|(\"'`/$!]))(?P<tool>(?:python[0-9.]*[ \t]+-m[ \t]+)?(?:{tools}))[ \t]+"
        r"(?P<rest>[^\n;&|`)]{1,600})",
        re.MULTILINE,
    )


def _command(tool: str, rest: str, start: int, base: int) -> Iterator[Named]:
    name = tool.split()[-1]
    words = [(word[0].strip("\"'"), base + word.start(), base + word.end()) for word in _WORDS.finditer(rest)]
    manager: dict[str, Any] = table("packages")["managers"][name]
    at, mode = _mode(words, manager)
    if mode:
        yield from _packages(words[at:], manager, mode, start)


def _mode(words: list[tuple[str, int, int]], manager: dict[str, Any]) -> tuple[int, str]:
    """Where the packages begin, and whether they are run, only given by options, or installed."""
    texts = [word for word, _, _ in words[:4]]
    for mode in ("run", "with", "install"):
        for form in manager.get(mode, ()):
            parts = form.split()
            if texts[: len(parts)] == parts:
                return len(parts), mode
    return 0, ""


def _packages(words: list[tuple[str, int, int]], manager: dict[str, Any], mode: str, start: int) -> Iterator[Named]:
    ecosystem, runs = Ecosystem(manager["ecosystem"]), mode == "run"
    index, skip, taken = "", False, False
    options, valued = table("packages"), manager.get("valued", ())
    for number, (word, _, end) in enumerate(words):
        option, _, value = word.partition("=")
        if skip:
            skip = False
            continue
        if word.startswith("-"):
            following = value or (words[number + 1][0] if number + 1 < len(words) else "")
            skip = not value and (option in valued or option in options["valued"])
            if option in options["index"]:
                index = following
            elif option in options["named"]:
                taken = taken or option in {"--from", "--package", "-p"}
                if found := _package(following, ecosystem, start, end, index, runs):
                    yield found
            elif option == "--git":
                yield Named(ecosystem, following.rpartition("/")[2] or "git", "", start, end, following, index, runs)
            continue
        if mode == "with" or (taken and runs):
            return
        taken = True
        if found := _package(word, ecosystem, start, end, index, runs):
            yield found
        elif not runs:
            return


def _package(word: str, ecosystem: Ecosystem, start: int, end: int, index: str, runs: bool) -> Named | None:
    word = word.rstrip(",.")
    if not word or word.startswith((".", "/", "$", "<", "{", "[", "~", "%", "\\")) or "<" in word[:1] or "$" in word:
        return None
    if ecosystem is Ecosystem.PYPI:
        name, at, version = word.partition("@")
        text = f"{name}=={version}" if at and runs and version[:1].isdigit() else name if at and runs else word
        found = requirement(word if "://" in word else text, start, index)
        return None if found is None or found.name.endswith((".txt", ".toml", ".py", ".cfg")) else Named(
            found.ecosystem, found.name, found.spec, start, end, found.source, index, runs
        )  # fmt: skip
    if address := source_of(word, shorthand=ecosystem is Ecosystem.NPM and not word.startswith("@")):
        return Named(ecosystem, address, "", start, end, address, index, runs)
    matched = (_NPM if ecosystem is Ecosystem.NPM else _OTHER).match(word)
    return Named(ecosystem, matched[1], matched[2] or "", start, end, "", index, runs) if matched else None

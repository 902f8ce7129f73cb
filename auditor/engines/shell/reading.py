"""A text as a shell script: parsed by tree-sitter-bash, and line by line where that grammar found no sense in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.shell.model import Script
from skillkeep.auditor.engines.shell.statements import Statements
from skillkeep.auditor.engines.shell.words import TooDeepError
from skillkeep.auditor.syntax import Syntax, UnparsedError, parse

__all__ = ["Reading", "TooDeepError", "UnparsedError", "read_shell"]

_DEPTH: Final = 12
_MOST_LINES: Final = 5000
_PLACEHOLDER: Final = compiled(r"<([A-Za-z][\w .:/|-]{0,60})>")
_OWN_FOLDER: Final = compiled(r"<(?:[A-Z]+[ _-])*(?:DIR|DIRECTORY|FOLDER|PATH|ROOT|HOME)>(?=/)")
_FISH_COMMAND: Final = compiled(r"(?<=[\s\"])\(([^()`\n]*)\)")
_ZSH_FILE: Final = compiled(r"(?<=\s)=\((?=[^()\n]*\))")
_BRACES: Final = compiled(r"\{([^\s{},;]+,[^\s{};]*)\}")
_CONTINUED: Final = compiled(r"\\\n([^\s\\]+)")
_FOREIGN: Final = compiled(r"[^\0-\x7f]")
_BOTH_WAYS: Final = compiled(r"(?<=[\s\d}])<>(?=[ \t]*[\"']?[\w/$])")
_BASE: Final = compiled(r"(?<![\w$#])\d{1,2}#(?=[\w$])")
_OFFSET: Final = compiled(r"(\$\{\w+(?:\[[@*]\])?:)\$(?=\w+[:}])")
_AMPERSAND: Final = compiled(r"(\$\{\w+:[+=-][^{}\n]{0,60}\$\{\w+\})&(?=\})")  # ends a command for the grammar
_REFUSAL: Final = compiled(r"(?<=:\?)(?:\\.|[^{}$`\"\\\n]){1,200}(?=\})")  # what ``${1:?usage: a <b>}`` says
_BRACKETS: Final = compiled(r"(\$\{\w+:[+=-](?:[\w -]*\w| ))\((\$\w+|[\w -]+)\)(?=\})")
_ENDED: Final = compiled(r"\b(fi|done|esac) (?=\}[ \t]*$)", re.MULTILINE)  # no semicolon is needed there
_HERE_STRING: Final = compiled(r"(?<=\s)\d(?=<<<)")
_MAKE_DOLLAR: Final = compiled(r"\$\$(?=[\w({])")


@dataclass(frozen=True)
class Reading:
    """`whole`: the grammar understood all. `lost`: some line means nothing even by itself."""

    script: Script
    whole: bool
    lost: bool


def read_shell(text: str, name: str = "") -> Reading:
    """Parse `text`, the content of a file called `name`. Raises `TooDeepError` and `UnparsedError`."""
    text = _as_bash(text, name.lower())
    script, tree, statements = _parsed(text)
    if statements.astray or (not tree.complete and "<" in text):
        script, tree, statements = _parsed(_without_placeholders(text))
    if tree.complete and statements.torn:
        for start in statements.torn[:_MOST_LINES]:
            script.pipelines += _parsed(text[start : _line_end(text, start)], start)[0].pipelines
        script.pipelines.sort(key=lambda pipeline: pipeline.commands[0].start)
    if tree.complete:
        return Reading(script, whole=True, lost=False)
    lost = False
    for start, line in _broken_lines(tree, text):
        again, part, _ = _parsed(_without_placeholders(line), start)
        lost = lost or not part.complete
        script.pipelines += again.pipelines
    script.pipelines.sort(key=lambda pipeline: pipeline.commands[0].start)
    return Reading(script, whole=False, lost=lost)


def _without_placeholders(text: str) -> str:
    """``<your name>`` in an example is a word, not two redirections."""
    return _PLACEHOLDER.sub(lambda found: "_" * len(found[0]), text)


def _as_bash(text: str, name: str) -> str:
    """Other shells' and make's spellings in those of bash, each as long as before."""
    text = f" {text[1:]}" if text.startswith("\ufeff") else text
    if name.endswith(".fish"):
        return _FISH_COMMAND.sub(r"`\1`", text)
    if name.endswith((".mk", "makefile")):
        return "\n".join(_undoubled(line) if "$$" in line else line for line in text.split("\n"))
    text = _CONTINUED.sub(_joined, text) if "\\\n" in text else text
    text = _BRACES.sub(_unbraced, text) if "{" in text else text
    text = _BOTH_WAYS.sub("< ", text) if "<>" in text else text
    text = _OWN_FOLDER.sub(lambda found: "_" * len(found[0]), text) if ">/" in text else text
    text = _BASE.sub(_blank, text) if "((" in text else text
    text = _OFFSET.sub(r"\1 ", text) if ":$" in text else text
    text = _AMPERSAND.sub(r"\1+", text) if "}&}" in text else text
    text = _REFUSAL.sub(_plain, text) if ":?" in text else text
    text = _BRACKETS.sub(r"\1[\2]", text) if ")}" in text else text
    text = _ENDED.sub(r"\1;", text) if " }" in text else text
    text = _HERE_STRING.sub(" ", text) if "<<<" in text else text
    return _ZSH_FILE.sub("<(", text) if "=(" in text else text


def _unbraced(found: re.Match[str]) -> str:
    """``{curl,address}`` where a command is due, which the grammar takes for a block."""
    before = found.string[max(found.start() - 40, 0) : found.start()].rstrip(" \t")
    return f" {found[1].replace(',', ' ')} " if not before or before[-1] in "\n;&|(`" else found[0]


def _plain(found: re.Match[str]) -> str:
    return re.sub(r"[^\w']", " ", found[0])


def _blank(found: re.Match[str]) -> str:
    """``10#`` in a sum, which the grammar takes for a comment."""
    return " " * len(found[0])


def _joined(found: re.Match[str]) -> str:
    """A word that goes on in the next line, where the grammar sees two."""
    goes_on = not found.string[found.start() - 1 : found.start()].isspace()
    return f"{found[1]}\\\n" if found.start() and goes_on else found[0]


def _undoubled(line: str) -> str:
    plain = _MAKE_DOLLAR.sub("$", line)
    return plain + " " * (len(line) - len(plain)) if not plain.endswith("\\") else plain


def _parsed(text: str, base: int = 0) -> tuple[Script, Syntax, Statements]:
    """The script, its tree, and what read it and tells where the grammar went astray.

    Offsets of the tree are characters of `text`.
    """
    levels = 0

    def again(inner: str, anchor: tuple[int, int]) -> Script:
        nonlocal levels
        levels += 1
        if levels > _DEPTH:
            raise TooDeepError
        script = Statements(inner, again, 0, anchor).script(_tree(inner).root.children)
        levels -= 1
        return script

    tree = _tree(text)
    statements = Statements(text, again, base)
    return statements.script(tree.root.children), tree, statements


def _tree(text: str) -> Syntax:
    return parse(Context.SHELL, text if text.isascii() else _FOREIGN.sub("x", text))


def _broken_lines(tree: Syntax, text: str) -> Iterator[tuple[int, str]]:
    """The lines that hold an error, continued ones joined, with their offsets."""
    at, count = 0, 0
    for start, stop in tree.errors:
        at = max(at, text.rfind("\n", 0, start) + 1)
        while at <= stop and at < len(text) and count < _MOST_LINES:
            end = _line_end(text, at)
            if text[at:end].strip():
                count += 1
                yield at, text[at:end]
            at = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    while end > 0 and text[end - 1] == "\\":
        end = text.find("\n", end + 1)
    return len(text) if end < 0 else end

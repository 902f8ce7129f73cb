"""Instructions are code: front matter that grants or hooks, commands run at load, characters nobody sees."""

from __future__ import annotations

import itertools
import re
from typing import Any

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.said_commands import said_commands
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.engines.unseen_texts import unseen_texts
from skillkeep.auditor.engines.zero_width import hidden_texts
from skillkeep.auditor.frontmatter import Frontmatter, parse_frontmatter
from skillkeep.auditor.interface import Location
from skillkeep.auditor.languages import may_be_shell, sniff
from skillkeep.auditor.patterns import RarePattern

__all__ = ["ENGINE", "InstructionEngine"]

_AT_LOAD = compiled(r"(?:^|(?<=[\s(:>|]))!`([^`\n]{1,2000})`", re.MULTILINE)
_TAKEN_IN = compiled(
    r"(?<![\w@/.`])@(?P<path>(?:~|\$HOME|/|\.{1,2}/)[\w./~-]{3,200})"
)  # ``@path``: its text becomes the page's
_TAGS = compiled("[\U000e0020-\U000e007f]{4,}")
_ANY_HIDDEN = RarePattern(compiled(
    "[\u00ad\u180e\u200b-\u200d\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0e\ufeff\U000e0000-\U000e01ef]|\ufe0f[\ufe00-\ufe0f]"
))  # fmt: skip
_FLAG = compiled("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_BIDI = compiled("[\u202a-\u202e\u2066-\u2069]")
_ZERO_WIDTH = compiled(
    "(?<=[A-Za-z])[\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e]+(?=[A-Za-z])|[\u200b\u200c\u2060]{4,}"
)
_INVISIBLE = compiled("[\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e]")
_WIDE = compiled(r"[ \t]{200}|\n(?:[ \t\r]*+\n){99}")
_BLOCK = 50  # half of the shortest gap
_GAP = compiled(r"(?<=\S)(?:[ \t]{200,}+(?![|#/*\\=─│-])|(?:[ \t\r]*+\n){100,}+[ \t]*+)(?=\S)")
_SELECTORS = compiled("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}")
_MOST = 10
_UNSEEN = (("unseen text",), ("front matter",))  # steps that lead to instructions which are read whole
_SHOWN_FIELDS = frozenset({"name", "description", "hooks"})  # read where they stand
_NOTE = compiled(r"(?m)^[ \t]*#[ \t]*(\S.{12,2000})$")
_SHORTEST_NOTE = 3  # words


class InstructionEngine(Engine):
    """See the module."""

    name = "instructions"
    order = 20

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge one file's instructions, and the invisible characters of any text."""
        if file.text is None:
            return
        if not file.text.isascii():
            _hidden(file, emit)
        if file.whole:
            _padding(file, emit)
        for segment in file.of(Context.INSTRUCTION):
            if file.whole or segment.provenance[-1:] in _UNSEEN:
                said_commands(segment, emit)
            if file.whole:
                _at_load(segment, emit)
                _taken_in(segment, emit)
                _comments(segment, emit)
                for start, end, said in unseen_texts(segment.text):
                    emit.derive(said, Context.INSTRUCTION, segment.locate(start, end), _UNSEEN[0][0], segment)
        if file.of(Context.METADATA):
            _metadata(file.place or Location(file.path, 2), parse_frontmatter(file.text), emit)
        for segment in file.of(Context.FENCED):
            if segment.provenance == ("fence:!",):
                emit.finding("autorun-load-command", segment.locate(0, 1), segment.text, segment=segment)
                emit.capability("autorun", "load", segment.locate(0, 1))
                emit.derive(segment.text, Context.SHELL, segment.locate(0, 1), "load", segment)


def _at_load(segment: Segment, emit: Emitter) -> None:
    if "!`" not in segment.text:
        return
    for match in _AT_LOAD.finditer(segment.text):
        at = segment.locate(*match.span())
        emit.finding("autorun-load-command", at, match.group(), segment=segment)
        emit.capability("autorun", "load", at)
        emit.derive(match.group(1), Context.SHELL, at, "load", segment)


def _taken_in(segment: Segment, emit: Emitter) -> None:
    """Files of secrets that an agent puts into its instructions wherever the page is loaded."""
    for match in _TAKEN_IN.finditer(segment.text) if "@" in segment.text else ():
        if (what := secrets().path(match["path"])) is not None:
            emit.finding(
                "code-credential-file",
                segment.locate(*match.span()),
                match.group(),
                f"the agent takes {what} into what it is told",
                segment=segment,
            )


def _comments(segment: Segment, emit: Emitter) -> None:
    text = segment.text
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start)
        end = len(text) if end < 0 else end
        inside = text[start + 4 : end]
        if "```" in inside or "~~~" in inside:
            emit.derive(inside, Context.INSTRUCTION, segment.locate(start, end), "html comment", segment)
        elif may_be_shell(inside):
            emit.derive(inside, Context.SHELL, segment.locate(start, end), "html comment", segment)
        start = text.find("<!--", end)


def _hidden(file: SourceFile, emit: Emitter) -> None:
    if not _ANY_HIDDEN.search(file.text or ""):
        return
    whole = Segment(file.path, Context.TEXT, file.text or "", anchor=file.place)
    text = _FLAG.sub(lambda match: " " * len(match.group()), whole.text)
    for rule, pattern in (
        ("hidden-tag-characters", _TAGS),
        ("hidden-bidi-control", _BIDI),
        ("hidden-zero-width", _ZERO_WIDTH),
        ("hidden-variation-selectors", _SELECTORS),
    ):
        for count, match in enumerate(pattern.finditer(text)):
            if count >= _MOST:
                break
            at = whole.locate(*match.span())
            emit.finding(rule, at, whole.line_at(match.start())[:200])
            if rule == "hidden-tag-characters":
                plain = "".join(chr(ord(char) - 0xE0000) for char in match.group())
                emit.derive(plain, Context.INSTRUCTION, at, "tag characters")
    if _ZERO_WIDTH.search(text):
        _without_invisible(file, emit)
    for hidden in hidden_texts(text):
        at = whole.locate(hidden.start, hidden.end)
        message = f"characters that nobody sees spell: {hidden.text[:120]}" if hidden.text else ""
        emit.finding("hidden-zero-width-text", at, whole.line_at(hidden.start)[:200], message)
        for context in (Context.INSTRUCTION, *sniff(hidden.text)) if hidden.text else ():
            emit.derive(hidden.text, context, at, "zero-width characters")


def _without_invisible(file: SourceFile, emit: Emitter) -> None:
    """Each part as it reads without the characters nobody sees, at the place of the first of them."""
    for segment in file.of(Context.INSTRUCTION, Context.METADATA, Context.FENCED):
        found = _ZERO_WIDTH.search(segment.text)
        if found is not None:
            emit.derive(
                _INVISIBLE.sub("", segment.text),
                Context.INSTRUCTION,
                segment.locate(*found.span()),
                "zero width",
                segment,
            )


def _padding(file: SourceFile, emit: Emitter) -> None:
    whole = Segment(file.path, Context.TEXT, file.text or "", anchor=file.place)
    if not _wide(whole.text):
        return
    for match in itertools.islice(_GAP.finditer(whole.text), _MOST):
        place = match.end()
        emit.finding("prose-padding", whole.locate(place, place + 1), whole.line_at(place)[-200:])


def _wide(text: str) -> bool:
    """True when `text` may hold a wide gap: that holds a whole block of `_BLOCK` characters, wherever it begins."""
    blank = any(text[at : at + _BLOCK].isspace() for at in range(0, len(text), _BLOCK))
    return blank and _WIDE.search(text) is not None


def _metadata(at: Location, front: Frontmatter, emit: Emitter) -> None:
    if front.error:
        emit.finding("metadata-malformed", at, "", f"The front matter cannot be read: {front.error}")
    for tool in front.allowed_tools:
        if tool in {"*", "Bash(*)", "Bash(*:*)", "Shell(*)", "Bash(:*)"}:
            emit.finding("metadata-any-tool", at, tool)
    if len(front.description) > 1024:
        emit.finding("metadata-long-description", at, front.description[:200])
    for command in _texts(front.fields):
        if may_be_shell(command) and ("|" in command or "$(" in command or "http" in command):
            emit.derive(command, Context.SHELL, at, "front matter")
    more = {key: value for key, value in front.fields.items() if key not in _SHOWN_FIELDS}
    for said in (*_texts(more), *_NOTE.findall(front.text)):
        if len(said.split()) >= _SHORTEST_NOTE:
            emit.derive(said, Context.INSTRUCTION, at, _UNSEEN[1][0])
    hooks = front.fields.get("hooks")
    if hooks:
        emit.finding("autorun-hook", at, "hooks", "The front matter installs hooks")
        emit.capability("autorun", "hooks", at)
        for command in commands_below(hooks):
            emit.derive(command, Context.SHELL, at, "hook")


def _texts(node: Any, depth: int = 0) -> list[str]:
    if isinstance(node, str):
        return [node]
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [text for item in inner for text in _texts(item, depth + 1)] if depth < 20 else []


def commands_below(node: Any, depth: int = 0) -> list[str]:
    """The strings under every key ``command`` below `node`."""
    if depth > 20:
        return []
    if isinstance(node, list):
        return [found for item in node for found in commands_below(item, depth + 1)]
    if not isinstance(node, dict):
        return []
    found = [value for key, value in node.items() if key == "command" and isinstance(value, str)]
    return found + [inner for value in node.values() for inner in commands_below(value, depth + 1)]


ENGINE = InstructionEngine()

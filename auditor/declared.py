"""What a tool says it needs: names of variables, programs and hosts in its manifest and its documentation.

A declaration only turns a blocking finding about *that* name into a warning with a capability; hidden text
(HTML comments) declares nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, SourceFile
from skillkeep.auditor.engines.tables import LOGIN_OF
from skillkeep.auditor.frontmatter import parse_frontmatter
from skillkeep.auditor.patterns import PatternSet
from skillkeep.auditor.services import services

__all__ = ["declared_names", "named_services", "without_comments"]

_VARIABLE = r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"
_ASSIGNED = (
    r"^[ \t$>]*(?:export[ \t]+|set[ \t]+|setx[ \t]+|\$env:)?(?P<shell>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[ \t]*="
    r"(?P<value>.*)$"
    r"|^[ \t$>]*(?:export[ \t]+|\$env:)(?P<single>[A-Z][A-Z0-9]{2,40})[ \t]*=(?P<said>.*)$"  # ``export TOKEN=…``
    r"|\"(?P<json>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\"[ \t]*:[ \t]*\"(?P<text>.*)$"
)
_READS = compiled(r"environ|getenv|process\.env|\bENV\b|Deno\.env")
_SERVICE = compiled(r"[A-Z](?<=\b.)[A-Za-z]{3,30}\b")
_WORD = compiled(r"[A-Za-z][A-Za-z0-9]{1,30}")
_COMMENT = compiled(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TEMPLATES = (".env.example", ".env.sample", ".env.template", "env.example")
_SERVERS = (".mcp.json", "plugin.json", "server.json")  # what they hand on is no word to a reader: no shared key
_PACKAGES = frozenset({"package.json", "pyproject.toml", "server.json", "plugin.json"})
_TITLED = compiled(r"^[ \t]*\"?(?:name|description)\"?[ \t]*[:=][ \t]*\"([^\"\n]*)\"", re.MULTILINE)
_NAME = compiled(r"[A-Za-z_][\w.+-]{0,100}")  # of a variable or program: no address is declared so
_KEY_OF = compiled(  # "an OpenAI API key", "your Anthropic + ElevenLabs API keys"
    r"(?P<words>[A-Z](?<=\b.)[A-Za-z]{2,30}(?:(?: and | or | \+ |, | & |/)[A-Z][A-Za-z]{2,30}){0,4})"
    r" (?:API|api|access) (?:keys?|tokens?)\b"
)
_KEY = compiled(r" (?:API|api|access) (?:key|token)")  # in what `_KEY_OF` matches
_HOMEPAGE = compiled(r"https://(?:www\.)?(?P<host>[A-Za-z0-9.-]{4,200})/?")  # below a path, many have a place
_NAME_ALONE = compiled(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+[ \t]*(?:(?:#|//|--|[-–—:])[ \t].*)?$")
_ASKS = compiled(r"(?i)^(?:#|//)[ \t].*\b(?:set|needs?|requires?|required|provide|configure|export|optional)\b")
_MAX_NODES = 2_000


def declared_names(files: Iterable[SourceFile]) -> frozenset[str]:
    """Every variable named in prose, front matter or an example of the environment, set in a fence, or required.

    A fence that merely reads a variable declares nothing: code cannot excuse itself. A comment line of a page's fence
    that asks for one, or a line that is a name alone, is there to be read, as the prose around it.
    """
    names: set[str] = set()
    for file in files:
        if file.text is None:
            continue
        if file.path.rpartition("/")[2].lower() in _TEMPLATES:
            names.update(_variables(file.text))
        elif file.path.rpartition("/")[2].lower() in _SERVERS:
            names.update(name for name in _variables(file.text) if not services().is_shared(name))
        if file.is_program:
            continue
        for segment in file.of(Context.INSTRUCTION, Context.METADATA):
            names.update(_variables(without_comments(segment.text)))
        for segment in file.of(Context.FENCED):
            names.update(_set_in(segment.text))
        if file.of(Context.METADATA):
            names.update(_requirements(parse_frontmatter(file.text).fields))
    return frozenset(name for name in names if _NAME.fullmatch(name) and not name.startswith(LOGIN_OF))


def named_services(files: Iterable[SourceFile]) -> frozenset[str]:
    """Services the tool says it works with, as upper-case words.

    All that prose names count; words of its own name and description (front matter or package) are marked by ``=``,
    services whose key prose asks for ("an OpenAI API key") by ``+``: that declares it as the variable's name would;
    its whole name (of a ``SKILL.md``) by ``#`` and the host of its homepage by ``~``: they say whose installer a page
    may show.

    A key that everybody has (`Services.is_shared`) is implied by the marked words alone: prose names OpenAI, Claude or
    GitHub for many reasons.
    """
    names: set[str] = set()
    for file in files:
        if file.text is None or file.is_program:
            continue
        for segment in file.of(Context.INSTRUCTION):
            told = without_comments(segment.text)
            names.update(_services(told))
            keys = _KEY_OF.finditer(told) if _KEY.search(told) else ()
            names.update(f"+{word.upper()}" for found in keys for word in _SERVICE.findall(found["words"]))
        if file.of(Context.METADATA):
            front = parse_frontmatter(file.text)
            joined = "".join(_WORD.findall(front.name))  # private-connect has privateconnect.co
            names.update(f"={word.upper()}" for word in _WORD.findall(f"{front.name} {front.description} {joined}"))
            if file.path.rpartition("/")[2].lower() == "skill.md":
                names.add(f"#{front.name}")
            if file.path.lower() == "skill.md" and (home := _HOMEPAGE.fullmatch(front.homepage)):
                names.add(f"~{home['host'].lower()}")
        if file.path.rpartition("/")[2] in _PACKAGES:
            head = " ".join(_TITLED.findall(file.text)[:2])
            names.update(f"={word.upper()}" for word in _WORD.findall(head))
    return frozenset(names)


def without_comments(text: str) -> str:
    """What a reader of the page sees of `text`: HTML comments are blank."""
    return _COMMENT.sub(" ", text) if "<!--" in text else text


@cache
def _patterns() -> PatternSet:
    return PatternSet([_VARIABLE, _ASSIGNED])


def _variables(text: str) -> Iterator[str]:
    if "_" in text:
        data = text.encode()
        for hit in _patterns().find(0, data, len(data)):
            yield data[hit.start : hit.end].decode()


def _set_in(code: str) -> Iterator[str]:
    """Variables that the user is shown how to set; a line that reads one shows nothing."""
    if "_" not in code and "export" not in code and "$env:" not in code:
        return
    for line in _told_in(code):
        yield from _variables(line)
    data = code.encode()
    for hit in _patterns().find(1, data, len(data)):
        told = {key: data[start:end].decode(errors="replace") for key, (start, end) in hit.groups.items()}
        name = told.get("shell") or told.get("single") or told.get("json") or ""
        value = told.get("value") or told.get("said") or told.get("text") or ""
        if name not in value and not _READS.search(value):
            yield name


def _told_in(code: str) -> Iterator[str]:
    """The lines of a fence that are a comment which asks for something, or one name with or without a comment."""
    for line in code.split("\n"):
        shown = line.lstrip()
        if _ASKS.match(shown) or _NAME_ALONE.match(shown):
            yield shown


def _services(text: str) -> set[str]:
    """Services that prose names: a tool that says it asks Perplexity has said that it needs Perplexity's API key."""
    return {word.upper() for word in _SERVICE.findall(text)}


def _requirements(fields: Any) -> Iterator[str]:
    """The strings below any key that lists requirements (``requires.bins``, ``env`` …), whoever defined the format."""
    stack: list[tuple[Any, bool]] = [(fields, False)]
    for _ in range(_MAX_NODES):
        if not stack:
            return
        node, inside = stack.pop()
        if isinstance(node, dict):
            stack += [
                (value, inside or str(key) in {"requires", "env", "bins", "primaryEnv"}) for key, value in node.items()
            ]
            if inside:
                yield from (str(key) for key in node)
        elif isinstance(node, list):
            stack += [(item, inside) for item in node]
        elif inside and isinstance(node, str):
            yield node

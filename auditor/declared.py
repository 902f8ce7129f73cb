"""What a tool says it needs: names of variables, programs and hosts in its manifest and its documentation.

A declaration only turns a blocking finding about *that* name into a warning with a capability; hidden text
(HTML comments) declares nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from skillkeep.auditor.engines.interface import Context, SourceFile
from skillkeep.auditor.frontmatter import parse_frontmatter

__all__ = ["declared_names"]

_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_ASSIGNED = re.compile(
    r"^[ \t$>]*(?:export[ \t]+|set[ \t]+|setx[ \t]+|\$env:)?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[ \t]*=(.*)$"
    r"|\"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\"[ \t]*:[ \t]*\"(.*)$",
    re.MULTILINE,
)
_READS = re.compile(r"environ|getenv|process\.env|\bENV\b|Deno\.env")
_SERVICE = re.compile(r"\b[A-Z][A-Za-z]{3,30}\b")
# Keys of the agent itself and of the user's whole machine: naming their service declares nothing.
_NOT_BY_SERVICE = frozenset({"OPENAI", "ANTHROPIC", "CLAUDE", "GEMINI", "GOOGLE", "GITHUB", "AMAZON", "AZURE"})
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TEMPLATES = (".env.example", ".env.sample", ".env.template", "env.example", ".mcp.json", "plugin.json", "server.json")
_MAX_NODES = 2_000


def declared_names(files: Iterable[SourceFile]) -> frozenset[str]:
    """Every variable named in prose, front matter or an example of the environment, set in a fence, or required.

    A fence that merely reads a variable declares nothing: code cannot excuse itself.
    """
    names: set[str] = set()
    for file in files:
        if file.text is None:
            continue
        if file.path.rpartition("/")[2].lower() in _TEMPLATES:
            names.update(_VARIABLE.findall(file.text))
        for segment in file.of(Context.INSTRUCTION, Context.METADATA):
            visible = _COMMENT.sub(" ", segment.text)
            names.update(_VARIABLE.findall(visible))
            names.update(f"{word}_API_KEY" for word in _services(visible))
        for segment in file.of(Context.FENCED):
            names.update(_set_in(segment.text))
        if file.of(Context.METADATA):
            names.update(_requirements(parse_frontmatter(file.text).fields))
    return frozenset(names)


def _set_in(code: str) -> Iterator[str]:
    """Variables that the user is shown how to set; a line that reads one shows nothing."""
    for shell_name, shell_value, json_name, json_value in _ASSIGNED.findall(code):
        name, value = shell_name or json_name, shell_value or json_value
        if name not in value and not _READS.search(value):
            yield name


def _services(text: str) -> set[str]:
    """Services that prose names: a tool that says it asks Perplexity has said that it needs Perplexity's API key."""
    return {word.upper() for word in _SERVICE.findall(text)} - _NOT_BY_SERVICE


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

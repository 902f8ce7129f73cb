"""Entries of MCP configurations, and what each starts: a server, a shell, or something that cannot be a server."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import table

__all__ = ["SERVERS", "Started", "StartedServer", "servers_in", "started_servers"]

SERVERS: Final = ("mcpServers", "mcp_servers", "servers", "mcp", "context_servers")
"""Where the entries stand in a configuration, in one agent's or another's."""

Started = Iterator[tuple[str, str, str]]
"""A rule, what starts it, and the command line."""

_OWN_QUOTES: Final = frozenset({"cmd", "powershell", "pwsh"})
_APART = compiled(r"[\s;&|<>()`'\"]")
_COMMAND_FLAG = compiled(r"-[a-z]{0,3}c$|-c|-e|/c")
_OPERATORS = ";&|()<>"
_ASSIGNMENT = compiled(r"[A-Za-z_]\w*=")
_INTERPRETERS = compiled(r"(?:python[\d.]*|node(?:js)?|deno|bun|ruby|perl|php)$")
_READS_SECRET = compiled(r"(?:environ|getenv|process\.env|\bENV\b)[\s\S]{0,40}(?:TOKEN|KEY|SECRET|PASSW|CREDENTIAL)")
_LOADED = compiled(r"""(?:\bimport\s+|\bfrom\s+|(?:require|import|__import__)\(\s*['"])([\w./@:,\- ]+)""")


@dataclass(frozen=True)
class StartedServer:
    """What the entry `name` starts: a program with its arguments (`words`)."""

    name: str
    program: str
    words: tuple[str, ...]

    @property
    def line(self) -> str:
        """The line that a shell would have to be given for this; plain words stay as they are."""
        if _program_of(self.program) in _OWN_QUOTES:
            return " ".join([self.program, *self.words])
        return " ".join([self.program, *(shlex.quote(word) if _APART.search(word) else word for word in self.words)])

    @property
    def code(self) -> str | None:
        """What stands behind an option for code; None without one."""
        flag = next((at for at, word in enumerate(self.words) if _COMMAND_FLAG.match(word.lower())), None)
        return None if flag is None else " ".join(self.words[flag + 1 : flag + 2])

    @property
    def rule(self) -> str:
        """The rule that the entry breaks."""
        known, program, code = table("autorun"), _program_of(self.program), self.code
        is_shell = program in known["shells"] and code is not None
        ends = (is_shell and _ends(code or "")) or (_INTERPRETERS.match(program) and _only_tells(code or ""))
        if program in known["ending"] or ends:
            return "autorun-mcp-client"
        return "autorun-mcp-shell" if is_shell else "autorun-mcp-server"


def servers_in(data: Any, keys: Iterable[str] = SERVERS) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of a configuration, by name: of a mapping, or of a list whose items tell their names."""
    root = data if isinstance(data, dict) else {}
    for key in keys:
        servers = root.get(key)
        if isinstance(servers, dict) and isinstance(servers.get("servers"), dict):  # ``"mcp": {"servers": {…}}``
            servers = servers["servers"]
        for each in servers if isinstance(servers, list) else [servers]:
            named = {each["name"]: each} if isinstance(each, dict) and isinstance(each.get("name"), str) else each
            for name, server in named.items() if isinstance(named, dict) else ():
                if isinstance(server, dict):
                    yield str(name), server


def started_servers(data: Any, keys: Iterable[str] = SERVERS) -> Iterator[StartedServer]:
    """Those that are started on this machine: a program and its arguments, a list of both, or a mapping of both."""
    for name, server in servers_in(data, keys):
        command: Any = server.get("command", server.get("cmd"))
        nested = command if isinstance(command, dict) else None
        command, arguments = (nested.get("path"), nested.get("args")) if nested else (command, server.get("args"))
        words = [
            *(command if isinstance(command, list) else [command]),
            *(arguments if isinstance(arguments, list) else []),
        ]
        if words and isinstance(words[0], str) and words[0].strip():
            yield StartedServer(name, words[0], tuple(map(str, words[1:])))


def _program_of(command: str) -> str:
    """The name of a program, without its folder and what Windows appends."""
    return command.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _ends(line: str) -> bool:
    """Whether a shell's line starts nothing but programs that end by themselves."""
    programs = set(_programs(line))
    return bool(programs) and programs.issubset(table("autorun")["ending"])


def _programs(line: str) -> Iterator[str]:
    """Those that a shell's line starts; an empty name for what cannot be told."""
    lexer = shlex.shlex(line.replace("\n", ";"), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = ["`"]
    prefixes, first = table("autorun")["prefixes"], True
    for token in tokens:
        if "`" in token:
            yield ""
        elif token and token[0] in _OPERATORS:
            first = token[0] not in "<>"
        elif first and token not in prefixes and not _ASSIGNMENT.match(token):
            yield _program_of(token)
            first = False


def _only_tells(code: str) -> bool:
    """Whether code on an interpreter's command line reads a secret, and has nothing that could serve."""
    if not _READS_SECRET.search(code) or "stdin" in code:
        return False
    loaded = {part.strip().removeprefix("node:") for names in _LOADED.findall(code) for part in names.split(",")}
    roots = {re.split(r"[\s./]", name, maxsplit=1)[0] for name in loaded if name}
    return roots <= sys.stdlib_module_names.union(table("autorun")["node_modules"])

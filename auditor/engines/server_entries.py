"""What an entry of an MCP configuration starts: a server, a shell, or something that cannot be a server."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence

from skillkeep.auditor.engines.tables import table

__all__ = ["program_of", "rule_of"]

_COMMAND_FLAG = re.compile(r"-[a-z]{0,3}c$|-c|-e|/c")
_OPERATORS = ";&|()<>"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_INTERPRETERS = re.compile(r"(?:python[\d.]*|node(?:js)?|deno|bun|ruby|perl|php)$")
_READS_SECRET = re.compile(r"(?:environ|getenv|process\.env|\bENV\b)[\s\S]{0,40}(?:TOKEN|KEY|SECRET|PASSW|CREDENTIAL)")
_LOADED = re.compile(r"""(?:\bimport\s+|\bfrom\s+|(?:require|import|__import__)\(\s*['"])([\w./@:,\- ]+)""")


def rule_of(command: str, words: Sequence[str]) -> str:
    """The rule that the entry of `command` with the arguments `words` breaks."""
    known, program = table("autorun"), program_of(command)
    flag = next((at for at, word in enumerate(words) if _COMMAND_FLAG.match(word.lower())), None)
    line = "" if flag is None else " ".join(words[flag + 1 : flag + 2])
    is_shell = program in known["shells"] and flag is not None
    if program in known["ending"] or (is_shell and _ends(line)) or (_INTERPRETERS.match(program) and _only_tells(line)):
        return "autorun-mcp-client"
    return "autorun-mcp-shell" if is_shell else "autorun-mcp-server"


def program_of(command: str) -> str:
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
            yield program_of(token)
            first = False


def _only_tells(code: str) -> bool:
    """Whether code on an interpreter's command line reads a secret, and has nothing that could serve."""
    if not _READS_SECRET.search(code) or "stdin" in code:
        return False
    loaded = {part.strip().removeprefix("node:") for names in _LOADED.findall(code) for part in names.split(",")}
    roots = {re.split(r"[\s./]", name, maxsplit=1)[0] for name in loaded if name}
    return roots <= sys.stdlib_module_names.union(table("autorun")["node_modules"])

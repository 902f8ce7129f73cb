"""Programs below names of texts and data: ``python3 notes.txt`` runs what is in the file, whatever it is called.

A text is a program where all of it is one: it parses whole, or nearly each of its lines is a command, and it says
things that programs say. Prose, data and pages with examples in them are none, and most are told by their first line.
JSON that parses whole is data, though nearly each of its lines begins as a command may: with a quote or a brace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.languages import sniff
from skillkeep.auditor.syntax import UnparsedError, parse
from skillkeep.auditor.syntax.other_python import python_tree

__all__ = ["disguised_languages"]

_FIRST: Final = re.compile(
    r"(?:import|from|def|class|async|with|if|for|while|try|assert|print|exec|eval|const|let|var|export|function|await"
    r"|module|require(?:_relative)?|using|param|begin|puts|set|source|return|throw|switch|case|unless|until|trap|echo"
    r"|curl|wget|sudo|cd|mkdir|chmod|git|npm|pip3?|python3?|node|rm|cat|local|declare|readonly)\b(?!\s*[,:.!?])"
    r"|@\w|[rRbBfFuU]{0,2}(?:'|\")|[;!(\[{$&.]|(?:Invoke|New|Set|Get|Start|Write|Import|Add)-[A-Z]"
    r"|[\w.\[\]]+\s*(?:[-+*/|&?]*=|\(|:\s*[\w\[\]., |]+=)"
)
_NOTE: Final = re.compile(r"\s*(?:(?:#|//)[^\n]*|/\*.*?\*/)?[ \t]*(?:\n|\Z)", re.DOTALL)
_MOST_NOTES: Final = 400
_LONGEST_FIRST: Final = 400
_RUBY: Final = (  # words of which one is in every match, and the pattern: most data hold none
    (
        ("require", "def", "module", "class", "puts", ".each"),
        re.compile(
            r"^[ \t]*(?:require(?:_relative)?[ (]['\"]|(?:def|module|class)[ \t]+[A-Za-z_]|puts[ (]|[\w.:]+\.each\b)",
            re.MULTILINE,
        ),
    ),
    (
        ("Net::HTTP", "URI.open", "Kernel.", "ENV", "File.", "Open3.", "IO.popen", "`"),
        re.compile(
            r"\b(?:Net::HTTP|URI\.open|Kernel\.|ENV\[|ENV\.|File\.(?:read|write|open)|Open3\.|IO\.popen|`[a-z]+ )"
        ),
    ),
)
_SHELL_LINE: Final = re.compile(
    r"[ \t]*(?:(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|function|local|export|set|trap|return|exit"
    r"|shift|declare|readonly|unset|source|eval|exec|read|test|wait|true|false|break|continue|curl|wget|bash|sh|sudo|npm|npx"
    r"|pip3?|git|chmod|chown|echo|printf|cat|mkdir|rm|cp|mv|ln|cd|tar|unzip|grep|sed|awk|tr|xargs|find|base64|openssl|ssh|scp|nc"
    r"|crontab|python3?|node|ruby|perl|docker|brew|apt(?:-get)?|systemctl|launchctl|nohup|sleep|kill|jq|tee|touch)\b"
    r"|\w+\+?=|\w+\(\)|[{}()$.\"'/~|&;!:]|\[\[? |--?\w|\w+\)|EOF|\w+\|)"
)
_POWERSHELL_LINE: Final = re.compile(
    r"[ \t]*(?:\$[\w:{(]|[A-Z]\w+-[A-Z]\w+|(?:if|else|elseif|foreach|for|while|function|param|try|catch|finally|return|"
    r"switch|throw|using|begin|process|end|iex|iwr|irm|powershell|pwsh|curl|wget|reg|schtasks)\b|[&.{}()\[\]|@\"'+-])"
)
_LINES_OF_CODE: Final = 0.85


def disguised_languages(text: str) -> tuple[Context, ...]:
    """The languages that all of `text` is a program in; mostly none, which mostly the first line tells."""
    at = 0
    for _ in range(_MOST_NOTES):
        note = _NOTE.match(text, at)
        if note is None or note.end() == at:
            break
        at = note.end()
    if not _FIRST.match(text[at : at + _LONGEST_FIRST].lstrip()):
        return ()
    looks = sniff(text)
    return tuple(context for context, alike, reads in _READERS if (alike is None or alike in looks) and reads(text))


def _is_python(text: str) -> bool:
    try:
        return not python_tree(text)[1]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _is_javascript(text: str) -> bool:
    return _parses(Context.TYPESCRIPT, text)


def _is_ruby(text: str) -> bool:
    said = any(any(word in text for word in words) and pattern.search(text) for words, pattern in _RUBY)
    return said and _parses(Context.RUBY, text)


def _parses(context: Context, text: str) -> bool:
    try:
        return parse(context, text).complete
    except UnparsedError:
        return False


def _is_shell(text: str) -> bool:
    return _lines(_SHELL_LINE, text) and not _is_json(text)


def _is_powershell(text: str) -> bool:
    return _lines(_POWERSHELL_LINE, text) and not _is_json(text)


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(line: re.Pattern[str], text: str) -> bool:
    said = [each for each in text.split("\n") if each.strip() and not each.lstrip().startswith("#")]
    return sum(bool(line.match(each)) for each in said) >= _LINES_OF_CODE * len(said)


# A language, the one whose typical lines have to occur, and what tells whether all of it is that.
_READERS: Final[tuple[tuple[Context, Context | None, Callable[[str], bool]], ...]] = (
    (Context.PYTHON, Context.PYTHON, _is_python),
    (Context.TYPESCRIPT, Context.JAVASCRIPT, _is_javascript),
    (Context.RUBY, None, _is_ruby),
    (Context.SHELL, Context.SHELL, _is_shell),
    (Context.POWERSHELL, Context.POWERSHELL, _is_powershell),
)

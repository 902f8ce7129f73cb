"""Programs below names of texts and data: ``python3 notes.txt`` runs what is in the file, whatever it is called.

A text is a program where all of it is one: it parses whole, or nearly each of its lines is a command, and it says
things that programs say. Prose, data and pages with examples in them are none, and most are told by their first line.
JSON that parses whole is data, though nearly each of its lines begins as a command may: with a quote or a brace.
Prose may parse, too (`words` is Python), so Python has to import or to call something.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Collection
from functools import cache
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.languages import looks_like, sniff
from skillkeep.auditor.patterns import Pattern
from skillkeep.auditor.syntax import UnparsedError, parse
from skillkeep.auditor.syntax.other_python import python_tree

__all__ = ["begins_as", "disguised_languages", "reads_as"]

_FIRST: Final = compiled(
    r"(?:import|from|def|class|async|with|if|for|while|try|assert|print|exec|eval|const|let|var|export|function|await"
    r"|module|require(?:_relative)?|using|param|begin|puts|set|source|return|throw|switch|case|unless|until|trap|echo"
    r"|curl|wget|sudo|cd|mkdir|chmod|git|npm|pip3?|python3?|node|rm|cat|local|declare|readonly)\b(?!\s*[,:.!?])"
    r"|@\w|[rRbBfFuU]{0,2}(?:'|\")|[;!(\[{$&.]|(?:Invoke|New|Set|Get|Start|Write|Import|Add)-[A-Z]"
    r"|[\w.\[\]]+\s*(?:[-+*/|&?]*=|\(|:\s*[\w\[\]., |]+=)|type\s+\w+[^\n=]*="
)
_SINGLE: Final = compiled(r"[-+~! \t]*[\w$.]+[ \t]*(?:[;,:<>=+*/%&|^?-]|$)", re.MULTILINE)  # JavaScript may begin so
_NOTES: Final = compiled(r"(?>\s*(?:(?:#|//)[^\n]*|/\*.*?\*/)?[ \t]*(?:\n|\Z))*+", re.DOTALL)
_LONGEST_FIRST: Final = 400
_HEAD: Final = 600  # characters of a program, and the rest of their line, that tell whether more of it is worth a look
_WORDS: Final = (
    r"(?!(?:import|from|def|class|async|await|with|if|elif|else|for|while|assert|del|global|nonlocal|lambda|not|and|or|in|is|as"
    r"|match|case|type|raise|return|yield|print|exec)\b)[^\W\d]\w*"
)
_PROSE: Final = compiled(rf"[^\n#\"']*?\b{_WORDS}[ \t]+{_WORDS}")
_INCOMPLETE: Final = compiled(  # what Python says of a text that is cut off
    r"never closed|unterminated (?:f-|t-)?(?:triple|string)|expected (?:an indented block|'except')|\bEOF\b"
)
_ACTS: Final = (  # what Python that does something has in it; names may be written in other letters, too
    r"(?m)(?:^|[;:])[ \t]*(?:import[ \t]*[\pL_\\]|from[ \t.]+[\pL_.]*[ \t]*import\b)"
    r"|\b(?:exec|eval|compile|getattr|globals|importlib|runpy|__[a-z]+__)\b|\b(?:open|vars|locals|input|print)[ \t]*\("
    r"|^[ \t]*@[ \t]*\w|[^\x00-\x7F]\w*[ \t]*\("
)
_RUBY: Final = (  # words of which one is in every match, and the pattern: most data hold none
    (
        ("require", "def", "module", "class", "puts", ".each"),
        compiled(
            r"^[ \t]*(?:require(?:_relative)?[ (]['\"]|(?:def|module|class)[ \t]+[A-Za-z_]|puts[ (]|[\w.:]+\.each\b)",
            re.MULTILINE,
        ),
    ),
    (
        ("Net::HTTP", "URI.open", "Kernel.", "ENV", "File.", "Open3.", "IO.popen", "`"),
        compiled(
            r"\b(?:Net::HTTP|URI\.open|Kernel\.|ENV\[|ENV\.|File\.(?:read|write|open)|Open3\.|IO\.popen|`[a-z]+ )"
        ),
    ),
)
_SHELL_LINE: Final = compiled(
    r"[ \t]*(?:(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|function|local|export|set|trap|return|exit"
    r"|shift|declare|readonly|unset|source|eval|exec|read|test|wait|true|false|break|continue|curl|wget|bash|sh|sudo|npm|npx"
    r"|pip3?|git|chmod|chown|echo|printf|cat|mkdir|rm|cp|mv|ln|cd|tar|unzip|grep|sed|awk|tr|xargs|find|base64|openssl|ssh|scp|nc"
    r"|crontab|python3?|node|ruby|perl|docker|brew|apt(?:-get)?|systemctl|launchctl|nohup|sleep|kill|jq|tee|touch)\b"
    r"|\w+\+?=|\w+\(\)|[{}()$.\"'/~|&;!:]|\[\[? |--?\w|\w+\)|EOF|\w+\|)"
)
_POWERSHELL_LINE: Final = compiled(
    r"[ \t]*(?:\$[\w:{(]|[A-Z]\w+-[A-Z]\w+|(?:if|else|elseif|foreach|for|while|function|param|try|catch|finally|return|"
    r"switch|throw|using|begin|process|end|(?i:iex|iwr|irm)|powershell|pwsh|curl|wget|reg|schtasks)\b|[&.{}()\[\]|@\"'+-])"
)
_FUNCTION: Final = compiled(r"^[ \t]*(?:function[ \t]+)?([\w.:-]{1,80})[ \t]*\([ \t]*\)", re.MULTILINE)
_WORD: Final = compiled(r"[ \t]*([\w.:-]{1,80})(?=[\s;&|)]|$)")
_LINES_OF_CODE: Final = 0.85


def disguised_languages(text: str, known: Collection[Context] = (), *, claimed: bool = False) -> tuple[Context, ...]:
    """The languages that all of `text` is a program in; mostly none, which mostly the first line tells.

    It is not asked about those that are `known`. Of a text whose name says that it is code (`claimed`), only Python and
    JavaScript are told: nearly each line of any program may begin as a command does.
    """
    notes = _NOTES.match(text)
    at = notes.end() if notes else 0
    first = text[at : at + _LONGEST_FIRST].lstrip()
    begins, is_prose = bool(_FIRST.match(first)), bool(_PROSE.match(first))
    if not first or (is_prose and not begins):
        return ()
    found: list[Context] = []
    if Context.PYTHON not in known and not is_prose and _may_be_python(text, at, begins, strict=claimed):
        found.append(Context.PYTHON)
    for context, alike, reads in _READERS:
        if (
            context in known
            or alike in known
            or not (begins or (context is Context.TYPESCRIPT and _SINGLE.match(first)))
        ):
            continue
        if claimed and (context is not Context.TYPESCRIPT or not looks_like(context, text)):
            continue
        if claimed and (
            (Context.PYTHON in known and _begins_python(text, at, _HEAD))
            or (Context.SHELL in known and begins_as(Context.SHELL, text))
        ):
            continue
        if (alike is None or _is_alike(alike, text)) and reads(text):
            found.append(context)
    return tuple(found)


def reads_as(context: Context, text: str) -> bool:
    """True when all of `text` can be read as a program in `context`."""
    if context is Context.PYTHON:
        return _is_python(text)
    return not _is_json(text) and _parses(context, text)


def begins_as(context: Context, text: str) -> bool:
    """True when the first line of `text`, and half of all, may be lines of a shell's script. Pages are none."""
    line = _POWERSHELL_LINE if context is Context.POWERSHELL else _SHELL_LINE
    notes = _NOTES.match(text)
    first = line.match(text, notes.end() if notes else 0)
    own = frozenset(_FUNCTION.findall(text))
    return bool(first) and _lines(line, text, own, share=0.5) and not _is_json(text)


def _may_be_python(text: str, at: int, begins: bool, strict: bool) -> bool:
    """Whether the program that begins at `at` is Python. `strict` has its first lines be that of this very version."""
    if not _acts().occurs(text.encode("utf-8", "replace")):
        return False
    if _begins_python(text, at, _HEAD) or (not strict and not begins and _begins_python(text, at, 0)):
        return _is_python(text)
    return begins and not strict and _is_alike(Context.PYTHON, text) and _is_python(text)


def _is_alike(context: Context, text: str) -> bool:
    return context in sniff(text) if text.startswith("#!") else looks_like(context, text)


def _begins_python(text: str, at: int, least: int) -> bool:
    """Whether the line at `at`, and those of the `least` characters that follow, may begin a program in Python."""
    end = text.find("\n", at + least)
    head = text[at : len(text) if end < 0 else end + 1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(head)
    except SyntaxError as error:
        return bool(_INCOMPLETE.search(error.msg or "")) or (error.lineno or 0) > head.count("\n")
    except (ValueError, RecursionError, MemoryError):
        return False
    return True


@cache
def _acts() -> Pattern:
    return Pattern(_ACTS)


def _is_python(text: str) -> bool:
    if _is_json(text):
        return False
    try:
        tree, left_out = python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not left_out and any(_does_something(node) for node in ast.walk(tree))


def _does_something(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Call) or bool(getattr(node, "decorator_list", None))


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
    return _lines(_SHELL_LINE, text, frozenset(_FUNCTION.findall(text))) and not _is_json(text)


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


def _lines(line: re.Pattern[str], text: str, own: Collection[str] = (), share: float = _LINES_OF_CODE) -> bool:
    """Whether nearly each line begins as `line` says, or with one of the functions that the text defines."""
    said = [each for each in text.split("\n") if each.strip() and not each.lstrip().startswith("#")]
    alike = sum(bool(line.match(each) or ((word := _WORD.match(each)) and word[1] in own)) for each in said)
    return alike >= share * len(said)


# Besides Python: a language, the one whose typical lines have to occur, and what tells whether all of it is that.
_READERS: Final[tuple[tuple[Context, Context | None, Callable[[str], bool]], ...]] = (
    (Context.TYPESCRIPT, Context.JAVASCRIPT, _is_javascript),
    (Context.RUBY, None, _is_ruby),
    (Context.SHELL, Context.SHELL, _is_shell),
    (Context.POWERSHELL, Context.POWERSHELL, _is_powershell),
)

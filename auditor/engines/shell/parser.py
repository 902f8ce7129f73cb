"""A small shell parser: POSIX words, quoting, expansions, here-documents, pipelines and compound commands.

It reads every character once and goes down only for ``$(…)`` and the like, to a fixed depth. It keeps what a
reviewer needs and drops what decides only when a command runs (conditions, loops, blocks). Reference: POSIX.1-2024,
Shell Command Language, with bash's ``$'…'``, ``<(…)``, ``<<<``, ``[[``.
"""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.engines.shell.ansi import unescape_ansi
from skillkeep.auditor.engines.shell.builder import Builder
from skillkeep.auditor.engines.shell.model import Command, Script, Substitution, Variable, Word

__all__ = ["Parser", "TooDeepError", "parse_shell"]

_DEPTH: Final = 60
_PLAIN: Final = re.compile(r"[^\s'\"\\$`|&;<>()]+")
_IN_QUOTES: Final = re.compile(r'[^"\\$`]+')
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]=]*\])?(\+?)=")
_PARAMETER: Final = re.compile(r"[!#]?([A-Za-z_][A-Za-z0-9_]*|[0-9@*?$!#-]+)(?:\[[^\]]{0,80}\])?")
_REDIRECT: Final = re.compile(r"<<<|<<-|<<|<>|<&|>>|>&|>\||&>>|&>|<|>")


class TooDeepError(ValueError):
    """Substitutions are nested deeper than the parser follows."""


class Parser:
    """Parses one text. `damaged` tells that a quote or bracket was never closed.

    With `anchor` set, every word is placed there (text inside backticks, whose escapes shift offsets).
    """

    def __init__(self, text: str, anchor: tuple[int, int] | None = None, depth: int = 0) -> None:
        self.text = text
        self.damaged = False
        self._at = 0
        self._anchor = anchor
        self._depth = depth
        self._heredocs: list[tuple[str, bool, bool, Command]] = []

    def parse(self) -> Script:
        """The whole text as a script. Raises `TooDeepError`."""
        return self._script(None)

    def _start(self) -> int:
        return self._anchor[0] if self._anchor else self._at

    def _end(self) -> int:
        return self._anchor[1] if self._anchor else self._at

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self.text[at] if at < len(self.text) else ""

    def _script(self, closer: str | None) -> Script:
        self._depth += 1
        if self._depth > _DEPTH:
            raise TooDeepError
        builder = Builder()
        parens = 0
        while self._at < len(self.text):
            char = self.text[self._at]
            if self._skipped(char, builder):
                continue
            if char == "(":
                parens += self._open(builder)
            elif char == ")":
                self._at += 1
                if parens == 0 and closer == ")" and builder.cases == 0:
                    break
                if parens == 0:
                    builder.drop()
                else:
                    parens -= 1
                    builder.end_pipeline()
            elif char in ";&|" and not self.text.startswith("&>", self._at):
                self._separator(builder, char)
            elif char in "<>&":
                self._redirect(builder)
            else:
                self._add_word(builder)
        else:
            self.damaged = self.damaged or closer is not None
        builder.end_pipeline()
        self._depth -= 1
        return builder.script

    def _skipped(self, char: str, builder: Builder) -> bool:
        """Read blanks, comments and line ends, and the operators inside ``[[ … ]]``; False for anything else."""
        if char in " \t\r\f\v" or (builder.in_test and char in "&|()<>"):
            self._at += 1
        elif char == "\\" and self._peek(1) == "\n":
            self._at += 2
        elif char == "#":
            end = self.text.find("\n", self._at)
            self._at = len(self.text) if end < 0 else end
        elif char == "\n":
            builder.end_pipeline()
            self._at += 1
            self._read_heredocs()
        else:
            return False
        return True

    def _separator(self, builder: Builder, char: str) -> None:
        doubled = self._peek(1) == char
        if char == "|" and not doubled:
            builder.end_command()
            self._at += 2 if self._peek(1) == "&" else 1
        else:
            builder.end_pipeline()
            self._at += 2 if doubled else 1

    def _open(self, builder: Builder) -> int:
        """A ``(``: arithmetic, a function's brackets, an array, or a subshell (which counts)."""
        if self.text.startswith("((", self._at) and builder.command.empty:
            self._at += 2
            self._arithmetic(Word(self._start()))
            return 0
        if builder.command.words:
            self._at += 1
            if self._peek() == ")":
                self._at += 1
                builder.function()
                return 0
        else:
            self._at += 1
        return 1

    def _redirect(self, builder: Builder) -> None:
        if self._peek(1) == "(" and self._peek() in "<>":
            self._add_word(builder)
            return
        found = _REDIRECT.match(self.text, self._at)
        if found is None:
            self._at += 1
            return
        self._at = found.end()
        builder.drop_descriptor()
        while self._peek() and self._peek() in " \t":
            self._at += 1
        command = builder.open(self._start())
        target = self._word()
        if found[0] in {"<<", "<<-"}:
            delimiter = "".join(piece for piece in target.pieces if isinstance(piece, str))
            self._heredocs.append((delimiter, target.quoted, found[0] == "<<-", command))
        elif found[0] == "<<<":
            command.heredoc = target
        else:
            command.redirects.append((found[0], target))
        command.end = self._end()

    def _add_word(self, builder: Builder) -> None:
        start = self._at
        assignment = _ASSIGNMENT.match(self.text, self._at) if builder.may_assign else None
        command = builder.open(self._start())
        if assignment is not None:
            self._at = assignment.end()
            value = self._array() if self._peek() == "(" else self._word()
            command.assignments.append((assignment[1], value, bool(assignment[2])))
        else:
            word = self._word()
            if self._at == start:
                self._at += 1
                return
            builder.add(word)
        command.end = self._end()

    def _array(self) -> Word:
        """``NAME=(a b c)``: the elements joined by blanks."""
        word = Word(self._start())
        self._at += 1
        while self._at < len(self.text) and self._peek() != ")":
            before = self._at
            element = self._word()
            if self._at == before:
                self._at += 1
                continue
            word.pieces += [*([" "] if word.pieces else []), *element.pieces]
        self._at += 1
        word.end = self._end()
        return word

    def _word(self) -> Word:
        word = Word(self._start())
        while self._at < len(self.text):
            char = self.text[self._at]
            if char in "<>" and self._peek(1) == "(" and not word.pieces:
                self._at += 2
                word.pieces.append(Substitution(self._script(")"), process=True))
            elif plain := _PLAIN.match(self.text, self._at):
                word.pieces.append(plain[0])
                self._at = plain.end()
            elif not self._quoted(char, word):
                break
        word.end = self._end()
        _merge(word)
        return word

    def _quoted(self, char: str, word: Word) -> bool:
        """Read a quoted or expanded part; False when the word ends here."""
        if char == "'":
            word.quoted = True
            end = self.text.find("'", self._at + 1)
            self.damaged = self.damaged or end < 0
            end = len(self.text) if end < 0 else end
            word.pieces.append(self.text[self._at + 1 : end])
            self._at = end + 1
        elif char == '"':
            word.quoted = True
            self._at += 1
            self._double(word, '"')
        elif char == "\\":
            if self._peek(1) != "\n":
                word.pieces.append(self._peek(1))
                word.quoted = True
            self._at += 2
        elif char == "$":
            self._dollar(word, inside=False)
        elif char == "`":
            self._backtick(word)
        else:
            return False
        return True

    def _double(self, word: Word, closer: str) -> None:
        while self._at < len(self.text):
            if closer and self.text[self._at] == closer:
                self._at += 1
                return
            if found := _IN_QUOTES.match(self.text, self._at):
                word.pieces.append(found[0])
                self._at = found.end()
                continue
            char = self.text[self._at]
            if char == "\\":
                following = self._peek(1)
                word.pieces.append("" if following == "\n" else following if following in '$`"\\' else "\\" + following)
                self._at += 2
            elif char == "$":
                self._dollar(word, inside=True)
            elif char == "`":
                self._backtick(word)
            else:
                word.pieces.append(char)
                self._at += 1
        self.damaged = self.damaged or bool(closer)

    def _dollar(self, word: Word, *, inside: bool) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            raise TooDeepError
        self._expansion(word, inside=inside)
        self._depth -= 1

    def _expansion(self, word: Word, *, inside: bool) -> None:
        following = self._peek(1)
        if following == "'" and not inside:
            end = self._ansi_end(self._at + 2)
            word.pieces.append(unescape_ansi(self.text[self._at + 2 : end]))
            word.quoted = True
            self._at = end + 1
        elif following == '"' and not inside:
            self._at += 1
        elif self.text.startswith("$((", self._at):
            self._at += 3
            self._arithmetic(word)
        elif following == "(":
            self._at += 2
            word.pieces.append(Substitution(self._script(")")))
        elif following == "{":
            self._at += 2
            self._parameter(word)
        elif found := _NAME.match(self.text, self._at + 1):
            word.pieces.append(Variable(found[0]))
            self._at = found.end()
        else:
            word.pieces.append("$")
            self._at += 1

    def _ansi_end(self, at: int) -> int:
        while at < len(self.text) and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        return at

    def _parameter(self, word: Word) -> None:
        """After ``${``: the name, then an operator with a word of its own up to the closing brace."""
        found = _PARAMETER.match(self.text, self._at)
        name = found[1] if found else ""
        if found:
            self._at = found.end()
        rest = Word(self._start())
        start = self._at
        while self._at < len(self.text) and self._peek() != "}":
            char = self._peek()
            if not self._quoted(char, rest):
                rest.pieces.append(char)
                self._at += 1
        operator = self.text[start : self._at]
        self._at += 1
        _merge(rest)
        if operator.startswith((":-", "-", ":=", "=")):
            mark = 2 if operator.startswith(":") else 1
            if rest.pieces and isinstance(rest.pieces[0], str):
                rest.pieces[0] = rest.pieces[0][mark:]
            word.pieces.append(Variable(name, default=rest))
        else:
            indirect = found is not None and found[0].startswith(("!", "#"))
            plain = operator == "" or operator.startswith((":?", "?"))
            word.pieces.append(Variable(name, changed=indirect or not plain))
            word.pieces += [piece for piece in rest.pieces if isinstance(piece, Substitution)]

    def _arithmetic(self, word: Word) -> None:
        depth = 2
        while self._at < len(self.text) and depth > 0:
            char = self.text[self._at]
            if char == "$":
                inner = Word(self._start())
                self._dollar(inner, inside=True)
                word.pieces += [piece for piece in inner.pieces if isinstance(piece, Substitution)]
                continue
            depth += (char == "(") - (char == ")")
            self._at += 1
        word.pieces.append("0")

    def _backtick(self, word: Word) -> None:
        start = self._at
        end = start + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        self.damaged = self.damaged or end >= len(self.text)
        inner = re.sub(r"\\([`\\$])", r"\1", self.text[start + 1 : end])
        parser = Parser(inner, self._anchor or (start, min(end + 1, len(self.text))), self._depth)
        word.pieces.append(Substitution(parser._script(None)))
        self.damaged = self.damaged or parser.damaged
        self._at = end + 1

    def _read_heredocs(self) -> None:
        for delimiter, quoted, tabs, command in self._heredocs:
            start = self._at
            body_end = len(self.text)
            while self._at < len(self.text):
                end = self.text.find("\n", self._at)
                end = len(self.text) if end < 0 else end
                line = self.text[self._at : end]
                body_end = self._at
                self._at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                body_end = self._at
            body = Word(self._anchor[0] if self._anchor else start, self._anchor[1] if self._anchor else body_end)
            text = self.text[start:body_end]
            if quoted:
                body.pieces.append(text)
            else:
                inner = Parser(text, (body.start, body.end), self._depth)
                inner._double(body, "")
            command.heredoc = body
        self._heredocs = []


def _merge(word: Word) -> None:
    """Join neighbouring literals, so that ``c''url`` is one piece."""
    merged: list[str | Variable | Substitution] = []
    for piece in word.pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    word.pieces = merged


def parse_shell(text: str) -> tuple[Script, bool]:
    """Parse `text`; also whether a quote or bracket was never closed. Raises `TooDeepError`."""
    parser = Parser(text)
    script = parser.parse()
    return script, parser.damaged

"""Words of a shell script: quoting taken off, expansions and substitutions as pieces, from the nodes of a syntax tree.

A shell's grammar leaves blanks and escapes inside strings and here-documents to the reader, so literal text is what
lies between the nodes. Reference: POSIX.1-2024, Shell Command Language, 2.2 (quoting) and 2.6 (word expansions).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.ansi import unescape_ansi
from skillkeep.auditor.engines.shell.model import Script, Substitution, Variable, Word

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["TooDeepError", "Words", "glued", "keyed"]

_DEPTH: Final = 60
_KEYED: Final = compiled(r"\[[\"']?([\w.-]{1,60})[\"']?\]=")
_PLAIN_WORD: Final = compiled(r"[\w./:@%+,=~\[\]-]+")
_GLUED: Final = frozenset({"command_name", "number", "word"})
_BEHIND_DOLLAR: Final = frozenset({"concatenation", "string"})
_ONLY_LITERAL: Final = 3  # quote, content, quote
_ESCAPED: Final = compiled(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES: Final = compiled(r'\\([$`"\\\n])')
_ESCAPED_IN_DOCUMENT: Final = compiled(r"\\([$`\\\n])")
_BACKTICKS: Final = compiled(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_BACKTICK_ESCAPE: Final = compiled(r"\\([`\\$])")
_DEFAULTS: Final = frozenset({":-", "-", ":=", "="})
_CHECKS: Final = frozenset({":?", "?"})
_NAMES: Final = frozenset({"variable_name", "special_variable_name", "subscript"})
_EXPANDING: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
_QUOTED: Final = frozenset({"string", "raw_string", "ansi_c_string", "concatenation", "translated_string"})


class TooDeepError(ValueError):
    """Substitutions are nested deeper than the reader follows."""


def _plain(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


class Words:
    """Reads words of `text`. `script` reads the statements of a substitution, `again` parses a text of its own.

    `base` is added to every offset; with `anchor` set, every word is placed there instead.
    """

    def __init__(
        self,
        text: str,
        script: Callable[[Sequence[Node]], Script],
        again: Callable[[str, tuple[int, int]], Script],
        base: int = 0,
        anchor: tuple[int, int] | None = None,
    ) -> None:
        self._text = text
        self._script = script
        self._again = again
        self._base = base
        self._anchor = anchor
        self.depth = 0

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the segment of the characters ``[start, end)`` of the text."""
        return self._anchor or (start + self._base, end + self._base)

    def descend(self) -> None:
        """One level down; raises `TooDeepError`. The caller takes one off `depth` when it is back."""
        self.depth += 1
        if self.depth > _DEPTH:
            raise TooDeepError

    def word(self, node: Node) -> Word:
        """The word that `node` stands for."""
        start, end = node.start_byte, node.end_byte
        kind = node.type
        if kind == "word" or kind == "command_name":
            text = self._text[start:end]
            if _PLAIN_WORD.fullmatch(text):
                start, end = self._anchor or (start + self._base, end + self._base)
                return Word(start, end, [text], False, text)
        elif kind == "string" and node.child_count == _ONLY_LITERAL:
            text = self._text[start + 1 : end - 1]
            if "$" not in text and "`" not in text and "\\" not in text:
                start, end = self._anchor or (start + self._base, end + self._base)
                return Word(start, end, [text], True, text)
        word = Word(*self.span(start, end))
        self.add(node, word)
        return _merged(word)

    def mixed(self, nodes: Sequence[Node], start: int, end: int) -> Word:
        """Unquoted text between `start` and `end`, with the expansions among `nodes`."""
        word = Word(*self.span(start, end))
        self._between(nodes, start, end, word, _ESCAPED)
        return _merged(word)

    def document(self, node: Node, *, quoted: bool) -> Word:
        """The text of a here-document; without quotes around its mark it is expanded."""
        word = Word(*self.span(node.start_byte, node.end_byte))
        if quoted:
            word.pieces.append(self._text[node.start_byte : node.end_byte])
            return _merged(word)
        self._between(node.children, node.start_byte, node.end_byte, word, _ESCAPED_IN_DOCUMENT)
        pieces = word.pieces
        word.pieces = []
        for piece in pieces:
            if isinstance(piece, str) and "`" in piece:
                self._backticks(piece, word)
            else:
                word.pieces.append(piece)
        return _merged(word)

    def array(self, node: Node) -> list[Word]:
        """The elements of ``(a b c)``."""
        return self.words([child for child in node.children if child.type not in {"(", ")", "comment"}])

    def words(self, nodes: Sequence[Node]) -> list[Word]:
        """The words of `nodes`, of which those that touch are one."""
        found: list[Word] = []
        before: Node | None = None
        for node in nodes:
            self.follow(found, node, before)
            before = node
        return found

    def follow(self, found: list[Word], node: Node, before: Node | None) -> None:
        """Add the word of `node` to `found`; it goes on with the one of `before`, the node in front, where they touch.

        The grammar begins a word at a backslash (``""\\curl``) and at the text of ``$"curl"``.
        """
        word = self.word(node)
        if not found or before is None or before.end_byte != node.start_byte:
            found.append(word)
        elif before.type == "$" and node.type in _BEHIND_DOLLAR:
            found[-1] = word
        elif node.type in _GLUED and before.type != "ERROR":
            found[-1] = glued(found[-1], word)
        else:
            found.append(word)

    def add(self, node: Node, word: Word) -> None:
        """Add the pieces of `node` to `word`."""
        kind = node.type
        if kind == "string":
            word.quoted = True
            self._string(node, word)
        elif kind == "raw_string":
            word.quoted = True
            word.pieces.append(self._text[node.start_byte + 1 : node.end_byte - 1])
        elif kind in _EXPANDING:
            self._expanding(node, kind, word)
        elif kind == "ansi_c_string":
            word.quoted = True
            word.pieces.append(unescape_ansi(self._text[node.start_byte + 2 : node.end_byte - 1]))
        elif kind in {"concatenation", "translated_string", "command_name"}:
            for child in node.children:
                if child.type != "$":
                    self.add(child, word)
        elif kind == "array":
            for element in self.array(node):
                word.pieces += [*([" "] if word.pieces else []), *element.pieces]
        else:
            self._literal(node, word)

    def _literal(self, node: Node, word: Word) -> None:
        text = self._text[node.start_byte : node.end_byte]
        if node.child_count and ("$" in text or "`" in text):
            self._between(node.children, node.start_byte, node.end_byte, word, _ESCAPED)
            return
        if "\\" in text:
            word.quoted = True
            text = _ESCAPED.sub(_plain, text)
        word.pieces.append(text)

    def _string(self, node: Node, word: Word) -> None:
        closed = self._text[node.end_byte - 1 : node.end_byte] == '"' and node.end_byte - node.start_byte > 1
        end = node.end_byte - 1 if closed else node.end_byte
        self._between(node.children, node.start_byte + 1, end, word, _ESCAPED_IN_QUOTES)

    def _between(self, nodes: Sequence[Node], start: int, end: int, word: Word, escaped: re.Pattern[str]) -> None:
        """The expansions among `nodes`, and the literal text around them."""
        at = start
        for child in nodes:
            if child.start_byte < at:
                continue
            if child.type in _EXPANDING or (escaped is _ESCAPED and child.type in _QUOTED):
                self._gap(at, child.start_byte, word, escaped)
                self.add(child, word)
                at = child.end_byte
        self._gap(at, end, word, escaped)

    def _gap(self, start: int, end: int, word: Word, escaped: re.Pattern[str]) -> None:
        if start < end:
            text = self._text[start:end]
            word.pieces.append(escaped.sub(_plain, text) if "\\" in text else text)

    def _backticks(self, text: str, word: Word) -> None:
        at = 0
        for found in _BACKTICKS.finditer(text):
            word.pieces.append(text[at : found.start()])
            self.descend()
            inner = self._again(_BACKTICK_ESCAPE.sub(r"\1", found[1]), (word.start, word.end))
            self.depth -= 1
            word.pieces.append(Substitution(inner))
            at = found.end()
        word.pieces.append(text[at:])

    def _expanding(self, node: Node, kind: str, word: Word) -> None:
        if kind == "simple_expansion":
            before, _, name = self._text[node.start_byte : node.end_byte].partition("$")
            if before:  # the grammar counts blanks before the mark to the expansion
                word.pieces.append(before)
            word.pieces.append(Variable(name))
            return
        self.descend()
        if kind == "expansion":
            word.pieces.append(self._parameter(node))
        elif kind == "arithmetic_expansion":
            word.pieces += [piece for piece in self.inside(node) if isinstance(piece, Substitution)]
            word.pieces.append("0")
        else:
            word.pieces.append(self._substitution(node, process=kind == "process_substitution"))
        self.depth -= 1

    def _substitution(self, node: Node, *, process: bool) -> Substitution:
        text = self._text[node.start_byte : node.end_byte]
        if text.startswith("`") and "\\" in text:
            inner = _BACKTICK_ESCAPE.sub(r"\1", text[1:].removesuffix("`"))
            return Substitution(self._again(inner, self.span(node.start_byte, node.end_byte)))
        return Substitution(self._script(node.children), process, into=text.startswith(">"))

    def inside(self, node: Node) -> list[str | Variable | Substitution]:
        """Expansions anywhere below `node`, such as those of a condition or of arithmetic."""
        word = Word(0)
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type in _EXPANDING or child.type == "string":
                self.add(child, word)
            else:
                stack.extend(reversed(child.children))
        return [piece for piece in word.pieces if not isinstance(piece, str)]

    def leaves(self, node: Node) -> list[Word]:
        """The words below `node`, such as those of a condition."""
        words = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type in _EXPANDING or child.type in _QUOTED or child.type == "word":
                words.append(self.word(child))
            else:
                stack.extend(reversed(child.children))
        return words

    def _parameter(self, node: Node) -> Variable:
        """``${name…}``: the name, then an operator with a word of its own up to the closing brace."""
        children = [child for child in node.children if child.type not in {"${", "}"}]
        place = next((index for index, child in enumerate(children) if child.type in _NAMES), None)
        if place is None:
            return Variable("", "?")
        name = self._text[children[place].start_byte : children[place].end_byte]
        rest = children[place + 1 :]
        if place:
            return Variable(name, children[0].type if children[0].type == "!" and not rest else "?")
        end = node.end_byte - 1
        if not rest or rest[0].type in _CHECKS:
            said = self.mixed(rest[1:], rest[0].end_byte, end) if rest else None
            runs = said is not None and any(isinstance(piece, Substitution) for piece in said.pieces)
            return Variable(name, "?", (said,)) if said is not None and runs else Variable(name)
        operator = rest[0].type
        if operator in _DEFAULTS:
            default = self.mixed(rest[1:], rest[0].end_byte, end)
            return Variable(name, default=default, assigns=operator.endswith("="))
        operands: list[Word] = []
        start = rest[0].end_byte
        for index, child in enumerate(rest[1:], 1):
            if child.type in {operator, "/"} and child.child_count == 0:
                operands.append(self.mixed(rest[1:index], start, child.start_byte))
                start = child.end_byte
        operands.append(self.mixed(rest[1:], start, end))
        return Variable(name, operator, tuple(operands))


def _merged(word: Word) -> Word:
    """Join neighbouring literals, so that ``c''url`` is one piece."""
    pieces = word.pieces
    if len(pieces) == 1:
        if isinstance(pieces[0], str):
            word.literal = pieces[0]
        return word
    merged: list[str | Variable | Substitution] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    word.pieces = merged
    if not merged:
        word.literal = ""
    elif len(merged) == 1 and isinstance(merged[0], str):
        word.literal = merged[0]
    return word


def glued(first: Word, second: Word) -> Word:
    """One word out of two that stand together."""
    return _merged(Word(first.start, second.end, [*first.pieces, *second.pieces], first.quoted or second.quoted))


def keyed(element: Word) -> tuple[str, Word] | None:
    """The key and the value of ``[key]=value``, an element of an array in which each has a name."""
    first = element.literal if element.literal is not None else element.pieces[0] if element.pieces else ""
    found = _KEYED.match(first) if isinstance(first, str) else None
    if found is None or not isinstance(first, str):
        return None
    rest = first[found.end() :]
    if element.literal is not None:
        return found[1], Word(element.start, element.end, [rest], literal=rest, quoted=element.quoted)
    return found[1], Word(element.start, element.end, [rest, *element.pieces[1:]], quoted=element.quoted)

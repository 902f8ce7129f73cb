"""What a word stands for, as far as the script tells: variables, quoting, and the output of simple pipelines."""

from __future__ import annotations

import base64
import binascii
import codecs
from dataclasses import dataclass, field
from typing import Final

from skillkeep.auditor.engines.inflate import INFLATERS
from skillkeep.auditor.engines.shell.ansi import unescape_ansi
from skillkeep.auditor.engines.shell.model import Command, Pipeline, Script, Substitution, Variable, Word
from skillkeep.auditor.engines.tables import secrets

__all__ = ["HOLE", "Known", "Scope"]

HOLE: Final = "\uf8ff"
_MAX_TEXT: Final = 1 << 18
_MAX_STEPS: Final = 200_000
_HOMES: Final = frozenset({"HOME", "USERPROFILE"})


@dataclass(frozen=True)
class Known:
    """A text that a pipeline prints, and whether a decoder took part."""

    text: str
    decoded: bool = False


@dataclass
class Scope:
    """Variables of a script: their texts, the labels of what is in them, and the names the script itself sets."""

    texts: dict[str, str] = field(default_factory=lambda: {"IFS": " "})
    labels: dict[str, frozenset[str]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    decoded: set[str] = field(default_factory=set)
    steps: int = 0

    @property
    def exhausted(self) -> bool:
        """True when the budget of steps ran out, so that later texts are not known."""
        return self.steps > _MAX_STEPS

    def text(self, word: Word) -> str:
        """The word's text with a `HOLE` for every unknown part."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            return HOLE
        return self._joined([self._piece(piece) for piece in word.pieces])

    @staticmethod
    def _joined(parts: list[str]) -> str:
        if len(parts) == 1:
            return parts[0]
        text = "".join(parts)
        return text if len(text) <= _MAX_TEXT else HOLE

    def _piece(self, piece: str | Variable | Substitution) -> str:
        if isinstance(piece, str):
            return piece
        if isinstance(piece, Variable):
            return self._variable(piece)
        known = self.output(piece.script) if not piece.process else None
        return known.text.rstrip("\n") if known is not None else HOLE

    def _variable(self, variable: Variable) -> str:
        if variable.name in self.texts and not variable.changed:
            return self.texts[variable.name]
        if variable.name in _HOMES:
            return "~"
        if variable.default is not None and variable.name not in self.own:
            return self.text(variable.default) if not secrets().variable(variable.name) else HOLE
        return HOLE

    def assign(self, name: str, word: Word, labels: frozenset[str], *, appended: bool) -> None:
        """Remember what a variable holds from here on; the labels of earlier values stay."""
        text = self.text(word)
        if appended:
            text = self.texts.get(name, "") + text
        self.own.add(name)
        self.texts[name] = text if len(text) <= _MAX_TEXT else HOLE
        self.labels[name] = self.labels.get(name, frozenset()) | labels
        if any(isinstance(piece, Substitution) and self._is_decoded(piece.script) for piece in word.pieces):
            self.decoded.add(name)

    def _is_decoded(self, script: Script) -> bool:
        known = self.output(script)
        return known is not None and known.decoded

    def forget(self, name: str) -> None:
        """A variable set by ``read`` or a loop with several values."""
        self.own.add(name)
        self.texts[name] = HOLE

    def was_decoded(self, word: Word) -> bool:
        """True when a decoder produced a part of the word."""
        return any(
            (isinstance(piece, Variable) and piece.name in self.decoded)
            or (isinstance(piece, Substitution) and self._is_decoded(piece.script))
            for piece in word.pieces
        )

    def output(self, script: Script) -> Known | None:
        """What ``$(script)`` prints, when it is one pipeline of `echo` and decoders on known text."""
        self.steps += 1
        if len(script.pipelines) != 1 or self.steps > _MAX_STEPS:
            return None
        return self.printed(script.pipelines[0])

    def printed(self, pipeline: Pipeline) -> Known | None:
        """What a pipeline of `echo` or `printf` and decoders prints."""
        first = pipeline.commands[0]
        text = self._echoed(first)
        if text is None or HOLE in text:
            return None
        decoded = self.text(first.words[0]) not in {"echo", "printf", "cat"}
        for command in pipeline.commands[1:]:
            text = self._filtered(command, text)
            decoded = True
            if text is None:
                return None
        return Known(text, decoded)

    def _echoed(self, command: Command) -> str | None:
        words = [self.text(word) for word in command.words]
        if not words:
            return None
        if words[0] == "cat" and command.heredoc is not None and len(words) == 1:
            return self.text(command.heredoc)
        if words[0] in {"base64", "xxd", "rev", "tr"} and command.heredoc is not None:
            return self._filtered(command, self.text(command.heredoc))
        if words[0] == "printf" and len(words) > 1:
            template = unescape_ansi(words[1])
            return template.replace("%s", HOLE, 1).replace(HOLE, " ".join(words[2:])) if "%" in template else template
        if words[0] != "echo":
            return None
        options = [word for word in words[1:2] if word.startswith("-") and set(word) <= set("-neE")]
        text = " ".join(words[1 + len(options) :])
        return unescape_ansi(text) if options and "e" in options[0] else text

    def _filtered(self, command: Command, text: str) -> str | None:
        words = [self.text(word) for word in command.words]
        if not words or HOLE in text:
            return None
        try:
            return _apply(words, text)
        except (ValueError, binascii.Error):
            return None


def _apply(words: list[str], text: str) -> str | None:
    name, options = words[0].rpartition("/")[2], words[1:]
    raw = text.strip().encode("utf-8", "ignore")
    if name == "base64" and any(option.startswith(("-d", "-D", "--d")) for option in options):
        return base64.b64decode(raw + b"=" * (-len(raw) % 4)).decode("utf-8", "replace")
    if name == "openssl" and "-d" in options and ("base64" in options or "-base64" in options):
        return base64.b64decode(raw).decode("utf-8", "replace")
    if name == "xxd" and any(option.startswith("-r") for option in options):
        return binascii.unhexlify(b"".join(raw.split())).decode("utf-8", "replace")
    if name == "rev":
        return "\n".join(line[::-1] for line in text.split("\n"))
    if name in {"gunzip", "zcat", "gzip"}:
        return INFLATERS["gzip"](text.encode("latin-1")).decode("utf-8", "replace")
    if name == "tr" and len(options) == 2:
        return _translated(text, options)
    return None


def _translated(text: str, options: list[str]) -> str | None:
    if options[0] == "-d":
        return "".join(char for char in text if char not in options[1])
    if sorted(option.upper() for option in options) == ["A-ZA-Z", "N-ZA-MN-ZA-M"]:
        return codecs.decode(text, "rot13")
    if len(options[0]) == len(options[1]) and "-" not in options[0] + options[1]:
        return text.translate(str.maketrans(options[0], options[1]))
    return None

"""What a word stands for, as far as the script tells: variables, quoting, and the output of simple pipelines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.expansions import expanded
from skillkeep.auditor.engines.shell.model import Command, Pipeline, Script, Substitution, Variable, Word
from skillkeep.auditor.engines.shell.parameters import ALL_PARAMETERS, Given, Parameters
from skillkeep.auditor.engines.shell.printing import DECODING, echoed, filtered
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.engines.values import HOLE

__all__ = ["HOLE", "OWN_VARIABLE", "Known", "Scope"]

OWN_VARIABLE: Final = "${OWN_VARIABLE}"
"""What stands for a `HOLE` in a program that a script writes: run by that name, it is a command in a variable."""
_NOTHING: Final[frozenset[str]] = frozenset()
_MAX_TEXT: Final = 1 << 18
_MAX_STEPS: Final = 200_000
_MOST_PIPELINES: Final = 32
_MOST_ARGUMENTS: Final = 64
_READ: Final = -2  # stands for the places that read a variable
_READING: Final = frozenset(
    {"awk", "cat", "compgen", "cut", "declare", "grep", "head", "jq", "sed", "shuf", "tail", "tr"}
)
_MOST_PLACES: Final = 12  # that set one variable
_ESCAPED: Final = compiled(r"(?:\\x[2-7][0-9a-fA-F]|\\0?[01][0-7]{2}){4}")  # of letters, which need none
_SET: Final = {"IFS": " ", "SHELL": "/bin/sh", "BASH": "/bin/bash"}
_SILENT: Final = frozenset({"exit", "return", "true", "false", ":"})
_HOMES: Final = frozenset({"HOME", "USERPROFILE"})


@dataclass(frozen=True)
class Known:
    """A text that a pipeline prints, and whether a decoder took part."""

    text: str
    decoded: bool = False


@dataclass
class Scope:
    """Variables of a script: their texts, the labels of what is in them, and the names the script itself sets."""

    texts: dict[str, str] = field(default_factory=lambda: dict(_SET))
    labels: dict[str, frozenset[str]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    decoded: set[str] = field(default_factory=set)
    several: dict[str, tuple[str, ...]] = field(default_factory=dict)
    functions: dict[str, Script] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    content: Callable[[str, Word], str | None] | None = None  # of a file, by its name
    kept: dict[str, dict[int, str]] = field(default_factory=dict)  # each variable's last text by the place that sets it
    outside: set[str] = field(default_factory=set)  # variables that hold what the script's caller gives, or reads
    body: tuple[int, int] = (0, 0)  # of the function that is judged
    parameters: Parameters = field(default_factory=Parameters)

    @property
    def exhausted(self) -> bool:
        """True when the budget of steps ran out, so that later texts are not known."""
        return self.steps > _MAX_STEPS

    def text(self, word: Word) -> str:
        """The word's text with a `HOLE` for every unknown part."""
        if word.literal is not None:
            return word.literal
        self.steps += 1
        if self.steps > _MAX_STEPS:
            return HOLE
        parts = [piece if isinstance(piece, str) else self._piece(piece) for piece in word.pieces]
        if len(parts) == 1:
            return parts[0]
        text = "".join(parts)
        return text if len(text) <= _MAX_TEXT else HOLE

    def each(self, word: Word) -> list[str]:
        """The texts that a word has in turn where the variable of a loop is in it; else its text."""
        named = {each.name for each in word.pieces if isinstance(each, Variable) and not each.operator}
        looped = named & self.several.keys()
        if len(looped) != 1:
            return [self.text(word)]
        (name,), found = looped, list[str]()
        for value in self.several[name]:
            self.texts[name] = value
            found.append(self.text(word))
        self.texts[name] = HOLE
        return list(dict.fromkeys(found))

    def _piece(self, piece: Variable | Substitution) -> str:
        if isinstance(piece, Variable):
            return self._variable(piece)
        known = self.output(piece.script) if not piece.process else None
        return known.text.rstrip("\n") if known is not None else HOLE

    def _variable(self, variable: Variable) -> str:
        name = variable.name
        value = self.texts.get(name)
        if value is None and name.endswith(("[@]", "[*]", "[0]")):
            value = self.texts.get(name[:-3])
        if variable.operator:
            return self._changed(variable, value)
        if value == "" and variable.default is not None and name in self.own:
            return self.text(variable.default)
        if value is not None:
            return value
        if name in _HOMES:
            return "~"
        if variable.default is not None and name not in self.own:
            return self.text(variable.default) if not secrets().variable(name) else HOLE
        return HOLE

    def _changed(self, variable: Variable, value: str | None) -> str:
        if variable.operator == "!":
            return self.texts.get(value, HOLE) if value is not None else HOLE
        if variable.name in ALL_PARAMETERS:
            return self._slice(variable)
        if value is None:
            value = "/" if variable.name in {"PATH", "HOME", "PWD", "SHELL"} and self._is_first(variable) else None
            return value or HOLE
        if HOLE in value:
            return HOLE
        operands = [self.text(operand) for operand in variable.operands]
        changed = expanded(value, variable.operator, operands) if HOLE not in "".join(operands) else None
        return HOLE if changed is None else changed

    def _slice(self, variable: Variable) -> str:
        """``${@:2}``."""
        part = self.parameters.part(variable.operator, [self.text(each) for each in variable.operands])
        return HOLE if part is None else " ".join(text for text, _ in part)

    def arguments(self, word: Word) -> list[str] | None:
        """The words that ``"$@"`` or ``"${@:2}"`` becomes where the caller is known."""
        piece = word.only
        if not isinstance(piece, Variable) or piece.name not in ALL_PARAMETERS or piece.default is not None:
            return None
        part = self.parameters.part(piece.operator, [self.text(each) for each in piece.operands])
        return None if part is None else [text for text, _ in part]

    def elements(self, word: Word) -> list[str]:
        """What ``"${list[@]}"`` or ``${list[$i]}`` may hold of what was ever put into the list, one by one."""
        piece = word.only
        if not isinstance(piece, Variable) or piece.operator or piece.name in self.texts:
            return []
        name, bracket, index = piece.name.partition("[")
        chosen = bracket and (index in {"@]", "*]"} or "$" in index or not index[:-1].isdigit())
        return [text for key, text in self.texts.items() if key.startswith(f"{name}[")] if chosen else []

    def _is_first(self, variable: Variable) -> bool:
        """``${PATH:0:1}``: a slash on every machine."""
        return variable.operator == ":" and [self.text(each).strip() for each in variable.operands] == ["0", "1"]

    def assign(self, name: str, word: Word, labels: frozenset[str], *, appended: bool) -> None:
        """Remember what a variable holds from here on; the labels of earlier values stay."""
        text = self.text(word)
        if appended:
            text = self.texts.get(name, "") + text
        if appended or word.start in self.kept.setdefault(name, {}) or len(self.kept[name]) < _MOST_PLACES:
            self.kept[name][-1 if appended else word.start] = text
        first = word.pieces[0] if word.pieces else None
        if not appended:
            self.outside.discard(name)
            given = self.is_given(first.name) if isinstance(first, Variable) else _is_read(first)
            self.outside.update([name] if given else ())
        self.own.add(name)
        self.several.pop(name, None)
        self.texts[name] = text if len(text) <= _MAX_TEXT else HOLE
        if labels:
            self.labels[name] = self.labels.get(name, _NOTHING) | labels
        if word.literal is None and self.was_decoded(word):
            self.decoded.add(name)

    def local(self, name: str) -> None:
        """A function's own variable: what stands outside of its body sets another one."""
        first, last = self.body
        kept = self.kept.get(name, {})
        self.kept[name] = {place: text for place, text in kept.items() if first <= place < last}

    def earlier(self, name: str) -> list[str]:
        """The other texts of a variable, by the places that set it: it depends on conditions which one was last."""
        last = self.texts.get(name)
        return list(dict.fromkeys(text for text in self.kept.get(name, {}).values() if text != last))

    def is_given(self, name: str) -> bool:
        """True for a variable whose text the script's caller gives, or that is read from somewhere."""
        positional = name.isdecimal() or name in ALL_PARAMETERS
        return name in self.outside or (positional and name != "0" and self.parameters.given is None)

    def forget(self, name: str, labels: frozenset[str] = _NOTHING, several: Sequence[str] = ()) -> None:
        """A variable set by ``read`` or a loop with `several` values; `labels` of what it can hold."""
        self.own.add(name)
        self.several.pop(name, None)
        if not several:
            self.outside.add(name)
            self.kept.setdefault(name, {})[_READ] = HOLE
        else:
            self.several[name] = tuple(several[:_MOST_ARGUMENTS])
        self.texts[name] = HOLE
        if labels:
            self.labels[name] = self.labels.get(name, _NOTHING) | labels

    @contextmanager
    def called_with(self, arguments: Sequence[Given] | None, moving: tuple[int, int] | None = None) -> Iterator[None]:
        """``$1``, ``$2`` … are `arguments` inside, or nobody knows; see `Parameters` for `moving`."""
        before, self.parameters = self.parameters, Parameters(moving=moving)
        kept = {name: self.kept.pop(name) for name in before.named() if name in self.kept}
        self._bind(before.named(), self.parameters.bound(arguments))
        yield
        for name in self.parameters.named():
            self.kept.pop(name, None)
        self._bind(self.parameters.named(), before.named())
        self.kept |= kept
        self.parameters = before

    def set_arguments(self, arguments: Sequence[Given]) -> None:
        """``set -- …``; by what stood there before where that is not always reached."""
        before = self.parameters.named()
        self._bind(before, self.parameters.bound(arguments))
        for name in self.parameters.named():
            self.kept.setdefault(name, {})[0] = before[name][0] if name in before else HOLE

    def shift(self, count: str) -> None:
        """``shift 2``."""
        before = self.parameters.named()
        self._bind(before, self.parameters.shifted(count))

    def _bind(self, old: Mapping[str, Given], new: Mapping[str, Given]) -> None:
        for name in old.keys() - new.keys():
            del self.texts[name], self.labels[name]
            self.own.discard(name)
        for name, (text, labels) in new.items():
            self.texts[name], self.labels[name] = text, labels
            self.own.add(name)

    def split(self, text: str) -> list[str]:
        """The words that an unquoted expansion to `text` becomes."""
        marks = self.texts["IFS"]
        return text.split() if not marks.strip() else [part for part in re.split(f"[{re.escape(marks)}]", text) if part]

    def was_decoded(self, word: Word) -> bool:
        """True when a decoder produced a part of the word."""
        return any(
            (isinstance(piece, Variable) and piece.name in self.decoded)
            or (isinstance(piece, Substitution) and self._is_decoded(piece.script))
            for piece in word.pieces
        )

    def _is_decoded(self, script: Script) -> bool:
        known = self.output(script)
        return known is not None and known.decoded

    def output(self, script: Script) -> Known | None:
        """What ``$(script)`` prints, when all of it is `echo` and decoders on known text."""
        self.steps += 1
        if not 0 < len(script.pipelines) <= _MOST_PIPELINES or self.steps > _MAX_STEPS:
            return None
        printed = []
        for pipeline in script.pipelines:
            known = self.printed(pipeline)
            if known is None:
                return None
            printed.append(known)
        return Known("".join(known.text for known in printed), any(known.decoded for known in printed))

    def printed(self, pipeline: Pipeline) -> Known | None:
        """What a pipeline of `echo` or `printf` and decoders prints."""
        known = self._first(pipeline.commands[0])
        for command in pipeline.commands[1:]:
            if known is None or HOLE in known.text:
                return None
            known = self._through(command, known)
        return known if known is not None and HOLE not in known.text else None

    def _first(self, command: Command) -> Known | None:
        if command.body is not None:
            return self.output(command.body) if command.loop is None and not command.function else None
        if not command.words:
            return self._held([target for operator, target in command.redirects if operator == "<"])
        words = [self.text(word) for word in command.words]
        if words[0] == "cat" and len(words) > 1 and command.heredoc is None:
            return self._held(command.words[1:])
        if words[0] in self.functions:
            return self._called(words)
        if words[0] in _SILENT and command.heredoc is None:
            return Known("")
        if command.heredoc is not None:
            text = self.text(command.heredoc) + "\n"
            return self._through(command, Known(text)) if HOLE not in text else None
        if words[0] == "dirname" and len(words) == 2:
            return Known(posixpath.dirname(words[1].rstrip("/")) or ".")
        text_or_none = echoed(words)
        hidden = text_or_none is not None and any(map(_ESCAPED.search, words))
        return Known(text_or_none, hidden) if text_or_none is not None else None

    def _held(self, names: Sequence[Word]) -> Known | None:
        """What the script itself has put into files."""
        if self.content is None or not 0 < len(names) <= _MOST_ARGUMENTS:
            return None
        texts = [self.content(self.text(name), name) for name in names]
        known = [text for text in texts if text is not None and HOLE not in text]
        return Known("".join(known)) if len(known) == len(texts) else None

    def _called(self, words: list[str]) -> Known | None:
        self.steps += 100
        body = self.functions[words[0]]
        if self.steps > _MAX_STEPS:
            return None
        del self.functions[words[0]]  # no recursion
        with self.called_with([(word, _NOTHING) for word in words[1:]]):
            known = self.output(body)
        self.functions[words[0]] = body
        return known

    def _through(self, command: Command, known: Known) -> Known | None:
        words = [self.text(word) for word in command.words]
        if not words:
            return None
        name = words[0].rpartition("/")[2]
        text = filtered(words, known.text)
        if text is None:
            return None
        return Known(text, known.decoded or (name in DECODING and text.strip() != known.text.strip()))


def _is_read(piece: str | Variable | Substitution | None) -> bool:
    """True for ``$(sed -n 2p names.txt)``: what stands in a file, or among the shell's own names."""
    if not isinstance(piece, Substitution):
        return False
    commands = [command for pipeline in piece.script.pipelines for command in pipeline.commands]
    return any(command.words and command.words[0].literal in _READING for command in commands)

"""From a simple command to what really runs: prefixes such as `sudo` or `xargs` taken off, `find -exec` looked into."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.braces import braced
from skillkeep.auditor.engines.shell.evaluate import HOLE, Scope
from skillkeep.auditor.engines.shell.lookup import lookup
from skillkeep.auditor.engines.shell.model import Command, Substitution, Variable, Word
from skillkeep.auditor.engines.shell.site import Call

__all__ = ["begins_behind", "calls_of", "carried", "given_to", "program_name"]

_COMPOUND = compiled(r"[|;&<>$`(\"']")
_DIRECTIVES = frozenset({"RUN", "CMD", "ENTRYPOINT", "SHELL"})
_FINDERS = frozenset({"find", "fd", "gfind"})
_EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_MOST_PREFIXES = 64
_LOOKS_UP = compiled(r"-p?[vV]")  # ``command -v bash`` prints a path and runs nothing
_MOST_EXECUTED = 64
_DATA = compiled(
    r"(?i)\.(?:json|csv|tsv|xml|html?|md|txt|png|jpe?g|gif|svg|pdf|ya?ml|toml|log|sql|db|zip|gz|tgz|tar|mp[34]|wav)$"
)


def program_name(text: str) -> str:
    """``/usr/bin/curl`` is ``curl``; a leading backslash, ``@`` or ``-`` (Makefile) goes too."""
    if text.isalnum():
        return text
    name = text.rpartition("/")[2].removesuffix(".exe")
    return name.lstrip("\\@-+") or name


def calls_of(command: Command, scope: Scope, table: dict[str, Any]) -> Iterator[Call]:
    """The call a command makes, and those it has others make."""
    words = _split(command.words, scope)
    texts = [scope.text(word) for word in words]
    words, texts = _without_alias(words, texts, scope)
    prefixes: list[str] = []
    while texts and len(prefixes) < _MOST_PREFIXES:
        name = program_name(texts[0])
        options = table["prefixes"].get(name)
        if options is None or (name == "command" and _LOOKS_UP.fullmatch(texts[1] if len(texts) > 1 else "")):
            break
        prefixes.append(name)
        cut = _after_prefix(texts, options, name)
        words, texts = words[cut:], texts[cut:]
        if name in _DIRECTIVES and texts and texts[0].startswith("["):
            words, texts = _listed(words, texts)
        elif name == "env" and texts and " " in texts[0].strip():
            words, texts = _divided(words, texts)
    if not texts:
        if prefixes and prefixes[-1] == "env":  # alone it prints every variable
            yield Call("env", (), (), command, tuple(prefixes[:-1]))
        elif prefixes and prefixes[-1] in table["interpreters"]:  # ``parallel`` runs the lines it reads
            yield Call(prefixes[-1], (), (), command, tuple(prefixes[:-1]))
        return
    name = program_name(texts[0])
    if "?" in name or "*" in name:
        name = next((known for known in table["interpreters"] if fnmatchcase(known, name)), name)
    call = Call(name, tuple(texts[1:]), tuple(words[1:]), command, tuple(prefixes), words[0])
    yield call
    if name in _FINDERS:
        yield from _executed(call, command)
    elif name in table["carriers"]:
        yield from _carried(call, table)


def _without_alias(words: list[Word], texts: list[str], scope: Scope) -> tuple[list[Word], list[str]]:
    """The words an alias stands for, when it is one command."""
    value = scope.aliases.get(texts[0]) if texts and scope.aliases else None
    if not value or _COMPOUND.search(value):
        return words, texts
    return _words_at(words[0], value.split()) + words[1:], [*value.split(), *texts[1:]]


def _listed(words: list[Word], texts: list[str]) -> tuple[list[Word], list[str]]:
    """``RUN ["program", "argument"]``: quotes are gone from the words, commas and brackets are not."""
    parts = [part for text in texts for part in text.strip("[]").split(",") if part]
    return _words_at(words[0], parts), parts


def _divided(words: list[Word], texts: list[str]) -> tuple[list[Word], list[str]]:
    """``env -S 'program argument'``."""
    try:
        parts = shlex.split(texts[0])
    except ValueError:
        return words, texts
    return _words_at(words[0], parts) + words[1:], [*parts, *texts[1:]]


def _after_prefix(texts: list[str], options: list[str], name: str) -> int:
    at = 1
    while at < len(texts):
        text = texts[at]
        if text in options:
            at += 2
        elif (
            (text.startswith(("-", "+")) and text != "-")
            or ("=" in text.partition("/")[0] and name in {"env", "sudo", "RUN"})
            or (name in {"timeout", "watch"} and text[:1].isdigit())
        ):
            at += 1
        else:
            break
    return at


def _executed(call: Call, command: Command) -> Iterator[Call]:
    places = [index for index, argument in enumerate(call.arguments) if argument in _EXECUTING][:_MOST_EXECUTED]
    for index in places:
        if index + 1 >= len(call.arguments):
            continue
        end = index + 1
        while end < len(call.arguments) and call.arguments[end] not in {";", "+", "\\;"}:
            end += 1
        inner = call.arguments[index + 1 : end]
        if inner:
            words = call.words[index + 1 : end]
            yield Call(program_name(inner[0]), inner[1:], words[1:], command, ("find",), words[0])


def _split(words: list[Word], scope: Scope) -> list[Word]:
    """The words as the shell splits them: variables without quotes, and ``{cat,/etc/passwd}`` in front."""
    if not words:
        return words
    first = words[0].literal
    if first is not None and first.startswith("{") and first.endswith("}") and "," in first and not words[0].quoted:
        return [*_words_at(words[0], first[1:-1].split(",")), *words[1:]]
    spread = any(_is_braced(word) if word.literal is not None else not word.quoted or _is_list(word) for word in words)
    if not spread:
        return words
    split: list[Word] = []
    for word in words:
        elements = _elements(word, scope)
        if elements is not None and (split or not elements or HOLE not in scope.text(elements[0])):
            split += elements  # a program that nobody knows stays what it is made of
            continue
        if word.literal is not None and _is_braced(word):
            split += _words_at(word, braced(word.literal))
            continue
        text = scope.text(word) if word.literal is None and not word.quoted else ""
        parts = scope.split(text) if HOLE not in text else []
        whole = len(parts) < 2 or any(isinstance(piece, Substitution) for piece in word.pieces)
        split += [word] if whole else _words_at(word, parts)
    return split


def _is_list(word: Word) -> bool:
    """``"${words[@]}"``, ``"$@"`` or ``"${@:2}"``."""
    return isinstance(word.only, Variable) and word.only.name.endswith(("[@]", "[*]", "@"))


def _elements(word: Word, scope: Scope) -> list[Word] | None:
    """The words of an array, where each of them is known, or of the arguments, where the caller is."""
    if not isinstance(word.only, Variable):
        return None
    if (given := scope.arguments(word)) is not None:
        whole = word.quoted and word.only.name == "*"
        return None if whole else _words_at(word, [part for text in given for part in _parts(text, word, scope)])
    texts = _texts(word, scope)
    return _words_at(word, texts) if texts and HOLE not in "".join(texts) else None


def given_to(
    call: Call, scope: Scope, labels_of: Callable[[Word], frozenset[str]], most: int
) -> list[tuple[str, frozenset[str]]]:
    """The arguments of a function's `call` with their labels.

    Behind one that may be several (``"$@"`` of who knows whom), nobody knows which is which: `most` of them then.
    """
    given: list[tuple[str, frozenset[str]]] = []
    several = False
    for text, word in zip(call.arguments, call.words, strict=False):
        texts = _texts(word, scope)
        several = several or (not texts and HOLE in text and (_is_list(word) or not word.quoted))
        given += [(HOLE if several else each, labels_of(word)) for each in texts or [text]]
    if several:
        given += [(HOLE, frozenset[str]().union(*(labels for _, labels in given)))] * (most - len(given))
    return given


def _texts(word: Word, scope: Scope) -> list[str]:
    """The texts in an array that makes up the word, as far as they follow each other."""
    texts: list[str] = []
    if isinstance(word.only, Variable) and _is_list(word) and not word.only.operator:
        name = word.only.name[:-3]
        while (text := scope.texts.get(f"{name}[{len(texts)}]")) is not None and len(texts) < _MOST_EXECUTED:
            texts.append(text)
    return texts


def _parts(text: str, word: Word, scope: Scope) -> list[str]:
    return [text] if word.quoted or HOLE in text else scope.split(text)


def _is_braced(word: Word) -> bool:
    return not word.quoted and "{" in (word.literal or "") and "," in (word.literal or "")


def _carried(call: Call, table: dict[str, Any]) -> Iterator[Call]:
    """``docker run image sh -c …``: the interpreter among the arguments, and what follows it.

    Of a program that starts another one on this machine, any program that does something by its name.
    """
    how = table["carriers"][call.name]
    here = "elsewhere" not in how
    begins = begins_behind(call, how.get("behind"))
    for index, argument in enumerate(call.arguments[: len(call.words)]):
        name = "" if begins is None or index < begins else program_name(argument)
        if name in table["interpreters"] or (here and name in lookup().carried and name == argument):
            words = call.words[index:]
            yield Call(name, call.arguments[index + 1 :], words[1:], call.command, (call.name,), words[0])
            return


def begins_behind(call: Call, words: Sequence[str] | None) -> int | None:
    """Where the arguments behind the first of `words` begin; at the first argument without `words`, else None."""
    return next((at + 1 for at, text in enumerate(call.arguments) if text in words), None) if words else 0


def carried(call: Call, table: dict[str, Any]) -> Iterator[Word]:
    """The arguments of `call` that may be the path of a program of this machine that it starts.

    A word behind an option may be its value or the program, so that what follows may be data of that program.
    """
    how: dict[str, Any] | None = table["carriers"].get(call.name)
    if how is None or "elsewhere" in how:
        return
    begins = begins_behind(call, how.get("behind"))
    left, doubtful, before = how.get("operands", 0), False, ""
    for text, word in zip(call.arguments[begins:], call.words[begins:], strict=False) if begins is not None else ():
        if not text.startswith(("-", "+")):
            if ("/" in text or "bare" in how) and not (doubtful and _DATA.search(text) and not text.startswith("./")):
                yield word
            doubtful = doubtful or before.startswith("-")
            left -= not before.startswith("-")
            if left < 0:
                return
        before = text


def _words_at(place: Word, texts: list[str]) -> list[Word]:
    return [Word(place.start, place.end, [text], literal=text) for text in texts]

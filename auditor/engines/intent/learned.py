"""How much a passage reads like an order against the user: a linear model over its words and pairs of words.

The weights are data (``rules/learned/intent.json``), learnt from labelled passages of many writers and from honest
pages by ``scripts/train_intent.py``. Addresses and numbers are one word each: no host and no figure has a weight.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice, pairwise
from typing import Any, Final, TypeVar

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.chunks import WORD
from skillkeep.auditor.engines.intent.sentences import Sentence, plain_text, spans
from skillkeep.auditor.ruleset import shipped

__all__ = [
    "BETWEEN", "ENDINGS", "FEW", "LEAST", "TOGETHER", "Passage", "Reading", "Weights", "features", "names_address",
    "passages", "pieces", "stem_of", "weights", "without_addresses",
]  # fmt: skip

_T = TypeVar("_T")

BETWEEN: Final = "|"
"""What stands between the features of one weight in the file of weights; none has it."""

ENDINGS: Final = (
    r"(?:com|org|net|io|dev|ai|app|co|invalid|example|test|cloud|xyz|site|online|info|me|us|uk|de|cn|ru|tech|store|host"
    r"|page|link|internal)\b"
)
"""Of hosts, as a pattern."""
_ADDRESSES: Final = (  # what is in each, a pattern, the word that stands for it
    ("://", compiled(r"\b(?:https?|wss?|ftp|s3|gs)://[^\s\0)>\]\"'`|,]+"), " urlx "),
    ("www.", compiled(r"\bwww\.[^\s\0)>\]\"']+"), " urlx "),
    ("@", compiled(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), " mailx "),
    (".", compiled(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), " ipx "),
    (
        ".",
        compiled(
            r"(?<![a-z0-9.-])(?=[a-z0-9-]{1,63}\.[a-z0-9])(?:[a-z0-9-]{1,63}\.){1,8}"
            rf"{ENDINGS}(?:[:/][^\s\0)>\]\"'`|,]*)?"
        ),
        " hostx ",
    ),
)
_DOTTED: Final = compiled(r"[a-z0-9-]\.[a-z0-9]")
_ENDING: Final = compiled(r"(?:ies|ing|ed|es|s|ly)$")
_STEM: Final = 6  # letters of a word of another language than English
_MOST: Final = 100  # words of a block that is read whole
_PIECE, _STEP = 80, 40  # words of a piece of a longer one, and how far the next starts after it
TOGETHER: Final = 120
"""Words of two blocks that are read as one, at most."""
LEAST: Final = 4
"""Words of a passage."""
FEW: Final = 26
"""Features of thirteen words: fewer say no more than their part of that."""
_WINDOW, _WINDOW_STEP = 10, 3  # words of a sentence that have to be harmless by themselves
_MOST_HOSTILE: Final = 200
_MOST_WORDS: Final = 32_768
_LONGEST_KEPT: Final = 24


@dataclass(frozen=True)
class Passage:
    """Words of one block, or of two that follow each other, at ``[start, end)``; their `features` are a set.

    `last` is where the last of its blocks starts.
    """

    start: int
    last: int
    end: int
    features: frozenset[str]


@dataclass(frozen=True)
class Weights:
    """A weight for each word and pair of words, and scores: from `blocking` on, a passage is an order against the
    user; from `doubtful` on, perhaps; below `plain`, what a combination of meanings found in it is none by itself, when
    no few words of it score `suspect` or more. From `certain` on, it is one on any page. What says that something
    private leaves has to be below `plain_private` and `suspect_private`.
    """

    bias: float
    blocking: float
    doubtful: float
    plain: float
    suspect: float
    of: Mapping[str, float]
    certain: float = math.inf
    plain_private: float = -math.inf
    suspect_private: float = -math.inf

    def score(self, found: frozenset[str]) -> float:
        """The higher, the more it reads like an order against the user. Words said again change nothing.

        What has less than `FEW` features says less, for or against.
        """
        total = math.fsum(map(self.of.__getitem__, filter(self.of.__contains__, found)))  # in any order the same
        return self.bias + total / math.sqrt(max(len(found), FEW))

    def least(self, features: int = FEW) -> float:
        """What the weights of a doubtful passage of so many features add up to at least."""
        return (self.doubtful - self.bias) * math.sqrt(max(features, FEW))

    @cached_property
    def against(self) -> Mapping[str, float]:
        """The words and pairs of words that speak against a passage."""
        return {each: weight for each, weight in self.of.items() if weight > 0}

    @cached_property
    def gains(self) -> Mapping[str, float]:
        """What each word, before it is cut to its stem, adds by itself to what speaks against a passage."""
        return _Kept(lambda word: max(self.of.get(stem_of(word), 0.0), 0.0))

    def strongest(self, found: frozenset[str], many: int = 4) -> list[str]:
        """The words and pairs of `found` that speak most against it."""
        known = [each for each in found if self.of.get(each, 0) > 0]
        return sorted(known, key=lambda each: (-self.of[each], each))[:many]

    def knows(self, found: frozenset[str]) -> bool:
        """True when most single words of `found` are Latin and have a weight; it knows few other scripts."""
        single = [each for each in found if " " not in each]
        return 2 * sum(each.isascii() and each in self.of for each in single) > len(single)


@dataclass(frozen=True)
class Reading:
    """What the passages of a text score: those from `doubtful` on, and the worst one of a block when it is asked for.

    `spans` are the blocks of the text.
    """

    text: str
    weights: Weights
    doubtful: Sequence[tuple[Passage, float]]
    spans: Sequence[tuple[int, int]]
    _worst: dict[int, float] = field(default_factory=dict)

    def is_plain(self, sentence: Sentence, *, private: bool) -> bool:
        """True when nothing in `sentence` nor in its passages reads like an order against the user at all.

        The sentence is looked at in windows: harmless words before and after the order excuse nothing. With `private`,
        it was found to say that something private leaves.
        """
        known, words = self.weights, _words(sentence.text)
        plain, suspect = (known.plain_private, known.suspect_private) if private else (known.plain, known.suspect)
        if not words or not known.knows(features(words)):
            return False
        for start in range(0, max(len(words) - _WINDOW, 0) + 1, _WINDOW_STEP):
            if known.score(features(words[start : start + _WINDOW])) >= suspect:
                return False
        return self.worst(sentence.start) < plain

    def worst(self, start: int) -> float:
        """The highest score of a passage that holds the block at `start`."""
        found = self._worst.get(start)
        if found is None:
            at = bisect_left(self.spans, (start, start))
            near = (*self._next(range(at - 1, -1, -1)), at, *self._next(range(at + 1, len(self.spans))))
            some = [each for each in _passages(map(self._block, near)) if start in (each.start, each.last)]
            found = max((self.weights.score(each.features) for each in some), default=-math.inf)
            self._worst[start] = found
        return found

    def _next(self, numbers: Iterable[int]) -> Iterable[int]:
        """The first of the blocks `numbers` that has words."""
        return islice((number for number in numbers if self._block(number)[2]), 1)

    def _block(self, number: int) -> tuple[int, int, Sequence[str]]:
        start, end = self.spans[number]
        return start, end, _words(plain_text(self.text[start:end]))

    def hostile(self) -> list[tuple[Passage, float]]:
        """The worst passages from `doubtful` on with their scores, none overlapping a worse one."""
        found: list[tuple[Passage, float]] = []
        for passage, score in sorted(self.doubtful, key=lambda pair: -pair[1])[:_MOST_HOSTILE]:
            if all(passage.end <= other.start or passage.start >= other.end for other, _ in found):
                found.append((passage, score))
        return found


def passages(text: str) -> Iterator[Passage]:
    """The passages of `text` in order: each block, each piece of a long one, and each two that follow each other."""
    return _passages((start, end, _words(plain_text(text[start:end]))) for start, end in spans(text))


def _passages(blocks: Iterable[tuple[int, int, Sequence[str]]]) -> Iterator[Passage]:
    """The passages of blocks that follow each other, which are given by where they stand and by their words."""
    before: tuple[int, Sequence[str], frozenset[str]] | None = None
    for start, end, words in blocks:
        for piece in pieces(0, len(words)) if words else ():
            own = words[slice(*piece)]
            here = features(own)
            if len(own) >= LEAST:
                yield Passage(start, start, end, here)
            if before is not None and LEAST <= len(before[1]) + len(own) <= TOGETHER:
                yield Passage(before[0], start, end, before[2] | here)
            before = start, own, here


def features(words: Sequence[str]) -> frozenset[str]:
    """Each word, and each two that follow each other."""
    return frozenset(words).union([f"{first} {second}" for first, second in pairwise(words)])


def pieces(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The words ``[start, stop)`` of a block as they are read: all of them, or in pieces of a long one."""
    if stop - start <= _MOST:
        yield start, stop
        return
    for at in range(start, stop - _STEP, _STEP):
        yield at, min(at + _PIECE, stop)


def _words(plain: str) -> list[str]:
    return [_STEMS[word] for word in WORD.findall(without_addresses(plain))]


def names_address(plain: str) -> bool:
    """True when the lower-cased `plain` names an address: of a page, a host or a mailbox."""
    return "://" in plain or without_addresses(plain) != plain


def without_addresses(plain: str) -> str:
    """The lower-cased `plain` with one word for each address."""
    for sign, pattern, word in _ADDRESSES if _DOTTED.search(plain) or "://" in plain else ():
        if sign in plain:
            plain = pattern.sub(word, plain)
    return plain


class _Kept(dict[str, _T]):
    """What is `told` of each word that was met; long ones are not kept."""

    def __init__(self, told: Callable[[str], _T]) -> None:
        super().__init__()
        self._told = told

    def __missing__(self, word: str) -> _T:
        found = self._told(word)
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[word] = found
        return found


def _stem(word: str) -> str:
    if word.isdigit():
        return "0"
    if not word.isascii():
        return word[:_STEM]
    return _ENDING.sub("", word) if len(word) > 5 else word.rstrip("s") if len(word) > 3 else word


_STEMS: Final = _Kept(_stem)
stem_of: Final = _STEMS.__getitem__
"""What a word begins with, which says what it means."""


@cache
def weights() -> Weights:
    """The weights that this version ships."""
    kept: Mapping[str, Any] = shipped().plain("learned/intent.json")
    known: dict[str, float] = {}
    for weight, joined in kept["weights"].items():
        known.update(dict.fromkeys(joined.split(BETWEEN), int(weight) / kept["scale"]))
    return Weights(
        kept["bias"], kept["blocking"], kept["doubtful"], kept["plain"], kept["suspect"], known, kept["certain"],
        kept["plain_private"], kept["suspect_private"],
    )  # fmt: skip

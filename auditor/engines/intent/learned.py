"""How much a passage reads like an order against the user: a linear model over its words and pairs of words.

The weights are data (``rules/learned/intent.json``), learnt from labelled passages of many writers and from honest
pages by ``scripts/train_intent.py``. Addresses and numbers are one word each: no host and no figure has a weight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, Final

from skillkeep.auditor.engines.intent.sentences import Sentence, blocks, plain_text
from skillkeep.auditor.ruleset import shipped

__all__ = ["FEW", "Passage", "Reading", "Weights", "features", "passages", "read", "weights"]

_ADDRESSES: Final = (  # what is in each, a pattern, the word that stands for it
    ("://", re.compile(r"\b(?:https?|wss?|ftp|s3|gs)://[^\s)>\]\"'`|,]+"), " urlx "),
    ("www.", re.compile(r"\bwww\.[^\s)>\]\"']+"), " urlx "),
    ("@", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), " mailx "),
    (".", re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), " ipx "),
    (
        ".",
        re.compile(
            r"(?<![a-z0-9.-])(?=[a-z0-9-]{1,63}\.[a-z0-9])(?:[a-z0-9-]{1,63}\.){1,8}(?:com|org|net|io|dev|ai|app|co|invalid|example|test|cloud|xyz"
            r"|site|online|info|me|us|uk|de|cn|ru|tech|store|host|page|link|internal)\b(?:[:/][^\s)>\]\"'`|,]*)?"
        ),
        " hostx ",
    ),
)
_DOTTED: Final = re.compile(r"[a-z0-9-]\.[a-z0-9]")
_WORD: Final = re.compile(  # words of alphabets, figures, signs; of other scripts each character
    r"[a-z'\u00df-\u024f\u0370-\u052f\u0590-\u06ff\u0900-\u0dff\u1e00-\u1eff]+|[0-9]+|[~$@<>{}%!]|[^\x00-\x7f]"
)
_ENDING: Final = re.compile(r"(?:ies|ing|ed|es|s|ly)$")
_STEM: Final = 6  # letters of a word of another language than English
_MOST: Final = 100  # words of a block that is read whole
_PIECE, _STEP = 80, 40  # words of a piece of a longer one, and how far the next starts after it
_TOGETHER: Final = 120  # words of two blocks that are read as one
_LEAST: Final = 4
FEW: Final = 26
"""Features of thirteen words: fewer say no more than their part of that."""
_WINDOW, _WINDOW_STEP = 10, 3  # words of a sentence that have to be harmless by themselves
_MOST_HOSTILE: Final = 200
_MOST_WORDS: Final = 32_768


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
    """A weight for each word and pair of words, and four scores: from `blocking` on, a passage is an order against the
    user; from `doubtful` on, perhaps; below `plain`, what a combination of meanings found in it is none by itself, when
    no few words of it score `suspect` or more.
    """

    bias: float
    blocking: float
    doubtful: float
    plain: float
    suspect: float
    of: Mapping[str, float]

    def score(self, found: frozenset[str], few: int = FEW) -> float:
        """The higher, the more it reads like an order against the user. Words said again change nothing.

        What has less than `few` features says less, for or against.
        """
        total: float = sum(map(self.of.__getitem__, found & self._known))
        return self.bias + total / math.sqrt(max(len(found), few))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.of)

    def strongest(self, found: frozenset[str], many: int = 4) -> list[str]:
        """The words and pairs of `found` that speak most against it."""
        known = [each for each in found if self.of.get(each, 0) > 0]
        return sorted(known, key=lambda each: (-self.of[each], each))[:many]

    def knows(self, found: frozenset[str]) -> bool:
        """True when most single words of `found` have a weight, so that its score says something."""
        single = [each for each in found if " " not in each]
        return 2 * sum(each in self.of for each in single) > len(single)


@dataclass(frozen=True)
class Reading:
    """What the passages of a text score: those from `doubtful` on, and the worst one of each block, by its start."""

    text: str
    weights: Weights
    doubtful: Sequence[tuple[Passage, float]]
    worst: Mapping[int, float]

    def is_plain(self, sentence: Sentence) -> bool:
        """True when nothing in `sentence` nor in its passages reads like an order against the user at all.

        The sentence is looked at in windows: harmless words before and after the order excuse nothing.
        """
        known, words = self.weights, _words(sentence.text)
        if not words or not known.knows(features(words)):
            return False
        for start in range(0, max(len(words) - _WINDOW, 0) + 1, _WINDOW_STEP):
            if known.score(features(words[start : start + _WINDOW])) >= known.suspect:
                return False
        return self.worst.get(sentence.start, -math.inf) < known.plain

    def hostile(self) -> list[tuple[Passage, bool]]:
        """The worst passages from `doubtful` on, none overlapping a worse one; with each whether it blocks."""
        found: list[tuple[Passage, bool]] = []
        for passage, score in sorted(self.doubtful, key=lambda pair: -pair[1])[:_MOST_HOSTILE]:
            if all(passage.end <= other.start or passage.start >= other.end for other, _ in found):
                found.append((passage, score >= self.weights.blocking))
        return found


def read(text: str) -> Reading:
    """Score `text` with the weights that this version ships."""
    known = weights()
    doubtful: list[tuple[Passage, float]] = []
    worst: dict[int, float] = {}
    for passage in passages(text):
        score = known.score(passage.features)
        for block in (passage.start, passage.last):
            worst[block] = max(score, worst.get(block, score))
        if score >= known.doubtful:
            doubtful.append((passage, score))
    return Reading(text, known, doubtful, worst)


def passages(text: str) -> Iterator[Passage]:
    """The passages of `text` in order: each block, each piece of a long one, and each two that follow each other."""
    before: tuple[int, Sequence[str], frozenset[str]] | None = None
    for block in blocks(text):
        words = _words(plain_text(text[block.start : block.end]))
        if not words:
            continue
        for piece in _pieces(words):
            here = features(piece)
            if len(piece) >= _LEAST:
                yield Passage(block.start, block.start, block.end, here)
            if before is not None and _LEAST <= len(before[1]) + len(piece) <= _TOGETHER:
                yield Passage(before[0], block.start, block.end, before[2] | here)
            before = block.start, piece, here


def features(words: Sequence[str]) -> frozenset[str]:
    """Each word, and each two that follow each other."""
    return frozenset(words).union([f"{first} {second}" for first, second in pairwise(words)])


def _pieces(words: Sequence[str]) -> Iterator[Sequence[str]]:
    if len(words) <= _MOST:
        yield words
        return
    for start in range(0, len(words) - _STEP, _STEP):
        yield words[start : start + _PIECE]


def _words(plain: str) -> list[str]:
    for sign, pattern, word in _ADDRESSES if _DOTTED.search(plain) or "://" in plain else ():
        if sign in plain:
            plain = pattern.sub(word, plain)
    return [_stem(word) for word in _WORD.findall(plain)]


@lru_cache(_MOST_WORDS)
def _stem(word: str) -> str:
    if word.isdigit():
        return "0"
    if not word.isascii():
        return word[:_STEM]
    return _ENDING.sub("", word) if len(word) > 5 else word.rstrip("s") if len(word) > 3 else word


@cache
def weights() -> Weights:
    """The weights that this version ships."""
    kept: Mapping[str, Any] = shipped().plain("learned/intent.json")
    scale = kept["scale"]
    known = {name: weight / scale for name, weight in kept["weights"].items()}
    return Weights(kept["bias"], kept["blocking"], kept["doubtful"], kept["plain"], kept["suspect"], known)

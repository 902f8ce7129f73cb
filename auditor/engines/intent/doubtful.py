"""Which passages of many blocks read like an order against the user: most are passed over without being scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, islice, repeat
from operator import add
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.chunks import BETWEEN, WORD, Chunk, chunks, stops_of
from skillkeep.auditor.engines.intent.learned import (
    ENDINGS,
    LEAST,
    TOGETHER,
    Passage,
    Reading,
    Weights,
    features,
    pieces,
    stem_of,
    weights,
    without_addresses,
)

__all__ = ["doubtful_of", "read"]

_SIGN: Final = compiled(  # one of these is in every address
    rf"[:@.](?:(?<=:)//|(?<=@)[\w-]|(?<=\.)(?:(?<=www\.)|\d{{1,3}}\.\d{{1,3}}\.\d|{ENDINGS}))"
)
_ROUNDED: Final = 1e-6

_Words = tuple[int, int]
"""Where words that follow each other start and end, among those of all blocks."""


def read(text: str) -> Reading:
    """Score `text` with the weights that this version ships."""
    whole = list(chunks([text]))
    doubtful = [found for chunk in whole for _, found in doubtful_of(chunk)]
    return Reading(text, weights(), doubtful, whole[0].spans[0] if whole else ())


def doubtful_of(chunk: Chunk) -> Iterator[tuple[int, tuple[Passage, float]]]:
    """The doubtful passages of `chunk` that are not of the one before, in order, each with the number of its text.

    Only those are scored that may be doubtful by the words that speak against them.
    """
    known = weights()
    worded, least = _Worded(chunk, known), known.least()
    bounds, places = worded.bounds(), worded.places()
    for before, place in zip([-1, *places], places, strict=False):
        if bounds[place] + bounds[before] < least or place < chunk.known:
            continue
        text, number = chunk.blocks[place]
        follows = before >= 0 and chunk.blocks[before][0] == text
        start, end = chunk.spans[text][number]
        for first, parts in worded.passages(place, before if follows else None):
            if least <= 0 or worded.most(parts) >= least:
                begin = chunk.spans[text][chunk.blocks[first][1]][0]
                passage = Passage(begin, start, end, worded.features(parts))
                score = known.score(passage.features)
                if score >= known.doubtful:
                    yield text, (passage, score)


class _Worded:
    """The words of a chunk's blocks with one word for each address."""

    def __init__(self, chunk: Chunk, known: Weights) -> None:
        self._known = known
        self._stops = list(chunk.stops)
        self._starts = [0, *(stop + 1 for stop in self._stops[:-1])]
        words = chunk.words
        if places := _addressed(chunk.plain):
            texts = chunk.texts_of_blocks
            replaced = WORD.findall(without_addresses(BETWEEN.join([texts[place] for place in places])))
            first = len(words) + 1
            for place, stop in zip(places, stops_of(replaced), strict=True):
                self._starts[place], self._stops[place] = first, len(words) + 1 + stop
                first = self._stops[place] + 1
            words = [*words, BETWEEN, *replaced]
        self._stems = list(map(stem_of, words))
        pairs = map(" ".join, zip(self._stems, islice(self._stems, 1, None), strict=False))
        self._gains = map(known.gains.__getitem__, words)
        self._gains_of_pairs = list(map(known.against.get, pairs, repeat(0.0)))

    def places(self) -> list[int]:
        """The places of the blocks that have words."""
        return [
            place for place, (start, stop) in enumerate(zip(self._starts, self._stops, strict=True)) if start < stop
        ]

    def bounds(self) -> list[float]:
        """What the weights of any passage of each block add up to at most, by those that speak against it."""
        gains = map(add, self._gains, chain(self._gains_of_pairs, (0.0,)))
        sums = list(accumulate(gains, initial=_ROUNDED))
        return [sums[stop] - sums[start] + _ROUNDED for start, stop in zip(self._starts, self._stops, strict=True)]

    def passages(self, place: int, before: int | None) -> Iterator[tuple[int, Iterable[_Words]]]:
        """The passages that end in the block at `place`, each with the place of its first block: as `passages` of a
        text; `before` is the block before it."""
        last: tuple[int, _Words] | None = None
        if before is not None:
            *_, words = pieces(self._starts[before], self._stops[before])
            last = before, words
        for start, stop in pieces(self._starts[place], self._stops[place]):
            if stop - start >= LEAST:
                yield place, ((start, stop),)
            if last is not None and LEAST <= last[1][1] - last[1][0] + stop - start <= TOGETHER:
                yield last[0], (last[1], (start, stop))
            last = place, (start, stop)

    def most(self, parts: Iterable[_Words]) -> float:
        """What the weights of a passage add up to at most. Its single words count each once, also those that speak
        for it: few passages are left then."""
        stems = {stem for start, stop in parts for stem in self._stems[start:stop]}
        of_pairs = sum(sum(self._gains_of_pairs[start : stop - 1]) for start, stop in parts)
        return sum(map(self._known.of.get, stems, repeat(0.0)), of_pairs) + _ROUNDED

    def features(self, parts: Iterable[_Words]) -> frozenset[str]:
        """The features of a passage."""
        return frozenset().union(*(features(self._stems[start:stop]) for start, stop in parts))


def _addressed(plain: str) -> list[int]:
    """The numbers of the joined texts that may hold an address."""
    found: list[int] = []
    number = at = 0
    for sign in _SIGN.finditer(plain):
        number += plain.count(BETWEEN, at, sign.start())
        at = sign.start()
        if not found or found[-1] != number:
            found.append(number)
    return found

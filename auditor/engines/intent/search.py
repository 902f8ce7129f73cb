"""Where frames are found: first all blocks at once by their words, then what is left sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from skillkeep.auditor.engines.intent.allowed import ones
from skillkeep.auditor.engines.intent.chunks import Chunk, chunks
from skillkeep.auditor.engines.intent.frames import Frame, Match, frames, stands
from skillkeep.auditor.engines.intent.sentences import Sentence, sentences
from skillkeep.auditor.engines.intent.words import Meanings, Places, words

__all__ = ["matches", "matches_of"]

_NEAR: Final = 3  # sentences that a frame with `near` may spread over
_NEAR_LONGEST: Final = 700

Chosen = Mapping[int, Sequence[Frame]]
"""By the number of a text, the frames that its words allow."""


@dataclass(frozen=True)
class _Unit:
    """A sentence, or some that follow each other and end with it; the text of them all has the number `number`.

    The last starts at `start`; `alone` is its own number, or -1 when there are no others.
    """

    sentence: Sentence
    text: str
    number: int
    start: int
    alone: int


def matches(text: str) -> Iterator[Match]:
    """Every frame of every sentence of `text`, each frame once a sentence."""
    return (match for chunk in chunks([text]) for _, match in matches_of(chunk))


def matches_of(chunk: Chunk) -> Iterator[tuple[int, Match]]:
    """The matches in the blocks of `chunk`, each with the number of its text."""
    alone, several = _frames()
    meanings = words().of_words(chunk.plain, chunk.words, chunk.followers)
    here, spread = _chosen(alone, meanings), _chosen(several, meanings, around=True)
    texts: list[str] = []
    units: list[tuple[int, _Unit]] = []
    for place in sorted({*here, *spread}):
        if place >= chunk.known:
            units += [(chunk.blocks[place][0], unit) for unit in _units(chunk, place, place in spread, texts)]
    if units:
        meanings = words().of(texts)
        here, spread = _chosen(_of(here, alone), meanings), _chosen(_of(spread, several), meanings)
        for text, unit in units:
            for match in _found(unit, (here if unit.alone < 0 else spread).get(unit.number, ()), meanings):
                yield text, match


def _of(chosen: Chosen, some: Sequence[Frame]) -> Sequence[Frame]:
    """Those of `some` that were chosen for any text, in their order."""
    ever = {id(frame) for frames_of in chosen.values() for frame in frames_of}
    return [frame for frame in some if id(frame) in ever]


def _units(chunk: Chunk, place: int, spread: bool, texts: list[str]) -> Iterator[_Unit]:
    """The sentences of a block, and where a frame may be `spread` over some, these; adds their texts to `texts`."""
    of_text, number = chunk.blocks[place]
    text, blocks = chunk.texts[of_text], chunk.of_text(of_text)
    here = list(sentences(text, blocks[number]))
    first = len(texts)
    for each in here:
        yield _Unit(each, each.text, len(texts), 0, -1)
        texts.append(each.text)
    if not spread:
        return
    before = list(sentences(text, blocks[number - 1])) if number else []
    lines = [each.text for each in (*before, *here)]
    for last, each in enumerate(here):
        end = len(before) + last + 1
        together = ". ".join(lines[max(0, end - _NEAR) : end])
        if len(together) <= _NEAR_LONGEST:
            yield _Unit(each, together, len(texts), len(together) - len(each.text), first + last)
            texts.append(together)


def _found(unit: _Unit, some: Sequence[Frame], meanings: Meanings) -> Iterator[Match]:
    places: Places | None = None
    for frame in some:
        places = places or Places(unit.text, words(), meanings, unit.number)
        if unit.alone < 0:
            found = stands(frame, places, unit.sentence.lead, frame.within)
        else:
            since = 0 if meanings.holds(unit.alone, frame.told) else unit.start
            found = stands(frame, places, unit.sentence.lead, _NEAR_LONGEST, since)
        if found:
            yield Match(frame, unit.sentence, unit.text)


def _chosen(some: Sequence[Frame], meanings: Meanings, around: bool = False) -> Chosen:
    """The frames whose order a text allows and whose parts it does, with `around` it and the text before together."""
    chosen: dict[int, list[Frame]] = {}
    for frame in some:
        left = -1
        for part in frame.rarest_first:
            left &= meanings.of(part, around)
            if not left:
                break
        else:
            for number in ones(left & meanings.of(frame.told)):
                chosen.setdefault(number, []).append(frame)
    return chosen


@cache
def _frames() -> tuple[Sequence[Frame], Sequence[Frame]]:
    """The frames of one sentence, those with one order after each other, and those of several."""
    orders: dict[str, list[Frame]] = {}
    for frame in frames():
        if not frame.near:
            orders.setdefault(frame.told, []).append(frame)
    return [frame for some in orders.values() for frame in some], [frame for frame in frames() if frame.near]

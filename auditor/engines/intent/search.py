"""Where frames are found: first all blocks at once by their words, then what is left sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Final

from skillkeep.auditor.engines.intent.chunks import Chunk, chunks
from skillkeep.auditor.engines.intent.frames import Frame, Match, frames, stands
from skillkeep.auditor.engines.intent.sentences import sentences
from skillkeep.auditor.engines.intent.triggers import Triggers, ones
from skillkeep.auditor.engines.intent.words import Held, Places, words

__all__ = ["matches", "matches_of"]

_NEAR: Final = 3  # sentences that a frame with `near` may spread over
_NEAR_LONGEST: Final = 700
_NEAR_WITHIN: Final = 160
"""Characters between the order and each part of such a frame: what stands further off is about something else."""


def matches(text: str) -> Iterator[Match]:
    """Every frame of every sentence of `text`, each frame once a sentence."""
    return (match for chunk in chunks([text]) for _, match in matches_of(chunk))


def matches_of(chunk: Chunk) -> Iterator[tuple[int, Match]]:
    """The matches in the blocks of `chunk`, each with the number of its text."""
    for place, alone, several in _chosen(chunk):
        if place >= chunk.known:
            for match in _found(chunk, place, alone, several):
                yield chunk.blocks[place][0], match


def _chosen(chunk: Chunk) -> Iterator[tuple[int, Sequence[Frame], Sequence[Frame]]]:
    """The places of blocks with the frames whose parts their words allow, of one sentence and of several.

    For those of several what the block before holds counts, too, but not for the order.
    """
    some, numbers = _frames(), _triggers().allowed(chunk.words, chunk.stops, chunk.texts_of_blocks, chunk.following)
    chosen: dict[int, tuple[list[Frame], list[Frame]]] = {}
    for number, blocks in numbers:
        for place in ones(blocks):
            chosen.setdefault(place, ([], []))[some[number].near].append(some[number])
    for place, (alone, several) in sorted(chosen.items(), key=itemgetter(0)):
        yield place, alone, several


def _held(chunk: Chunk, place: int) -> Held:
    """What a block holds."""
    begin = chunk.stops[place - 1] + 1 if place else 0
    return words().held(chunk.texts_of_blocks[place], chunk.words[begin : chunk.stops[place]])


def _fits(frame: Frame, held: Held) -> bool:
    """True when a text that holds this may have every part of `frame`."""
    return all(map(held.may, frame.rarest_first))


def _found(chunk: Chunk, place: int, alone: Sequence[Frame], several: Sequence[Frame]) -> Iterator[Match]:
    """The matches in a block: of the frames `alone` in each of its sentences, then of `several` that end with each."""
    of_text, number = chunk.blocks[place]
    text, blocks = chunk.texts[of_text], chunk.of_text(of_text)
    here = list(sentences(text, blocks[number]))
    own = [_held(chunk, place)] if len(here) == 1 else [words().held(each.text) for each in here]
    for each, inside in zip(here, own, strict=True):
        places = Places(each.text, inside)
        for frame in alone:
            if _fits(frame, inside) and stands(frame, places, each.lead, frame.within):
                yield Match(frame, each, each.text)
    if not several:
        return
    before = list(sentences(text, blocks[number - 1]))[1 - _NEAR :] if number else []
    lines = [each.text for each in (*before, *here)]
    holding = [*(words().held(each.text) for each in before), *own]
    for last, each in enumerate(here):
        end = len(before) + last + 1
        begin = max(0, end - _NEAR)
        together = ". ".join(lines[begin:end])
        if len(together) > _NEAR_LONGEST:
            continue
        places = Places(together, words().held_together(holding[begin:end], together))
        for frame in several:
            if _fits(frame, places.held):
                since = 0 if own[last].may(frame.told) else len(together) - len(each.text)
                if stands(frame, places, each.lead, _NEAR_WITHIN, since):
                    yield Match(frame, each, together)


@cache
def _frames() -> Sequence[Frame]:
    """The frames of one sentence, those with one order after each other, then those of several."""
    orders: dict[str, list[Frame]] = {}
    for frame in frames():
        if not frame.near:
            orders.setdefault(frame.told, []).append(frame)
    return [*(frame for some in orders.values() for frame in some), *(frame for frame in frames() if frame.near)]


@cache
def _triggers() -> Triggers:
    return Triggers(words().lookup, [
        (tuple(map(words().numbers, frame.rarest_first)), frame.rarest_first.index(frame.told) if frame.near else None)
        for frame in _frames()
    ])  # fmt: skip

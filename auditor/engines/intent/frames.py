"""Combinations of meanings that no honest tool needs. The combinations are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Final

from skillkeep.auditor.engines.intent.polarity import is_told
from skillkeep.auditor.engines.intent.sentences import Sentence, blocks, sentences
from skillkeep.auditor.engines.intent.words import Words, words
from skillkeep.auditor.engines.tables import table

__all__ = ["Frame", "Match", "frames", "matches"]

_NEAR: Final = 3  # sentences that a frame with `near` may spread over
_NEAR_LONGEST: Final = 700
_BREAK: Final = re.compile(r"[.;:!?()] |[,;:()] | - |[。，；：]")


@dataclass(frozen=True)
class Frame:
    """`parts` name classes; the order is what a word of `told` gives. No word of `but` stands in the text.

    Every part stands within `within` characters of the order. With `declared`, an activity the tool tells of
    makes the finding a warning. With `near`, the parts may be spread over three sentences that follow each other.
    No end of a clause lies between the order and the parts that `tight` names.
    """

    rule: str
    parts: tuple[str, ...]
    told: str
    but: str = ""
    within: int = 220
    declared: str = ""
    near: bool = False
    tight: str = ""

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The classes of each part."""
        return tuple(words().bits(part) for part in self.parts)

    def is_order(self, part: str) -> bool:
        """True when a word of `part` is the order itself."""
        return set(part.split("|")) <= set(self.told.split("|"))

    def fits(self, tags: int) -> bool:
        """True when `tags` hold every part."""
        for mask in self.masks:  # noqa: SIM110 -- asked for every sentence
            if not tags & mask:
                return False
        return True


@dataclass(frozen=True)
class Match:
    """A frame found in a sentence; `text` is what was read."""

    frame: Frame
    sentence: Sentence
    text: str


def matches(text: str) -> Iterator[Match]:
    """Every frame of every sentence of `text`, each frame once a sentence."""
    tagger = words()
    before: Sequence[Sentence] = ()
    mask_before = 0
    for block in blocks(text):
        mask = tagger.tags(text[block.start : block.end].lower())
        here = _candidates(mask, near=False)
        spread = _candidates(mask | mask_before, near=True)
        found: Sequence[Sentence] = ()
        if here or spread:
            found = list(sentences(text, block))
            for sentence in found:
                yield from _in_one(sentence, here, tagger)
        if spread:
            before = before or list(sentences(text, block.before)) if block.before else ()
            yield from _spread([*before, *found], len(before), spread, tagger)
        before, mask_before = found, mask


def _in_one(sentence: Sentence, some: Sequence[Frame], tagger: Words) -> Iterator[Match]:
    mask = tagger.tags(sentence.text)
    for frame in some:
        if frame.fits(mask) and _stands(frame, sentence.text, sentence.lead, tagger, frame.within):
            yield Match(frame, sentence, sentence.text)


def _spread(found: Sequence[Sentence], new: int, some: Sequence[Frame], tagger: Words) -> Iterator[Match]:
    """Frames whose order stands in a sentence from `new` on, and whose other parts stand up to two sentences before."""
    tags = [tagger.tags(each.text) for each in found]
    for number in range(new, len(found)):
        first = max(0, number - _NEAR + 1)
        mask = 0
        for each in tags[first : number + 1]:
            mask |= each
        text = " ".join(each.text for each in found[first : number + 1])
        for frame in some:
            possible = tags[number] & tagger.bits(frame.told) and frame.fits(mask) and len(text) <= _NEAR_LONGEST
            if possible and _stands(frame, text, found[number].lead, tagger, _NEAR_LONGEST):
                yield Match(frame, found[number], text)


@lru_cache(maxsize=20_000)
def _candidates(mask: int, *, near: bool) -> tuple[Frame, ...]:
    """The frames that a text of these classes can hold."""
    return tuple(frame for frame in frames() if frame.near == near and frame.fits(mask))


def _stands(frame: Frame, text: str, lead: str, tagger: Words, within: int) -> bool:
    others: list[tuple[Sequence[tuple[int, int]], bool]] = []
    for part in frame.parts:
        places = tagger.places(part, text)
        if not places:
            return False
        if not frame.is_order(part):
            others.append((places, part in frame.tight.split()))
    if frame.but and tagger.places(frame.but, text):
        return False
    orders = (at for at in tagger.places(frame.told, text) if is_told(text, at, lead))
    return any(
        all(any(_near(order, at, within, text if tight else "") for at in places) for places, tight in others)
        for order in orders
    )


def _near(order: tuple[int, int], at: tuple[int, int], within: int, text: str) -> bool:
    """True when the word at `at` is near the order, is not the order's own, and in `text`, if given, in its clause."""
    if abs(at[0] - order[0]) > within or at == order:
        return False
    return not (text and _BREAK.search(text, min(at[1], order[1]), max(at[0], order[0])))


@cache
def frames() -> tuple[Frame, ...]:
    """The combinations that this version ships."""
    return tuple(_frame(item) for item in table("intent")["frames"])


def _frame(item: Mapping[str, Any]) -> Frame:
    return Frame(**{**item, "parts": tuple(part.replace(" ", "") for part in item["parts"])})

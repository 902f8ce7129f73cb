"""Combinations of meanings that no honest tool needs. The combinations are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from operator import or_
from typing import Any, Final

from skillkeep.auditor.engines.intent.meanings import meanings
from skillkeep.auditor.engines.intent.polarity import is_told
from skillkeep.auditor.engines.intent.sentences import Sentence, blocks, plain_text, sentences
from skillkeep.auditor.engines.intent.words import Places, Texts, Words, words

__all__ = ["Frame", "Match", "frames", "matches"]

_NEAR: Final = 3  # sentences that a frame with `near` may spread over
_NEAR_LONGEST: Final = 700
_PARTED: Final = re.compile(r"(?<=[a-zA-Z0-9])(?:[*`]+(?=[a-zA-Z0-9])|<(?=[a-z/!]|--))")  # marks inside of a word
_BREAK: Final = re.compile(r"[.;:!?()] |[,;:()] | - |[。，；：]")
_OBJECT_BREAK: Final = re.compile(
    r"[.;:!?()] | - |[。；：]|\b(?:with|without|for|until|from|to|when|if|in|by|as|because)\b"
)
_EXCEPT: Final = re.compile(
    r"\b(?:no|without|not|except|excluding|never|minus|redact\w*|mask\w*|anonymi[sz]\w*|free of)"
    r" (?:any |the |your |all )*$"
)
_INSTEAD: Final = re.compile(r"\b(?:instead of|rather than|avoids?|avoiding|replac\w+|over) (?:\w+ ){0,2}$")
_FLAG: Final = re.compile(r"--(?:silent|quiet)")
_NOBODY: Final = re.compile(  # what stands where the reader's own address belongs
    r"(?:recipient|attendee|reviewer|user|you|your[.-]?\w*|their[.-]?\w*|alice|someone|name|email|jane|john)(?:[.-]?doe)?\d?"
    r"@(?:example\.(?:com|org|net)|(?:your-?)?(?:company|domain|email)\.com)"
    r"|(?:s3|gs)://(?:[<{$]|your[-_]).*"
)
_INSTRUMENT: Final = re.compile(r"\b(?:use|using|needs?|requires?) (?:the |an? |your )?(?:\w+ )?$")
_FOR_THAT: Final = re.compile(r"tokens? (?:to|for) ")
_SIMPLE: Final = re.compile(r"[a-z-]+")  # an English verb in its base form; its object follows


@dataclass(frozen=True)
class Frame:
    """`parts` name classes; the order is what a word of `told` gives. No word of `but` stands in the text.

    Every part stands within `within` characters of the order. With `declared`, an activity the tool tells of
    makes the finding a warning. With `near`, the parts may be spread over three sentences that follow each other.
    No end of a clause lies between the order and the parts that `tight` or `object` names, and those of `object`
    follow the order. With `english`, the order is an English word.
    With `stranger`, an address counts only when the tool does not tell of it.
    A word of the part `replaced` does not count after "instead of" and the like.
    """

    rule: str
    parts: tuple[str, ...]
    told: str
    but: str = ""
    within: int = 220
    declared: str = ""
    near: bool = False
    tight: str = ""
    object: str = ""
    english: bool = False
    stranger: bool = False
    replaced: str = ""

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The classes of each part."""
        return tuple(words().bits(part) for part in self.parts)

    @cached_property
    def rarest_first(self) -> tuple[str, ...]:
        """The parts and the order, the rarest in text first."""
        return tuple(sorted({*self.parts, self.told}, key=lambda part: (words().share(part), part)))

    @cached_property
    def by_address(self) -> bool:
        """True when a part of it is an address."""
        return any({"url", "fqdn"} & set(part.split("|")) for part in self.parts)

    def is_order(self, part: str) -> bool:
        """True when a word of `part` is the order itself."""
        return set(part.split("|")) <= set(self.told.split("|"))

    @cached_property
    def order(self) -> int:
        """The classes of the order."""
        return words().bits(self.told)

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
    texts = tagger.texts_in(text)
    alone, several = _choices()
    before: Sequence[Sentence] = ()
    mask_before = 0
    parted = _PARTED.search(text) is not None
    for block in blocks(text):
        raw = text[block.start : block.end]
        mask = tagger.tags(raw.lower(), texts)
        if parted and _PARTED.search(raw):
            mask |= tagger.tags(plain_text(raw))
        here = alone.of(mask, mask)
        spread = several.of(mask, mask | mask_before)
        found: Sequence[Sentence] = ()
        if here or spread:
            found = list(sentences(text, block))
            for sentence in found:
                yield from _in_one(sentence, here, tagger, texts)
        if spread:
            before = before or list(sentences(text, block.before)) if block.before else ()
            yield from _spread([*before, *found], len(before), spread, tagger, texts)
        before, mask_before = found, mask


def _in_one(sentence: Sentence, some: Sequence[Frame], tagger: Words, texts: Texts) -> Iterator[Match]:
    mask = tagger.tags(sentence.text, texts) if some else 0
    places: Places | None = None
    for frame in some:
        if frame.fits(mask):
            places = places or Places(sentence.text, tagger, mask)
            if _stands(frame, places, sentence.lead, frame.within):
                yield Match(frame, sentence, sentence.text)


def _spread(found: Sequence[Sentence], new: int, some: Sequence[Frame], tagger: Words, texts: Texts) -> Iterator[Match]:
    """Frames whose order stands in a sentence from `new` on, and whose other parts stand up to two sentences before."""
    for number in range(new, len(found)):
        lines = [each.text for each in found[max(0, number - _NEAR + 1) : number + 1]]
        text = ". ".join(lines)
        if len(text) > _NEAR_LONGEST:
            continue
        mask, mask_here = tagger.tags(text, texts), tagger.tags(lines[-1], texts)
        start = len(text) - len(lines[-1])
        places: Places | None = None
        for frame in some:
            if mask & frame.order and frame.fits(mask):
                places = places or Places(text, tagger, mask)
                since = 0 if mask_here & frame.order else start
                if _stands(frame, places, found[number].lead, _NEAR_LONGEST, since):
                    yield Match(frame, found[number], text)


class _Choice:
    """Chooses of some frames those that a set of classes allows, by the rarest part of each."""

    def __init__(self, some: Sequence[Frame]) -> None:
        self._at: dict[int, list[tuple[int, Frame]]] = {}
        for number, frame in enumerate(some):
            for name in frame.rarest_first[0].split("|"):
                self._at.setdefault(words().bits(name), []).append((number, frame))
        self._orders = reduce(or_, (frame.order for frame in some), 0)
        self._rarest = reduce(or_, self._at, 0)

    def of(self, mask: int, around: int) -> Sequence[Frame]:
        """The frames whose order `mask` allows and whose parts are in `around`, in their own order."""
        some = around & self._rarest
        if not some or not mask & self._orders:
            return ()
        found: list[tuple[int, Frame]] = []
        while some:
            bit = some & -some
            some ^= bit
            found += [each for each in self._at[bit] if mask & each[1].order and each[1].fits(around)]
        return list(dict(sorted(found, key=_number)).values())


def _number(choice: tuple[int, Frame]) -> int:
    return choice[0]


@cache
def _choices() -> tuple[_Choice, _Choice]:
    """The choice of frames of one sentence, those with one order after each other, and of frames of several."""
    orders: dict[int, list[Frame]] = {}
    for frame in frames():
        if not frame.near:
            orders.setdefault(frame.order, []).append(frame)
    alone = [frame for some in orders.values() for frame in some]
    return _Choice(alone), _Choice([frame for frame in frames() if frame.near])


def _stands(frame: Frame, at_hand: Places, lead: str, within: int, since: int = 0) -> bool:
    """True when an order that ends after `since` has every part within that many characters."""
    if not all(map(at_hand.of, frame.rarest_first)):
        return False
    text = at_hand.text
    others: list[tuple[str, Sequence[tuple[int, int]]]] = []
    for part in frame.parts:
        places = at_hand.of(part)
        if part == frame.replaced:
            places = [at for at in places if not _INSTEAD.search(text, max(0, at[0] - 60), at[0])]
        if part != frame.told:
            places = [at for at in places if not _NOBODY.fullmatch(text[slice(*at)].rstrip(".,;:"))]
        if not places:
            return False
        if not frame.is_order(part):
            others.append((part, places))
    if frame.but and at_hand.of(frame.but):
        return False
    if frame.stranger:
        others = [(part, [at for at in places if text[max(0, at[0] - 2) : at[0]] != "]("]) for part, places in others]
    words_of_order = (
        at for at in at_hand.of(frame.told) if at[1] > since and (not frame.english or text[slice(*at)].isascii())
    )
    orders = (at for at in words_of_order if is_told(text, at, lead))
    return any(
        all(any(_near(order, at, within, _between(frame, part, text)) for at in places) for part, places in others)
        for order in orders
    )


def _between(frame: Frame, part: str, text: str) -> tuple[str, re.Pattern[str] | None]:
    """The text, and what must not stand between the order and a word of `part`."""
    if part == frame.object:
        return text, _OBJECT_BREAK
    return text, _BREAK if part == frame.tight else None


def _near(
    order: tuple[int, int], at: tuple[int, int], within: int, between: tuple[str, re.Pattern[str] | None]
) -> bool:
    """True when the word at `at` is near the order, is not the order's own, and stands to it as `between` asks."""
    text, broken = between
    if abs(at[0] - order[0]) > within or at == order or _EXCEPT.search(text, max(0, at[0] - 30), at[0]):
        return False
    if _is_instrument(text, at) or _FLAG.search(text, max(0, at[0] - 2), at[1]):
        return False
    if broken is None:
        return True
    follows = at[0] >= order[1]
    if broken is _OBJECT_BREAK and not follows and _SIMPLE.fullmatch(text, *order):
        return False
    return not broken.search(text, min(at[1], order[1]), max(at[0], order[0]))


def _is_instrument(text: str, at: tuple[int, int]) -> bool:
    """True for the token in "use the access token to send": it is what the act is done with, not what is sent."""
    start, end = at
    mark = text.rfind(" ", 0, end) + 1
    return _FOR_THAT.match(text, mark) is not None and _INSTRUMENT.search(text, max(0, start - 40), start) is not None


@cache
def frames() -> tuple[Frame, ...]:
    """The combinations that this version ships."""
    return tuple(_frame(item) for item in meanings("frames"))


def _frame(item: Mapping[str, Any]) -> Frame:
    return Frame(**{**item, "parts": tuple(part.replace(" ", "") for part in item["parts"])})

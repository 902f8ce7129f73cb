"""Blocks are chosen by the words that begin a meaning; what is chosen so may never leave out a frame that fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillkeep.auditor.engines.intent.chunks import BETWEEN, WORD, stops_of
from skillkeep.auditor.engines.intent.lookup import Lookup, allows, derive
from skillkeep.auditor.engines.intent.search import _frames, _triggers
from skillkeep.auditor.engines.intent.triggers import Triggers, ones
from skillkeep.auditor.engines.intent.words import words
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.auditor.rules import Example

CLASSES = {
    "send": {"en": ["send (?:it|them)", "upload\\w*", "post the (?:file|key)"]},
    "key": {"en": ["(?:the|your) (?:private )?keys?", "secret"]},
    "sly": {"en": ["without (?:a|any) word", "(?:it|them) (?:must|may) stay hidden"]},
    "any": {"en": ["\\w+"]},
}
WORDS = st.sampled_from(
    [
        "send", "it", "them", "upload", "uploads", "post", "the", "file", "key", "keys", "your", "private", "secret",
        "without", "a", "any", "word",
    ]
)  # fmt: skip


def _texts() -> list[str]:
    return [
        line
        for rule in default_rulebook().rules.values()
        if rule.id.startswith("intent-")
        for each in (*rule.bad, *rule.good, *rule.evasion)
        for line in (each.text if isinstance(each, Example) else str(each)).lower().split("\n\n")
    ]


def _allowed(triggers: Triggers, blocks: list[str], follows: int) -> dict[int, set[int]]:
    words = WORD.findall(BETWEEN.join(blocks))
    return {number: set(ones(found)) for number, found in triggers.allowed(words, stops_of(words), blocks, follows)}


def test_what_fits_in_the_rules_own_examples_is_chosen() -> None:
    texts = _texts()
    allowed = _allowed(_triggers(), [*texts, "wombat koala"], 0)
    held = [words().held(text) for text in texts]
    for number, frame in enumerate(_frames()):
        fits = {place for place, each in enumerate(held) if all(map(each.may, frame.rarest_first))}
        assert allowed.get(number, set()) - {len(texts)} == fits
    assert sum(map(len, allowed.values())) > 100
    assert not any(len(texts) in places for places in allowed.values())


@given(st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=6), st.integers(0, 63))
def test_exactly_the_combinations_that_blocks_allow_are_chosen(blocks: list[list[str]], follows: int) -> None:
    lookup = Lookup(derive(CLASSES))
    combinations = [([[0], [1]], None), ([[2]], None), ([[3], [0, 2]], None), ([[1, 2], [0]], 1), ([[2], [3], [1]], 2)]
    texts = [" ".join(each) for each in blocks]
    allowed = _allowed(Triggers(lookup, combinations), texts, follows & ~1)
    for here, text in enumerate(texts):
        held = lookup.held(blocks[here], text)
        both = held | lookup.held(blocks[here - 1], texts[here - 1]) if here and follows >> here & 1 else held
        for number, (parts, own) in enumerate(combinations):
            fits = all(allows(lookup.part(part), held if own in {None, at} else both) for at, part in enumerate(parts))
            if own is not None:
                fits = fits and all(allows(lookup.part(part), both) for part in parts)
            assert fits is (here in allowed.get(number, set()))

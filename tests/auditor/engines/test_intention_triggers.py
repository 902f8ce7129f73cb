"""Blocks are chosen by the words that begin a meaning; what is chosen so may never leave out a frame that fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillkeep.auditor.engines.intent.chunks import WORD
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


def test_what_fits_in_the_rules_own_examples_is_chosen() -> None:
    triggers, some = _triggers(), _frames()
    fitting = 0
    for text in _texts():
        held = words().held(text)
        chosen = {triggers.combination(bit) for bit in ones(triggers.may(triggers.mark(WORD.findall(text)), 0))}
        fits = {number for number, frame in enumerate(some) if all(map(held.may, frame.rarest_first))}
        assert fits <= chosen
        fitting += len(fits)
    assert fitting > 100
    nothing = triggers.may(triggers.mark(["wombat", "koala"]), 0)
    assert len(list(ones(nothing))) < 20


@given(st.lists(WORDS, max_size=8), st.lists(WORDS, max_size=8))
def test_every_combination_that_is_allowed_is_chosen(before: list[str], here: list[str]) -> None:
    lookup = Lookup(derive(CLASSES))
    combinations = [([[0], [1]], None), ([[2]], None), ([[3], [0, 2]], None), ([[1, 2], [0]], 1), ([[2], [3], [1]], 2)]
    triggers = Triggers(lookup, combinations)
    own, other = triggers.mark(here), triggers.mark(before)
    held, both = (lookup.held(some, " ".join(some)) for some in (here, [*before, *here]))
    chosen = {triggers.combination(bit) for bit in ones(triggers.may(own, other))}
    for number, (parts, place) in enumerate(combinations):
        if all(allows(lookup.part(part), held if place in {None, at} else both) for at, part in enumerate(parts)):
            assert number in chosen

"""A grade says how well a source is known; it is words only."""

from __future__ import annotations

import pytest

from skillkeep.vault.interface import Tier
from skillkeep.vault.reputation import Grade, Reputation


@pytest.mark.parametrize(
    ("tier", "clean", "grade"),
    [
        (Tier.UNKNOWN, 0, Grade.NEW),
        (Tier.UNKNOWN, 2, Grade.SEEN),
        (Tier.UNKNOWN, 3, Grade.KNOWN),
        (Tier.TRUSTED, 0, Grade.NEW),
        (Tier.TRUSTED, 1, Grade.KNOWN),
    ],
)
def test_a_clean_past_raises_the_grade_sooner_inside_a_more_trusted_tier(tier: Tier, clean: int, grade: Grade) -> None:
    assert Reputation(tier, clean, pinned=True, signed=True).grade is grade


def test_a_reputation_reads_as_one_line() -> None:
    assert Reputation(Tier.UNKNOWN, 1, pinned=False).describe() == (
        "seen before: 1 clean version, not pinned, signature not checked"
    )
    assert Reputation(Tier.TRUSTED, 2, pinned=True, signed=True).describe() == (
        "well known: 2 clean versions, pinned, signed"
    )

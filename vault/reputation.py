"""How well a source is known, graded inside its tier. It decides how much is shown, never whether the gate exists.

The Hermes seed's own regret: "trusted org is a flat list … there's no gradient". A grade is read beside the tier.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from skillkeep.vault.interface import Tier

__all__ = ["Grade", "Reputation"]

_WELL_KNOWN_AFTER = 3


class Grade(StrEnum):
    """A word for people. No code may branch on it but to decide how much to print."""

    NEW = "new"
    SEEN = "seen before"
    KNOWN = "well known"


@dataclass(frozen=True)
class Reputation:
    """Facts about one source. `previous_clean` counts its approved PASS versions that still stand.

    `pinned` is True when the source was named by a full commit id; `signed` when its commit or tag carries a signature
    that was verified (None: not checked).
    """

    tier: Tier
    previous_clean: int
    pinned: bool
    signed: bool | None = None

    @property
    def grade(self) -> Grade:
        """`NEW` without a clean past; `KNOWN` after three clean versions, or one from a trusted or own source."""
        if self.previous_clean == 0:
            return Grade.NEW
        enough = _WELL_KNOWN_AFTER if self.tier is Tier.UNKNOWN else 1
        return Grade.KNOWN if self.previous_clean >= enough else Grade.SEEN

    def describe(self) -> str:
        """One line, for example ``seen before: 1 clean version, pinned, signature not checked``."""
        versions = f"{self.previous_clean} clean version{'' if self.previous_clean == 1 else 's'}"
        signature = {None: "signature not checked", True: "signed", False: "not signed"}[self.signed]
        return f"{self.grade}: {versions}, {'pinned' if self.pinned else 'not pinned'}, {signature}"

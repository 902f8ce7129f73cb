"""Texts read together, which takes much less time than one by one: what their words score, and the frames in them."""

from __future__ import annotations

from collections.abc import Sequence

from skillkeep.auditor.engines.intent.chunks import chunks
from skillkeep.auditor.engines.intent.doubtful import doubtful_of
from skillkeep.auditor.engines.intent.frames import Match
from skillkeep.auditor.engines.intent.learned import Passage, Reading, weights
from skillkeep.auditor.engines.intent.search import matches_of

__all__ = ["read_all"]

_MOST_MATCHES = 2_000  # of one text


def read_all(texts: Sequence[str]) -> list[tuple[Reading, list[Match]]]:
    """What each of `texts` scores, and the first matches in it."""
    doubtful: list[list[tuple[Passage, float]]] = [[] for _ in texts]
    found: list[list[Match]] = [[] for _ in texts]
    places: Sequence[Sequence[tuple[int, int]]] = [()] * len(texts)
    for chunk in chunks(texts):
        places = chunk.spans
        for number, passage in doubtful_of(chunk):
            doubtful[number].append(passage)
        for number, match in matches_of(chunk):
            if len(found[number]) < _MOST_MATCHES:
                found[number].append(match)
    readings = map(Reading, texts, [weights()] * len(texts), doubtful, places)
    return list(zip(readings, found, strict=True))

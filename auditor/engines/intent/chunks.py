"""Blocks of many texts with all of their words, found in few passes over all of the blocks together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.sentences import Blocks, spans, straight

__all__ = ["BETWEEN", "WORD", "Chunk", "chunks", "joined", "stops_of"]

BETWEEN: Final = "\0"
"""What stands between two blocks, in their text and among their words."""
WORD: Final = compiled(
    r"[a-z'\u00df-\u024f\u0370-\u052f\u0590-\u06ff\u0900-\u0dff\u1e00-\u1eff]+|[0-9]+|[~$@<>{}%!]|[^\x01-\x7f]"
)
"""A word of an alphabet in lower case, a figure, a sign that means something, a character of another script; `BETWEEN`
is one, too."""
_QUOTES: Final = compiled(r"\n[ \t]*>[> \t]*")
# What `sentences.plain_text` takes for noise, without the marks of quotations: every branch begins with one of few
# signs, which the search skips to.
_NOISE: Final = compiled(
    r"[*`_<\\-](?:(?<=[*`])[*`]*|(?<=_)(?:(?<!\w_)_{0,2}(?=\w)|(?<=\w_)_{0,2}(?!\w))"
    r"|(?<=<)(?:!--|/?[a-z][\w-]{0,20}>)|(?<=-)->|(?<=\\)(?=\W))"
)
_CHARACTERS: Final = 1 << 19
_BLOCKS: Final = 1 << 11
_CARRIED: Final = 8  # blocks, of which most have words


@dataclass(frozen=True)
class Chunk:
    """Blocks that follow each other: of each, the number of its text and its own number there, and where they stand.

    The first `known` were in the chunk before, too.
    """

    texts: Sequence[str]
    spans: Sequence[Sequence[tuple[int, int]]]
    blocks: Sequence[tuple[int, int]]
    known: int
    _blocks: dict[int, Blocks]

    @cached_property
    def plain(self) -> str:
        """All blocks in lower case without emphasis, one after the other."""
        raw = joined([self.texts[text][slice(*self.spans[text][number])] for text, number in self.blocks])
        return _NOISE.sub("", _QUOTES.sub("\n", raw) if ">" in raw else raw).lower()

    @cached_property
    def words(self) -> list[str]:
        """The words of all blocks, with `BETWEEN` after those of each but the last."""
        return WORD.findall(self.plain)

    @cached_property
    def stops(self) -> list[int]:
        """Where the words of each block end."""
        return stops_of(self.words)

    @cached_property
    def texts_of_blocks(self) -> list[str]:
        """Each block as in `plain`."""
        return self.plain.split(BETWEEN)

    @property
    def following(self) -> int:
        """The blocks that follow the one before in the same text, a bit for each."""
        pairs = enumerate(pairwise(self.blocks), 1)
        return sum(1 << place for place, (before, here) in pairs if before[0] == here[0])

    def of_text(self, number: int) -> Blocks:
        """The blocks of a text, also those that are not in the chunk."""
        found = self._blocks.get(number)
        if found is None:
            found = self._blocks[number] = Blocks(self.texts[number], self.spans[number])
        return found


def chunks(texts: Sequence[str]) -> Iterator[Chunk]:
    """All blocks of `texts`, in chunks of bounded size unless a block is larger by itself."""
    every = [list(spans(text)) for text in texts]
    found: dict[int, Blocks] = {}
    blocks: list[tuple[int, int]] = []
    size = known = 0
    for text, places in enumerate(every):
        for number, (start, end) in enumerate(places):
            if len(blocks) > known and (size + end - start > _CHARACTERS or len(blocks) >= _BLOCKS):
                yield Chunk(texts, every, blocks, known, found)
                blocks = [each for each in blocks[-_CARRIED:] if each[0] == text]
                known, size = len(blocks), 0
            blocks.append((text, number))
            size += end - start
    if len(blocks) > known:
        yield Chunk(texts, every, blocks, known, found)


def joined(texts: Sequence[str]) -> str:
    """`texts` with `BETWEEN` between them, and straight quotes."""
    whole = BETWEEN.join(texts)
    if whole.count(BETWEEN) >= len(texts) > 0:
        whole = BETWEEN.join([text.replace(BETWEEN, "\x01") for text in texts])
    return whole if whole.isascii() else straight(whole)


def stops_of(words: Sequence[str]) -> list[int]:
    """Where the words of each text end, among the words of joined texts."""
    stops: list[int] = []
    with suppress(ValueError):  # there is none any more
        at = -1
        while True:
            at = words.index(BETWEEN, at + 1)
            stops.append(at)
    return [*stops, len(words)]

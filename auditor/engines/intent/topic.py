"""What a tool says it is for: the words of its name, description and title, in classes of activity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from skillkeep.auditor.engines.intent.sentences import plain_text
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.frontmatter import parse_frontmatter

__all__ = ["Topic", "topic_of"]

_TITLE: Final = re.compile(r"^#[ \t]+(.{1,200})$", re.MULTILINE)
_MOST: Final = 4_000


@dataclass(frozen=True)
class Topic:
    """The declared purpose, in lower case; empty when nothing is declared."""

    text: str

    def declares(self, activity: str) -> bool:
        """True when the purpose tells of `activity`, a key of ``activities`` in the table."""
        return bool(self.text) and bool(_activities()[activity].search(self.text))

    def names(self, host: str) -> bool:
        """True when the registered name of `host` is a word of the purpose."""
        labels = [label for label in host.lower().split(".") if label]
        main = labels[-2] if len(labels) > 1 else ""
        return len(main) > 2 and main.replace("-", "") in self.text.replace("-", "").replace(" ", "")


def topic_of(text: str, path: str) -> Topic:
    """The purpose of the file `text` at `path`: its description, name, first title and file name."""
    front = parse_frontmatter(text)
    title = _TITLE.search(text[:20_000])
    words = [front.name, front.description, title[1] if title else "", path.rpartition("/")[2].partition(".")[0]]
    return Topic(plain_text(" . ".join(words))[:_MOST])


@cache
def _activities() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern) for name, pattern in table("intent")["activities"].items()}

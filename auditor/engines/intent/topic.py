"""What a tool says it is for: the words of its name, description and title, in classes of activity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.sentences import plain_text
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.frontmatter import parse_frontmatter

__all__ = ["Topic", "topic_of"]

_TITLE: Final = compiled(r"^#[ \t]+(.{1,200})$", re.MULTILINE)
_MOST: Final = 4_000
_OFTEN: Final = 3
_SHORT: Final = 3
_HOST: Final = compiled(r"(?:://|@)(?:[^\s/@]{1,80}@)?((?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24})")

_BARE: Final = compiled(r"(?<![\w.@/-])(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|app|ai|co|xyz)\b(?![\w.-]*@)")


@dataclass(frozen=True)
class Topic:
    """The declared purpose, in lower case; empty when nothing is declared. `pages` is what its documents say."""

    text: str
    pages: tuple[str, ...] = ()

    def declares(self, activity: str) -> bool:
        """True when the purpose tells of `activity`, a key of ``activities`` in the table."""
        return bool(self.text) and bool(_activities()[activity].search(self.text))

    def knows(self, sentence: str) -> bool:
        """True when the tool tells of every address of `sentence`: by name, or three times and more."""
        hosts = set(_HOST.findall(sentence) or _BARE.findall(sentence))
        return bool(hosts) and all(self._names(host, sentence) or self._often(host) for host in hosts)

    def joined(self, other: Topic) -> Topic:
        """The purpose that both tell of."""
        return Topic(f"{self.text} . {other.text}", (*self.pages, *other.pages))

    def _often(self, host: str) -> bool:
        return sum(page.lower().count(host) for page in self.pages) >= _OFTEN

    def _names(self, host: str, sentence: str) -> bool:
        """True when the registered name of `host` is a word of the purpose; where the sentence is of the purpose, the
        address in it does not tell of itself."""
        labels = [label for label in host.lower().split(".") if label]
        if labels[-2:-1] == ["example"]:  # reserved names (RFC 2606): the owner is the label before
            labels = labels[:-1]
        main = labels[-2] if len(labels) > 1 else ""
        own = any(part.strip(" .") in self.text for part in sentence.split(". ") if host in part)
        purpose = (self.text.replace(host.lower(), " ") if own else self.text).replace(" ", "-")
        return len(main) > _SHORT and bool(re.search(rf"(?<![a-z0-9_]){re.escape(main)}(?![a-z0-9_])", purpose))


def topic_of(text: str, path: str) -> Topic:
    """The purpose of the file `text` at `path`: its description, name, first title and file name."""
    front = parse_frontmatter(text)
    title = _TITLE.search(text[:20_000])
    words = [front.name, front.description, title[1] if title else "", path.rpartition("/")[2].partition(".")[0]]
    return Topic(plain_text(" . ".join(words))[:_MOST], (text,))


@cache
def _activities() -> dict[str, re.Pattern[str]]:
    return {name: compiled(pattern) for name, pattern in table("intent")["activities"].items()}

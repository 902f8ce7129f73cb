"""What the documents of a tool say: whom they name, what they announce, what they promise not to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, SourceFile
from skillkeep.auditor.engines.network import host_of, registered_labels
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.services import services

__all__ = ["Documents"]

_COMMENT: Final = compiled(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_RESERVED: Final = frozenset({"example", "invalid", "test", "localhost", "local"})
_DENIED: Final = compiled(r"\b(?:never|not|no|nothing|without|nor|cannot|n't)\b[^.;:!?]{0,20}$")
_OFFICIAL: Final = compiled(r"\.(?:gov|mil|int|europa\.eu|go[vb]\.[a-z]{2}|gouv\.fr)$")
"""Below which no stranger gets a name."""
_MANIFEST: Final = compiled(
    r"(?i)(?:^|/)(?:package|manifest|plugin|composer|deno)\.jsonc?$|(?:^|/)(?:setup\.(?:py|cfg)|pyproject\.toml|cargo\.toml)$"
    r"|\.gemspec$"
)
_DESCRIBED: Final = compiled(
    r"(?<![\w-])[\"']?description[\"']?\s{0,4}[:=]\s{0,4}(?P<told>\"{1,3}[^\"\n]{8,}|'{1,3}[^'\n]{8,})"
)
_CALLED: Final = compiled(r"(?<![\w-])[\"']?name[\"']?\s{0,4}[:=]\s{0,4}[\"']([^\"'\n]{2,200})")
_SAYING: Final = (Context.INSTRUCTION, Context.METADATA, Context.FENCED)
_MOST_TEXT: Final = 400_000
_LEAST_TEXT: Final = 40
_SHORTEST: Final = 3


class Documents:
    """What the documents of a tool say, to be asked whom they name."""

    def __init__(self, files: Iterable[SourceFile], contexts: tuple[Context, ...] = _SAYING) -> None:
        self._files = files
        self._contexts = contexts
        self._answers: dict[str, bool] = {}

    @cached_property
    def _said(self) -> tuple[str, bool]:
        """What is said, and whether a document says it: a manifest's own words count where there is none."""
        text = " ".join(_told(self._files, self._contexts).lower().split())
        described = " ".join(_described(self._files).lower().split()) if len(text) < _LEAST_TEXT else ""
        return f"{text} {described}".strip(), bool(described) or len(text) >= _LEAST_TEXT

    @property
    def _text(self) -> str:
        return self._said[0]

    @cached_property
    def _squashed(self) -> str:
        return re.sub(r"[^a-z0-9]+", "", self._text)

    @property
    def silent(self) -> bool:
        """True for a tool without documents, of which no manifest tells what it is for."""
        return not self._said[1]

    @cached_property
    def outside_blocks(self) -> Documents:
        """What is said to a reader, without the blocks of code that are only copied."""
        return Documents(self._files, _SAYING[:2])

    @cached_property
    def promise(self) -> str:
        """The sentence that promises that nothing else is contacted, or an empty text."""
        found = _promise().search(self._text)
        return found[0].strip() if found else ""

    def says(self, pattern: str) -> bool:
        """True when a match of `pattern` stands in the documents (lower case, one blank between words), not denied."""
        if pattern not in self._answers:
            places = re.finditer(pattern, self._text)
            self._answers[pattern] = any(
                not _DENIED.search(self._text, max(0, at.start() - 30), at.start()) for at in places
            )
        return self._answers[pattern]

    def holds(self, words: str) -> bool:
        """True when `words` stand in the documents as they are, in any case."""
        return words.lower() in self._text

    def names(self, host: str, *, exact: bool = False) -> bool:
        """True when the documents name `host`, its registered name, or (unless `exact`) the service it is of."""
        host = host.lower().rstrip(".").removeprefix("*.")
        labels = host.split(".")
        if host in self._text:
            return True
        if host_of(host).bare:  # no part of a number is a name
            return False
        if services().of_anybody.search(host):
            return any(map(self._names_host_of, re.findall(r"[a-z0-9]+", labels[0])))
        if labels[-1] not in _RESERVED and len(labels) > 1 and ".".join(labels[-2:]) in self._text:
            return True
        if exact:
            return False
        for domain, words in table("acts")["shared_hosts"].items():
            if host == domain or host.endswith(f".{domain}"):
                return any(word in self._text for word in words)
        if _OFFICIAL.search(host) and any(map(self._says_word, {*labels[:-1]} - _generic())):
            return True
        registered = registered_labels(labels)[0]
        if labels[-1] in _RESERVED or registered in _generic() or host.endswith(_platforms()):
            return False  # a name below such a one belongs to anybody
        return len(registered) >= _SHORTEST and re.sub(r"[^a-z0-9]+", "", registered) in self._squashed

    def names_service(self, host: str, service: str) -> bool:
        """True when the documents name `service`, by whose name `host` is registered: Guru has getguru.com."""
        registered = registered_labels(host.lower().split("."))[0]
        words = set(re.findall(r"[a-z0-9]+", service.lower())) - _generic()
        return any(word in registered and self._says_word(word) for word in words)

    def _names_host_of(self, word: str) -> bool:
        """True where the documents name a host registered as `word`: the bucket acme-files is that of acme.io."""
        return len(word) > _SHORTEST and re.search(rf"(?<![a-z0-9-]){word}\.[a-z]{{2,10}}\b", self._text) is not None

    def _says_word(self, word: str) -> bool:
        said = rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])"
        return len(word) > _SHORTEST and re.search(said, self._text) is not None


def _told(files: Iterable[SourceFile], contexts: tuple[Context, ...]) -> str:
    """The documents without their comments, until there is enough: a tree may hold a hundred times as much."""
    told: list[str] = []
    size = 0
    for file in files:
        for each in () if file.is_program else file.of(*contexts):
            told.append(_COMMENT.sub(" ", each.text) if "<!--" in each.text else each.text)
            size += len(told[-1]) + 1
        if size > _MOST_TEXT:
            break
    return "\n".join(told)[:_MOST_TEXT]


def _described(files: Iterable[SourceFile]) -> str:
    """What the manifests of packages and extensions say that they are for, with their names; empty for nothing."""
    told: list[str] = []
    for file in files:
        text = file.text if file.whole and _MANIFEST.search(file.known_as) else None
        if text is not None and (described := _DESCRIBED.search(text)) is not None:
            called = _CALLED.search(text)
            told += [called[1] if called else "", described["told"].strip("\"'")]
    return "\n".join(told)[:_MOST_TEXT]


@cache
def _promise() -> re.Pattern[str]:
    return compiled(table("acts")["promise"])


@cache
def _generic() -> frozenset[str]:
    return frozenset(table("acts")["generic_labels"])


@cache
def _platforms() -> tuple[str, ...]:
    return tuple(f".{each}" for each in table("acts")["platforms"])

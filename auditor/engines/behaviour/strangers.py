"""Data that goes to a host which no document of the tool names.

A tool that uploads says whom it serves: its documents name the host, its registered name or the service. What reads
something local and sends it to somebody unnamed does a second job that nobody asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from skillkeep.auditor.engines.behaviour.acts import Act
from skillkeep.auditor.engines.interface import Context, SourceFile, SourceTree
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Capability

__all__ = ["Documents", "Stranger", "strangers"]

Stranger = tuple[Act, Capability, str]  # the sending act, the host it goes to, and why it is a stranger

_REACH: Final = 6  # lines between a request and the address that the parser saw
_NEAR: Final = 12  # lines between what is read and the request
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_RESERVED: Final = frozenset({"example", "invalid", "test", "localhost", "local"})
_MOST_TEXT: Final = 400_000
_SHORTEST: Final = 3
_LOCAL: Final = re.compile(
    r"^(?:\*$|localhost|127\.|0\.0\.0\.0|\[?::1|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|host\.docker\.|.*\.local$)"
)


class Documents:
    """What the documents of a tool say, to be asked whom they name."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        told = [
            _COMMENT.sub(" ", each.text)
            for file in files
            for each in file.of(Context.INSTRUCTION, Context.METADATA, Context.FENCED)
        ]
        self._text = " ".join("\n".join(told)[:_MOST_TEXT].lower().split())
        self._squashed = re.sub(r"[^a-z0-9]+", "", self._text)

    @property
    def silent(self) -> bool:
        """True for a tool without documents."""
        return len(self._text) < 40

    @property
    def promise(self) -> str:
        """The sentence that promises that nothing else is contacted, or an empty text."""
        found = _promise().search(self._text)
        return found[0].strip() if found else ""

    def names(self, host: str, *, exact: bool = False) -> bool:
        """True when the documents name `host`, its registered name, or (unless `exact`) the service it is of."""
        host = host.lower().rstrip(".").removeprefix("*.")
        labels = host.split(".")
        if host in self._text:
            return True
        if labels[-1] not in _RESERVED and len(labels) > 1 and ".".join(labels[-2:]) in self._text:
            return True
        if exact:
            return False
        for domain, words in table("acts")["shared_hosts"].items():
            if host == domain or host.endswith(f".{domain}"):
                return any(word in self._text for word in words)
        registered = _registered(labels)
        if labels[-1] in _RESERVED or registered in _generic() or host.endswith(_platforms()):
            return False  # a name below such a one belongs to anybody
        return len(registered) >= _SHORTEST and re.sub(r"[^a-z0-9]+", "", registered) in self._squashed


def _registered(labels: list[str]) -> str:
    """The label that somebody has registered: ``acme`` of ``api.acme.co.uk``."""
    country = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in {"co", "com", "net", "org", "ac", "gov"}
    return labels[-3 if country else -2] if len(labels) > 1 else labels[0]


def strangers(tree: SourceTree, acts: Sequence[Act], documents: Documents) -> Iterator[Stranger]:
    """Sends of local data to hosts that nobody named, and any send by a tool that promised to send nothing."""
    if documents.silent:
        return
    promise = documents.promise
    hosts: dict[str, list[Capability]] = {}
    for each in tree.capabilities:
        if each.kind == "network" and not _LOCAL.match(each.value):
            hosts.setdefault(each.evidence.path, []).append(each)
    for act in acts:
        if act.kind not in {"send", "query"}:
            continue
        for each in hosts.get(act.path, ()):
            if abs(each.evidence.line - act.line) > _REACH or documents.names(each.value):
                continue
            read = _read_near(act, acts)
            if read is not None:
                yield act, each, f"what {read.text.strip()[:40]} reads goes to {each.value}, which no document names"
            elif act.kind == "query":
                continue
            elif promise:
                yield act, each, f'it says "{promise[:60]}", and sends something to {each.value}'
            else:
                yield act, each, f"something is sent to {each.value}, which no document names"


def _read_near(act: Act, acts: Sequence[Act]) -> Act | None:
    return next(
        (
            each
            for each in acts
            if each.path == act.path
            and each.kind in {"local", "secret"}
            and act.line - _NEAR <= each.line <= act.line + 3
        ),
        None,
    )


def is_remote(value: str) -> bool:
    """True for a host that is neither this machine nor unknown."""
    return not _LOCAL.match(value) and not host_of(value).local


@cache
def _promise() -> re.Pattern[str]:
    return re.compile(table("acts")["promise"])


@cache
def _generic() -> frozenset[str]:
    return frozenset(table("acts")["generic_labels"])


@cache
def _platforms() -> tuple[str, ...]:
    return tuple(f".{each}" for each in table("acts")["platforms"])

"""What a fork server says of a sandbox that it lends, in a form that its callers read in few steps.

What is true of that sandbox alone is a list of texts: JSON would take three times as long, in a process that has done
something else since. What it has in common with others of its kind is JSON, which is read once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache

from skillkeep.runner.interface import Assurance, Layer

__all__ = ["Offer"]

_OWN = ("identity", "namespaces", "cgroup")
"""The layers of which no two sandboxes have the same facts."""
_Counters = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Offer:
    """The host's pid of its init, what holds its payload, and what the counters that come along count: name and key."""

    init: int
    assurance: Assurance
    counters: _Counters

    def packed(self) -> bytes:
        """Both parts. Raises ValueError for a fact that cannot be sent."""
        held, texts = self.assurance, [str(self.init), _text(self.assurance.payload_host_uid)]
        for layer in held.layers:
            if layer.name in _OWN:
                texts += [str(len(layer.facts)), *(text for fact in layer.facts.items() for text in fact)]
        mine = "\0".join(texts)
        if mine.count("\0") != len(texts) - 1:
            raise ValueError("a fact about a sandbox holds a NUL")
        layers = tuple([replace(x, facts={}) if x.name in _OWN else x for x in held.layers])
        kind = replace(held, layers=layers, payload_host_uid=None).to_json()
        common = json.dumps({"counters": self.counters, "assurance": kind})
        return f"{common}\0{mine}".encode("utf-8", "surrogateescape")

    @classmethod
    def of(cls, words: bytes) -> Offer:
        """What was packed. Raises ValueError, KeyError or TypeError for nonsense."""
        common, _, mine = words.partition(b"\0")
        counters, kind = _kind(common)
        init, owner, *texts = mine.decode("utf-8", "surrogateescape").split("\0")
        layers, at = [Layer(x.name, x.in_force, dict(x.facts)) for x in kind.layers], 0  # no two results share any
        for number, layer in enumerate(layers):
            if layer.name in _OWN:
                (count,), at = texts[at : at + 1], at + 1
                end = at + 2 * int(count)
                facts = dict(zip(texts[at:end:2], texts[at + 1 : end : 2], strict=True))
                layers[number], at = Layer(layer.name, layer.in_force, facts), end
        held = Assurance(kind.level, tuple(layers), int(owner) if owner else None, kind.losses)
        return cls(int(init), held, counters)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


@lru_cache(maxsize=16)
def _kind(words: bytes) -> tuple[_Counters, Assurance]:
    told = json.loads(words)
    return tuple([(name, key) for name, key in told["counters"]]), Assurance.from_json(told["assurance"])

"""What a reader of containers yields, and the budget that bounds it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from skillkeep.auditor.engines.interface import Context

__all__ = ["Budget", "Member", "Oddity", "Part", "escapes"]


@dataclass(frozen=True)
class Member:
    """A file found inside. `context` None lets its name and content tell what it is."""

    name: str
    data: bytes | str
    context: Context | None = None


@dataclass(frozen=True)
class Oddity:
    """Something a reviewer must know: a rule's id, what it is about, and a sentence."""

    rule: str
    excerpt: str
    message: str


Part = Iterator[Member | Oddity]


@dataclass
class Budget:
    """How much one container may cost: `members` entries and `output` bytes in all, `each` bytes a member."""

    members: int = 2_000
    output: int = 32 << 20
    each: int = 16 << 20

    def room(self) -> int:
        """Bytes the next member may have."""
        return min(self.output, self.each)

    def spend(self, size: int) -> None:
        """Count one member of `size` bytes."""
        self.members -= 1
        self.output -= size

    @property
    def spent(self) -> bool:
        """True when no other member may be read."""
        return self.members <= 0 or self.output <= 0


def escapes(name: str, link_from: str | None = None) -> bool:
    """True when the path `name` leads out of the folder it is unpacked in; a link's target counts from its place."""
    plain = name.replace("\\", "/")
    if plain.startswith("/") or plain[1:2] == ":" or "\0" in plain:
        return True
    base = "" if link_from is None else posixpath.dirname(link_from.replace("\\", "/"))
    return posixpath.normpath(posixpath.join(base, plain)).split("/")[0] == ".."

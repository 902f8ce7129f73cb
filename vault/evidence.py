"""Is an object still what was approved? Answered by a full hash once, then by the stat signature it left.

See `skillkeep.vault.signature` for what the signature proves and against whom.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from skillkeep.clock import Clock
from skillkeep.digest import parse_digest
from skillkeep.errors import SkillkeepError
from skillkeep.journal import Journal
from skillkeep.vault import refusals
from skillkeep.vault.approved import load_manifest
from skillkeep.vault.interface import Mismatch, MismatchKind
from skillkeep.vault.layout import Layout
from skillkeep.vault.pointers import wrong_pointer
from skillkeep.vault.registry import Registry, StoredTool
from skillkeep.vault.signature import Signature, sign_folder

if TYPE_CHECKING:
    from skillkeep.vault.verification import Difference

__all__ = ["Evidence"]

_JOURNALED = 20


class Evidence:
    """Checks objects of one vault and remembers signatures in its registry."""

    def __init__(self, layout: Layout, registry: Registry, journal: Journal, clock: Clock) -> None:
        self._layout = layout
        self._registry = registry
        self._journal = journal
        self._clock = clock

    def require(self, stored: StoredTool, *, paranoid: bool) -> None:
        """Return when the tool may run as it lies there. Raises `VaultError` (`revoked`, `vault_tampered`)."""
        record = stored.record
        if record.revoked is not None:
            raise refusals.revoked(record, record.revoked)
        differences = self._differences(stored, paranoid=paranoid)
        if differences:
            first = [f"{each.kind} {each.path}" for each in differences[:_JOURNALED]]
            self._journal.append("vault.tampered", durable=True, name=record.name, digest=record.digest, first=first)
            raise refusals.tampered(record.name, differences)

    def survey(self, names: list[str]) -> list[Mismatch]:
        """Hash every version of every name, each object once, and check the names' links."""
        checked: dict[str, list[Difference]] = {}
        found: list[Mismatch] = []
        for name in names:
            for stored in self._registry.versions(name):
                digest = stored.record.digest
                if digest not in checked:
                    checked[digest] = self._differences(stored, paranoid=True)
                found += [Mismatch(name, digest, each.kind, each.path, each.detail) for each in checked[digest]]
                wrong = wrong_pointer(self._layout, name, parse_digest(digest)) if stored.record.current else None
                if wrong is not None:
                    found.append(Mismatch(name, digest, MismatchKind.POINTER, "", wrong))
        if found:
            first = [f"{each.name}: {each.kind} {each.path}" for each in found[:_JOURNALED]]
            self._journal.append("vault.mismatch", durable=True, count=len(found), first=first)
        return found

    def _differences(self, stored: StoredTool, *, paranoid: bool) -> list[Difference]:
        hex_digest = parse_digest(stored.record.digest)
        before = self._sign(hex_digest)
        unchanged = before is not None and before.digest == stored.signature
        if unchanged and not paranoid and load_manifest(self._layout.manifest(hex_digest), hex_digest) is not None:
            return []
        from skillkeep.vault.verification import inspect  # most objects are as they were left

        found = inspect(self._layout.object(hex_digest), hex_digest)
        if not found and before is not None:
            self._remember(hex_digest, before, stored.signature)
        return found

    def _sign(self, hex_digest: str) -> Signature | None:
        try:
            return sign_folder(self._layout.object(hex_digest))
        except OSError:
            return None

    def _remember(self, hex_digest: str, before: Signature, known: str | None) -> None:
        """Store the signature if nothing moved while hashing. Failing to store costs only the next hash."""
        now_ns = int(self._clock.now().timestamp() * 1e9)
        if before.digest != known and before == self._sign(hex_digest) and before.settled_at(now_ns):
            with contextlib.suppress(SkillkeepError):
                self._registry.sign(hex_digest, before.digest)

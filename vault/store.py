"""The vault: the one place approved tools live, and the one that says what may run.

Invariants, each with a test that tries to break it:

- A tool enters only through `admit`, which re-hashes what it copies and refuses every verdict but PASS and WARN.
- A `VaultedTool` is made only here, after its object was checked against its digest.
- The registry is the truth. Files come before it (an object is complete and on the disk before a row names it), links
  after it (derived, mended by `recover`). So a crash at any instruction leaves the old state or the new one.
- Every decision is in the journal, on the disk, before it takes effect. A line without its effect can exist after a
  crash; an effect without its line cannot.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkeep.clock import SYSTEM_CLOCK, Clock, timestamp
from skillkeep.digest import parse_digest, spell
from skillkeep.errors import SkillkeepError
from skillkeep.files import FileLock, io_errors, remove_tree
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.manifest import Manifest
from skillkeep.progress import SILENT, Progress
from skillkeep.vault import changes, maintenance, refusals
from skillkeep.vault.approved import load_manifest
from skillkeep.vault.evidence import Evidence
from skillkeep.vault.interface import (
    Admission,
    GcResult,
    HistoryEntry,
    Mismatch,
    MismatchKind,
    Revocation,
    Tier,
    ToolRecord,
    VaultedTool,
    seal_tool,
)
from skillkeep.vault.layout import Layout
from skillkeep.vault.names import check_name, is_digest
from skillkeep.vault.pointers import check_free
from skillkeep.vault.registry import Registry, Stamp, StoredTool

if TYPE_CHECKING:
    from skillkeep.vault.difference import VersionDiff

__all__ = ["Vault"]

Mismatches = list[Mismatch]
Records = list[ToolRecord]
Events = list[HistoryEntry]


class Vault:
    """The vault below `home`. Holds no open file between calls; safe between threads and processes."""

    def __init__(self, home: Home, journal: Journal, clock: Clock = SYSTEM_CLOCK) -> None:
        self.layout = Layout(Path(os.path.realpath(home.vault)))
        self._home = home
        self._journal = journal
        self._clock = clock
        self._registry = Registry(self.layout)
        self._evidence = Evidence(self.layout, self._registry, journal, clock)
        self._lock = self.layout.lock

    # what is approved

    def lookup(self, digest: str, tier: Tier) -> ToolRecord | None:
        """The standing approval of `digest` that counts for `tier`, else None.

        It counts when it was given at that tier or a less trusted one: what passed as a stranger's is good enough
        for a friend's, not the other way round. A revoked digest is approved for nobody. The current record of
        a name is preferred to an archived one. Checks no file: `open` does.
        """
        return self._registry.approved(digest, tier)

    def by_name(self, name: str) -> ToolRecord | None:
        """What `name` stands for now, revoked or not, else None."""
        found = self._registry.current(name)
        return found.record if found else None

    def find(self, target: str) -> Records:
        """The record of a name, or of every name that holds a digest. Raises `bad_name`, `not_vaulted`."""
        found = self._registry.holders(target) if is_digest(target) else [self._current(check_name(target))]
        if not found:
            raise refusals.not_vaulted(target)
        return [each.record for each in found]

    def versions(self, name: str) -> Records:
        """Every stored version of `name`, newest approval first. Raises `not_vaulted`."""
        self._current(name)
        return [found.record for found in self._registry.versions(name)]

    def revocation(self, digest: str) -> Revocation | None:
        """Why `digest` may not be vaulted or run, else None."""
        return self._registry.revocation(digest)

    def report(self, name: str, digest: str) -> dict[str, Any] | None:
        """The audit report that the approval of this version rests on, as JSON data."""
        return self._registry.report(name, digest)

    def manifest(self, digest: str) -> Manifest:
        """The manifest of a stored object. Raises `not_vaulted`, `vault_tampered`."""
        if not self._registry.is_stored(parse_digest(digest)):
            raise refusals.not_vaulted(digest)
        return self._manifest(digest)

    def clean_versions(self, source_key: str) -> int:
        """How many versions of a source were approved with PASS and still stand."""
        return self._registry.clean_versions(source_key)

    def history(self, name: str) -> Events:
        """Every event of `name`, oldest first. Raises `not_vaulted`."""
        self._current(name)
        return self._registry.history(name)

    def diff(self, name: str, old: str | None = None, new: str | None = None) -> VersionDiff:
        """What changed between two stored versions of `name`: from `old` (default: the one before the current) to
        `new` (default: the current one). Digests or prefixes. Raises `not_vaulted`, `not_in_history`, `vault_tampered`.
        """
        from skillkeep.vault.difference import Side, VersionDiff, changes_between

        current = self._current(name)
        after = self._version(name, new) if new else current
        before = self._version(name, old) if old else self._registry.before(current)
        if before is None:
            raise refusals.not_in_history(name, "it has no earlier version to compare with")
        sides = [Side(each.record.path, self.manifest(each.record.digest)) for each in (before, after)]
        return VersionDiff(name, before.record.digest, after.record.digest, tuple(changes_between(*sides)))

    # decisions

    def admit(self, admission: Admission, tree: Path, progress: Progress = SILENT) -> VaultedTool:
        """Vault the files below `tree` as `admission` says, and point its name at them.

        Raises `VaultError`: `verdict_refused`, `tree_mismatch` (not the audited bytes), `tree_unsafe` (a link or
        special file), `name_taken`, `revoked`; `SkillkeepError`: `bad_name`, `bad_manifest`, `io_error`. Nothing
        stays behind then.
        """
        refusals.check_admission(admission)
        check_name(admission.name)
        hex_digest = parse_digest(admission.digest)
        self._home.ensure()
        with io_errors("vault the tool"), FileLock(self._lock), self._registry.database.session():
            maintenance.sweep_staging(self.layout, self._registry)
            with self._registry.database.session() as connection:
                changes.check_owner(connection, admission.name, admission.source_key)
                changes.check_not_revoked(connection, spell(hex_digest))
            check_free(self.layout, admission.name)
            if not self._is_same(admission, hex_digest):
                self._admit_locked(admission, hex_digest, tree, progress)
            return self._sealed(self._current(admission.name))

    def rollback(self, name: str, digest: str | None = None) -> VaultedTool:
        """Point `name` at an earlier version: `digest` (or a prefix of 8 digits or more), else the one before.

        Its files are hashed first. Grants only shrink. Raises `not_vaulted`, `not_in_history`, `revoked`,
        `vault_tampered`.
        """
        with io_errors("roll back"), FileLock(self._lock), self._registry.database.session():
            current = self._current(name)
            target = self._version(name, digest) if digest else self._registry.before(current)
            if target is None:
                raise refusals.not_in_history(name, "it has no earlier version that may run")
            self._evidence.require(target, paranoid=True)
            if target.record.digest != current.record.digest:
                with self._decision("vault.rollback", name=name, digest=target.record.digest) as (connection, stamp):
                    changes.check_not_revoked(connection, target.record.digest)
                    changes.point_at(connection, target, stamp)
                self._settle(name)
            return self._sealed(self._current(name))

    def revoke(self, target: str, reason: str, *, every_version: bool = False) -> Records:
        """Withdraw the approval of a digest, or of a name's current version (or of all its versions), for good.

        Returns the records it blocks. A digest may be revoked before it ever arrives. Raises `not_vaulted` for
        an unknown name.
        """
        digests = sorted(self._revocable(target, every_version=every_version))
        holders = [found for digest in digests for found in self._registry.holders(digest)]
        names = sorted({found.record.name for found in holders})
        facts = {"digests": digests, "names": names, "reason": reason}
        with self._decision("vault.revoke", **facts) as (connection, stamp):
            for digest in digests:
                affected = [found for found in holders if found.record.digest == digest]
                changes.revoke(connection, digest, reason, stamp, affected)
        return [found.record for digest in digests for found in self._registry.holders(digest)]

    # what runs

    def open(self, name: str, paranoid: bool = False) -> VaultedTool:
        """The tool `name` stands for, verified now: by full hash, or by an unchanged stat signature of one.

        With `paranoid` every byte is hashed. Raises `VaultError`: `not_vaulted`, `revoked`, `vault_tampered`
        (its context lists the differences).
        """
        with self._registry.database.session():
            stored = self._current(name)
            self._evidence.require(stored, paranoid=paranoid)
            return self._sealed(stored)

    def verify(self, name: str | None = None) -> Mismatches:
        """Hash every version of `name` (of every name when None) and check its links; empty when all holds.

        Raises `not_vaulted` for an unknown name.
        """
        with self._registry.database.session():
            known = self._registry.all_current() if name is None else [self._current(name).record]
            return self._evidence.survey([record.name for record in known])

    # care

    def gc(self, keep: int | None = None) -> GcResult:
        """Remove what nothing needs: unfinished work, objects without approval and, with `keep`, archived versions
        beyond the newest `keep` of each name. Their history stays readable; their approval no longer counts.
        """
        with io_errors("collect garbage"), FileLock(self._lock), self._registry.database.session():
            maintenance.sweep_staging(self.layout, self._registry)
            spare = maintenance.surplus(self._registry, keep) if keep is not None else {}
            if spare:
                with self._decision("vault.collect", digests=[spell(digest) for digest in spare]) as (connection, _):
                    changes.collect(connection, spare)
                for name in sorted({name for names in spare.values() for name in names}):
                    self._settle(name)
            return maintenance.remove_unreachable(self.layout, self._registry)

    def recover(self) -> None:
        """Put right what a killed process left: half-staged objects go, links are mended. Run at every start.

        Costs two look-ups when there is nothing to do; leaves a living process at work alone.
        """
        with io_errors("recover the vault"):
            if not maintenance.needs_recovery(self.layout, self._registry):
                return
            lock = FileLock(self._lock)
            if not lock.acquire(wait=False):
                return
            try:
                maintenance.sweep_staging(self.layout, self._registry)
                maintenance.settle_unsettled(self.layout, self._registry)
            finally:
                lock.release()

    def export(self) -> dict[str, Any]:
        """The registry in the shape of the seeds' ``vetted_tools.json``; see `skillkeep.vault.export`."""
        from skillkeep.vault.export import export

        return export(self._registry)

    def list(self) -> Records:
        """The current record of every name, by name."""
        return self._registry.all_current()

    # inner steps

    def _admit_locked(self, admission: Admission, hex_digest: str, tree: Path, progress: Progress) -> None:
        from skillkeep.vault.publish import publish
        from skillkeep.vault.stage import new_folder, stage

        folder = new_folder(self.layout, hex_digest)
        try:
            progress.step("copying into the vault")
            staged = stage(folder, tree, spell(hex_digest))
            progress.step("publishing")
            damaged = publish(self.layout, staged, hex_digest)
            progress.step("recording")
            facts = refusals.admission_facts(admission, replaced_damaged=damaged)
            with self._decision("vault.admit", **facts) as (connection, stamp):
                changes.check_owner(connection, admission.name, admission.source_key)
                changes.check_not_revoked(connection, admission.digest)
                changes.enter(connection, admission, staged.manifest, stamp)
        except BaseException:
            with contextlib.suppress(SkillkeepError, OSError):  # the cause matters more; `recover` tries again
                maintenance.sweep_staging(self.layout, self._registry)
            raise
        progress.step("linking")
        self._settle(admission.name)
        remove_tree(folder)

    def _is_same(self, admission: Admission, hex_digest: str) -> bool:
        """True when exactly this is current already and its object holds: two ingests at once, or a repeat."""
        found = self._registry.current(admission.name)
        if found is None or (found.record.digest, found.record.tier) != (spell(hex_digest), admission.tier):
            return False
        if (found.record.verdict, found.record.grants) != (admission.verdict, admission.grants):
            return False
        from skillkeep.vault.verification import inspect

        return not inspect(self.layout.object(hex_digest), hex_digest)

    @contextlib.contextmanager
    def _decision(self, event: str, **facts: Any) -> Iterator[tuple[sqlite3.Connection, Stamp]]:
        stamp = Stamp(timestamp(self._clock.now()), _user())
        with self._registry.database.write() as connection:
            yield connection, stamp
            self._journal.append(event, durable=True, by=stamp.by, **facts)

    def _settle(self, name: str) -> None:
        """Swap the links. They are derived: if it fails now, `recover` does it and `verify` says so until then."""
        with contextlib.suppress(OSError, SkillkeepError):
            maintenance.settle_name(self.layout, self._registry, name)

    def _current(self, name: str) -> StoredTool:
        found = self._registry.current(name)
        if found is None:
            raise refusals.not_vaulted(name, self._registry.names())
        return found

    def _version(self, name: str, digest: str) -> StoredTool:
        wanted = digest.strip().lower().removeprefix("sha256:")
        found = [each for each in self._registry.versions(name) if parse_digest(each.record.digest).startswith(wanted)]
        if len(wanted) < 8 or len(found) != 1:
            raise refusals.not_in_history(name, "that digest names none of its stored versions, or several")
        return found[0]

    def _revocable(self, target: str, *, every_version: bool) -> set[str]:
        """The digests that `target`, a name or a digest, means."""
        if is_digest(target):
            return {spell(parse_digest(target))}
        current = self._current(check_name(target))
        found = self._registry.versions(target) if every_version else [current]
        return {each.record.digest for each in found}

    def _manifest(self, digest: str) -> Manifest:
        hex_digest = parse_digest(digest)
        manifest = load_manifest(self.layout.manifest(hex_digest), hex_digest)
        if manifest is None:
            from skillkeep.vault.verification import Difference

            raise refusals.tampered(digest, [Difference(MismatchKind.MANIFEST, "", "it is not the approved one")])
        return manifest

    def _sealed(self, stored: StoredTool) -> VaultedTool:
        record = stored.record
        return seal_tool(
            name=record.name,
            digest=record.digest,
            tier=record.tier,
            path=record.path,
            manifest=self._manifest(record.digest),
            grants=record.grants,
            kind=record.kind,
        )


def _user() -> str:
    """Who decides: the login name of the effective user, else the number."""
    import pwd

    with contextlib.suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return f"uid {os.geteuid()}"

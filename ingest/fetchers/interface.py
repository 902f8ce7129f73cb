"""What a fetcher is: a confinement it needs, and a job it does inside.

`Fetcher.fetch` is final: whatever a plug-in's `_fetch` meets, only `SkillkeepError`s leave it, limits are enforced
by the `TreeWriter` it writes through, and names are judged once for all kinds (pattern: python-tuf's fetcher).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from skillkeep.confined import Confinement
from skillkeep.errors import SkillkeepError
from skillkeep.files import io_error, io_errors
from skillkeep.ingest import observations as seen
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.observations import Observations, to_wire
from skillkeep.ingest.paths import name_findings
from skillkeep.ingest.source import SourceKind
from skillkeep.ingest.writer import SourceLimits, TreeWriter

__all__ = ["FetchFacts", "FetchOrder", "Fetcher", "fetcher_for"]


@dataclass(frozen=True)
class FetchOrder:
    """What a worker is told to fetch; JSON-able. `folder` is the quarantine folder, the only writable place."""

    kind: str
    folder: str
    limits: SourceLimits
    url: str = ""
    scheme: str = ""
    port: int = 0
    ref: str = ""
    path: str = ""
    local: str = ""
    program: str = ""
    proxy: str = ""

    @property
    def tree(self) -> Path:
        """Where the source's files go."""
        return Path(self.folder) / "tree"

    def to_wire(self) -> dict[str, Any]:
        """For the worker's request."""
        return asdict(self)

    @classmethod
    def from_wire(cls, raw: dict[str, Any]) -> FetchOrder:
        """In the worker."""
        return cls(**{**raw, "limits": SourceLimits(**raw["limits"])})


@dataclass(frozen=True)
class FetchFacts:
    """What a fetcher learned besides the files: the commit, and whether a branch or tag of the repository names it."""

    commit: str | None = None
    proven: bool = True


class Fetcher(ABC):
    """Brings one kind of source into quarantine."""

    kind: ClassVar[str]

    @abstractmethod
    def confinement(self, order: FetchOrder) -> Confinement:
        """What the worker may do; called outside it. Raises `IngestError` (`program_missing`)."""

    @abstractmethod
    def _fetch(self, order: FetchOrder, writer: TreeWriter, notes: Observations) -> FetchFacts:
        """Write the source's files through `writer`; runs inside the worker."""

    def fetch(self, order: FetchOrder) -> dict[str, Any]:
        """Run inside the worker: fetch, judge names, answer with facts and observations.

        Raises `SkillkeepError` only: the plug-in's own, `io_error`, `empty_source`, `limit_exceeded`.
        """
        notes = Observations()
        with io_errors("write into quarantine"):
            order.tree.mkdir(mode=0o700)
        with TreeWriter(order.tree, order.limits, notes) as writer:
            try:
                facts = self._fetch(order, writer, notes)
            except (SkillkeepError, MemoryError):
                raise
            except PermissionError as error:  # the user's own file, which says nothing against it
                raise io_error("read the source", error) from error
            except Exception as error:
                raise IngestError(
                    "fetch_failed",
                    f"the source could not be read: {type(error).__name__}",
                    "The source is damaged or hostile; take it from another place.",
                    detail=str(error)[:300],
                ) from error
            found = notes.all()
            if not writer.paths and not found:
                raise IngestError("empty_source", "the source holds no files", "Check the address, the ref and --path.")
            name_findings(writer.paths, notes)
        if not facts.proven:
            notes.add(seen.UNPROVEN_COMMIT, "", "no branch or tag of the repository points at this commit")
        return {"commit": facts.commit, "proven": facts.proven, "observations": to_wire(notes.all())}


def fetcher_for(kind: str) -> Fetcher:
    """The fetcher of a kind of source; each is imported only when it is used."""
    if kind == SourceKind.GIT:
        from skillkeep.ingest.fetchers.git import GitFetcher

        return GitFetcher()
    if kind == SourceKind.ARCHIVE:
        from skillkeep.ingest.fetchers.archive import ArchiveFetcher

        return ArchiveFetcher()
    from skillkeep.ingest.fetchers.folder import FolderFetcher

    return FolderFetcher()

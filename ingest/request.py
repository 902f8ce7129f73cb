"""What somebody asks of the door, and what it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkeep.auditor.rubric.interface import RubricOptions
from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.home import Home
from skillkeep.ingest.errors import IngestError
from skillkeep.journal import Journal
from skillkeep.progress import SILENT, Progress
from skillkeep.settings import Settings
from skillkeep.vault.interface import Tier
from skillkeep.vault.reviews import Reviews
from skillkeep.vault.store import Vault

__all__ = ["Floor", "IngestRequest"]


@dataclass(frozen=True)
class Floor:
    """Everything `ingest` uses besides its request.

    `proxy` is the user's https proxy, or empty. `rubric` is the configured language model, or None.
    """

    home: Home
    settings: Settings
    journal: Journal
    vault: Vault
    reviews: Reviews
    clock: Clock = SYSTEM_CLOCK
    progress: Progress = SILENT
    proxy: str = ""
    rubric: RubricOptions | None = None

    @classmethod
    def on(cls, home: Home, settings: Settings, journal: Journal) -> Floor:
        """The usual floor on a home."""
        return cls(home, settings, journal, Vault(home, journal), Reviews(home))


@dataclass(frozen=True)
class IngestRequest:
    """One call of the door.

    `source` is a git URL, folder or archive. `select` names artifacts (or gives their paths), `everything` takes all.
    `name` is the tool's name, for one artifact only. `origin` may lower trust or name a configured mirror. `confirm`
    is the user's word that what was shown may be vaulted; `expect` (``sha256:<hex>``) binds it to one digest.
    `least_tier` is the smallest tier number that may result (an update never raises trust). `grants` are texts as in
    ``net:host:443``. `audit` runs the audit for tier 1 too, for showing. `suppressions` is read instead of the home's
    file; `cache` takes the report of unchanged bytes from the home. `repeat` holds further words for the command that
    is shown to repeat this call.
    """

    source: str
    ref: str | None = None
    path: str | None = None
    name: str | None = None
    origin: str | None = None
    select: Sequence[str] = ()
    everything: bool = False
    confirm: bool = False
    expect: str | None = None
    grants: Sequence[str] = ()
    audit: bool = False
    least_tier: Tier = Tier.LOCAL
    suppressions: Path | None = None
    cache: bool = False
    repeat: Sequence[str] = ()

    def check(self) -> None:
        """Raise `IngestError` (`bad_selection`) for options that do not go together."""
        if self.everything and self.select:
            raise _clash("--all and --select exclude each other")
        if self.everything and (self.name or self.expect):
            raise _clash("--name and --expect go with one tool, not with --all")
        if len(self.select) > 1 and (self.name or self.expect):
            raise _clash("--name and --expect go with one tool, not with several")


def _clash(what: str) -> IngestError:
    return IngestError("bad_selection", what, "Ingest the tools one by one with --select NAME.")

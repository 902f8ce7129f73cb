"""What a run stands on."""

from __future__ import annotations

from dataclasses import dataclass

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.settings import Settings
from skillkeep.vault.store import Vault

__all__ = ["Floor"]


@dataclass(frozen=True)
class Floor:
    """A home's settings, vault, journal and clock."""

    home: Home
    settings: Settings
    vault: Vault
    journal: Journal
    clock: Clock = SYSTEM_CLOCK

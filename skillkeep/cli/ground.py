"""What nearly every command stands on: the home, its settings, its journal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillkeep.home import Home
from skillkeep.value import Value

if TYPE_CHECKING:
    from skillkeep.journal import Journal
    from skillkeep.settings import Settings

__all__ = ["Ground", "ground"]


class Ground(Value):
    """What nearly every command stands on."""

    home: Home
    settings: Settings
    journal: Journal


def ground(config: Path | None = None) -> Ground:
    """Resolve and make the home, read the settings, open the journal. Raises `SkillkeepError`."""
    from skillkeep.journal import Journal
    from skillkeep.settings import load_settings

    home = Home.resolve(os.environ).ensure()
    settings = load_settings(home, config)
    return Ground(home, settings, Journal(home.journal, rotate_bytes=settings.journal.rotate_bytes))
